"""`browse` in a real Chromium: each action of BrowserGym's space."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.secrets import SecretRegistry
from agentrt.specs import ImageContent

from .driving import browsing
from .site import site

pytestmark = pytest.mark.long


async def test_actions_on_elements(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.code(f"goto('{address}')")
        assert "[a1]" not in browser.text or "heading 'Home'" in browser.text
        button, name = browser.bid("button 'Press'"), browser.bid("textbox 'Name'")
        menu, inner = browser.bid("button 'Menu'"), browser.bid("button 'Inner'")
        agreed, colour = browser.bid("checkbox 'Agreed'"), browser.bid("combobox 'Colour'")
        for code, shows in (
            (f"click('{button}')", "clicked"),
            (f"dblclick('{button}')", "twice"),
            (f"click('{menu}', button='right')", "menu"),
            (f"fill('{name}', 'Ada')", "Ada"),
            (f"clear('{name}')", "textbox 'Name' [active]"),
            (f"focus('{name}')\nkeyboard_type('Bo')\nkeyboard_insert_text('b')", "Bob"),
            (f"press('{name}', 'Backspace')", "Bo"),
            ("keyboard_press('x')\nkeyboard_down('Shift')\nkeyboard_press('KeyY')\nkeyboard_up('Shift')", "BoxY"),
            (f"check('{agreed}')", "true"),
            (f"uncheck('{agreed}')", "false"),
            (f"select_option('{colour}', 'blue')", "blue"),
            (f"click('{inner}')", "inner"),
            (f"hover('{button}')\nnoop(10)\nscroll(0, 50)", "inner"),
        ):
            assert shows in await browser.code(code), code


async def test_actions_of_the_mouse(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.code(f"goto('{address}/mouse')")
        assert "enter" in await browser.code("mouse_move(100, 90)")
        assert "down focus up" in await browser.code("mouse_down(100, 90)\nmouse_up(100, 90)")
        assert "down up" in await browser.code("mouse_click(100, 90)")
        assert "double" in await browser.code("mouse_dblclick(100, 90)")
        start, end = browser.bid("button 'From'"), browser.bid("button 'To'")
        assert "dragged" in await browser.code(f"drag_and_drop('{start}', '{end}')")
        await browser.code(f"goto('{address}/mouse')")
        assert "dragged" in await browser.code("mouse_drag_and_drop(40, 170, 40, 210)"), browser.text


async def test_tabs_and_history(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.code(f"goto('{address}')\ngoto('{address}/other')\ngo_back()")
        assert "heading 'Home'" in browser.text
        assert "heading 'Other'" in await browser.code("go_forward()")
        await browser.code(f"new_tab()\ngoto('{address}/long')")
        assert "Tab 2 (active)" in browser.text
        assert "heading 'Other'" in await browser.code("tab_focus(0)")
        assert "button 'Last'" in await browser.code("tab_close()")
        assert "tab_focus: there is no tab 5" in await browser.code("tab_focus(5)")


async def test_files_are_uploaded_from_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")
    (tmp_path / "b.txt").write_text("12")
    async with site() as address, browsing(tmp_path) as browser:
        await browser.code(f"goto('{address}/files')")
        field = browser.bid("button 'File'")
        assert "a.txt:5,b.txt:2" in await browser.code(f"upload_file('{field}', ['a.txt', 'b.txt'])")
        assert "there is" not in await browser.code(f"upload_file('{field}', 'gone.txt')")
        assert "gone.txt does not exist" in browser.text
        tree = await (await browser.context_session()).tree()
        box = tree.boxes[browser.number("button 'File'")]
        at = f"{box.x + box.width / 2}, {box.y + box.height / 2}"
        assert "b.txt:2" in await browser.code(f"mouse_upload_file({at}, 'b.txt')")


async def test_it_stops_at_the_first_error_and_says_where(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        await browser.code(f"goto('{address}')")
        said = await browser.code(f"send_msg_to_user('hi')\nclick('a999')\ngoto('{address}/other')")
        assert "To the user: hi" in said
        assert "Error: call 2 of 3, click: there is no element 999" in said
        assert "heading 'Home'" in said, "the third call was not made"
        assert browser.last is not None
        assert browser.last.is_error
        assert "Reported as infeasible: too hard" in await browser.code("report_infeasible('too hard')")


async def test_pictures(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path) as browser:
        for kind in ("plain", "marks"):
            await browser.code(f"goto('{address}')", screenshot=kind)
            assert browser.last is not None
            assert any(isinstance(block, ImageContent) for block in browser.last.content)
        await browser.code("")
        assert "agentrt" not in browser.text


async def test_a_secret_is_typed_by_its_name(tmp_path: Path) -> None:
    async with site() as address, browsing(tmp_path, SecretRegistry({"PASSWORD": "hunter2-hunter2"})) as browser:
        await browser.code(f"goto('{address}/login')")
        field = browser.bid("textbox 'Password'")
        said = await browser.code(f"fill('{field}', '${{PASSWORD}}')")
        assert "hunter2" not in said
        assert "<secret-hidden>" in said
        await browser.code(f"clear('{field}')\nfocus('{field}')\nkeyboard_type('$PASSWORD')")
        assert "<secret-hidden>" in browser.text

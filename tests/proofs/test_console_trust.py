"""The console in a real browser: what it must never do, for whom it must work, and how much it must bear."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from agentrt import LLM, Agent, Conversation, Runtime
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelRequest
from agentrt.server.principals import Scope
from agentrt.specs import Limits
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from tests.stores import make_key

from .consoles import PATIENCE, PHONE, SECTIONS, console

pytestmark = pytest.mark.long

PAYLOADS = (
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 2'>",
    "<svg onload='window.pwned = 3'><animate onbegin='window.pwned = 3'></svg>",
    "[a link](javascript:window.pwned=4)",
    "<a href='java\tscript:window.pwned=4'>another</a>",
    "<iframe srcdoc='<script>top.pwned = 5</script>'></iframe>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=window.pwned=6>'>",
    "<form action='/conversations' method='post'><button>press</button></form><style>*{display:none}</style>",
    "<p style='position:fixed;inset:0' id='root' class='shade'>over all</p>",
    "![pixel](https://example.org/pixel.png?what=was-read)",
    "<object data='data:text/html,<script>window.pwned=7</script>'></object><base href='https://example.org/'>",
    "<template><img src=x onerror='window.pwned = 8'></template>",
    "```html\n<script>window.pwned = 11</script>\n```",
    '```py"><img/src=x/onerror=window.pwned=12>\ncode\n```',
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=9>'></noscript>",
)
ALL = "\n\n".join(PAYLOADS)


async def test_what_a_model_or_a_tool_says_is_never_executed(tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text(
        ALL + "\n\x1b[31m<b onclick=x>\x1b]8;;javascript:window.pwned=9\x07link\x1b]8;;\x07"
    )
    name = "<img src=x onerror=window.pwned=10>.txt"
    shown = call("terminal", ALL, command=f"cat {tmp_path}/evil.txt")
    made = call("file_editor", "A file.", command="create", path=f"{tmp_path}/{name}", file_text=ALL)
    plan = call("task_tracker", command="plan", task_list=[{"title": ALL}])
    script = [shown, made, plan, call("no_such_tool", what=ALL), call("think", thought=ALL), finish(ALL)]
    async with console(tmp_path, script) as server:
        tab = await server.tab()
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(request.url))
        await tab.begin(ALL)
        await tab.stands("Finished")
        await tab.page.locator("details.thinking summary").first.click()
        folded = tab.page.locator(".entries .fold[aria-expanded=false]")
        while await folded.count():
            await folded.first.click()
        await tab.page.locator(".entry").last.hover()
        await tab.page.get_by_role("button", name="Show the event").last.click()
        await tab.page.keyboard.press("Escape")
        await tab.page.mouse.click(600, 400)
        assert await tab.page.evaluate("window.pwned") is None
        bad = ".entries :is(script, iframe, object, embed, form, style, base, math, svg:not(.icon), [style*=position])"
        await expect(tab.page.locator(bad)).to_have_count(0)
        attributes = await tab.page.evaluate(
            "[...document.querySelectorAll('.entries *')].flatMap(one => one.getAttributeNames())"
        )
        assert not [name for name in attributes if name.startswith("on") or name == "srcdoc"]
        links = await tab.page.eval_on_selector_all(".entries a[href]", "all => all.map(one => one.protocol)")
        assert set(links) <= {"http:", "https:", "mailto:"}
        assert all(url.startswith(server.url) for url in asked), asked
        assert tab.problems == []  # the policy had nothing to keep back


async def test_the_policy_holds_even_if_the_page_failed(tmp_path: Path) -> None:
    async with console(tmp_path, [say("Hello.")]) as server:
        tab = await server.tab()
        script = "const s = document.createElement('script'); s.text = 'window.pwned = 1'; document.body.append(s)"
        markup = "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.pwned=2>')"
        handler = "const b = document.createElement('b'); b.setAttribute('onclick', 'window.pwned = 3'); b.click()"
        for attack in (script, markup, handler, "setTimeout('window.pwned = 4')"):
            await tab.page.evaluate(f"() => {{ try {{ {attack} }} catch {{}} }}")
        away = "() => fetch('https://example.org/').then(() => 'sent', () => 'kept back')"
        assert await tab.page.evaluate(away) == "kept back"
        assert await tab.page.evaluate("window.pwned") is None
        assert tab.problems


async def test_a_key_is_in_no_address_and_not_kept(tmp_path: Path) -> None:
    key = await make_key(tmp_path / "store", "ada", [Scope.STEER, Scope.OBSERVE, Scope.APPROVE])
    async with console(tmp_path, [say("Hello."), say("Again.")], store=tmp_path / "store") as server:
        tab = await server.tab()
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(request.url))
        tab.page.on("websocket", lambda socket: asked.append(socket.url))
        await tab.unlock(key)
        await expect(tab.page.get_by_text("No conversations yet.")).to_be_visible()
        await tab.begin("Greet me")
        await tab.sees("Hello.")
        await tab.page.reload()
        await tab.sees("Hello.")
        assert any("/events?ticket=" in url for url in asked)
        assert not [url for url in asked if key in url]
        assert key not in await tab.page.evaluate("JSON.stringify({...localStorage}) + document.cookie + location.href")
        other = await server.tab(f"/#/{tab.id}", tab.page.context)
        await expect(other.page.get_by_role("dialog", name="API key")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE])
async def test_it_is_accessible(tmp_path: Path, scheme: str, size: dict[str, int]) -> None:
    rich = "# A title\n\n1. one\n2. `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    rich += "> quoted\n\n```python\n@wraps(f)\ndef f(a: int = 1):\n    # said\n    return 'x' is None\n```"
    colours = r"printf '\033[31mred \033[32mgreen \033[33myellow \033[34mblue \033[35mmagenta \033[36mcyan\033[0m\n'"
    edit = {"command": "create", "path": f"{tmp_path}/a.py", "file_text": "import os\n\nTWO = int('2')  # two\n"}
    plan = {"command": "plan", "task_list": [{"title": "one", "status": "done"}, {"title": "two"}]}
    risky = call("terminal", command="git push --force origin main")
    script = [
        calls(("terminal", {"command": colours}), ("file_editor", edit), ("task_tracker", plan), thought=rich),
        call("terminal", command="false"),
        risky,
        finish("Done."),
    ]
    async with console(tmp_path, script) as server:
        tab = await server.tab(viewport=size, color_scheme=scheme)
        assert await tab.violations() == []
        await tab.page.keyboard.press("n")
        assert await tab.violations() == []
        await tab.page.get_by_label("Task").fill("Show everything")
        await tab.page.get_by_role("dialog").get_by_role("button", name="Start").click()
        await tab.stands("Needs approval")
        assert await tab.violations() == []
        await tab.page.keyboard.press("r")
        assert await tab.violations() == []
        await tab.page.keyboard.press("Escape")
        for section in SECTIONS:
            await tab.settings(section)
            assert await tab.violations() == []
        await tab.page.keyboard.press("Escape")
        for keys in ("e", "i", "m", "f", "?"):
            await tab.page.keyboard.press(keys)
            await expect(tab.page.get_by_text("Loading…")).to_have_count(0)
            assert await tab.violations() == []
        await tab.page.keyboard.press("Escape")
        await tab.page.keyboard.press("f")
        await tab.page.keyboard.press("a")
        await tab.stands("Finished")
        await tab.page.keyboard.press("h")
        await tab.page.get_by_role("button", name="Previous event").click()
        assert await tab.violations() == []


async def test_of_ten_thousand_events_those_that_are_looked_at_are_loaded(tmp_path: Path) -> None:
    name = await _long(tmp_path / "store", tmp_path, 10_000)
    async with console(tmp_path, [say("More.")], store=tmp_path / "store") as server:
        tab = await server.tab()
        await tab.page.goto(f"{server.url}/#/{name}")
        await tab.sees("the end")
        place = tab.page.locator(".transcript")
        first = "() => Number(document.querySelector('.entry[data-seq]').dataset.seq)"
        before = await tab.page.evaluate(first)
        assert before > 9000  # what is long ago is not loaded
        for _ in range(30):
            await place.evaluate("one => one.scrollTo(0, 0)")
            await tab.page.wait_for_function(f"before => ({first})() < before", arg=before)
            before = await tab.page.evaluate(first)
        assert before < 5000
        await tab.page.locator(".jump").click()
        await tab.page.get_by_label("Message to the agent").fill("More?")
        await tab.page.keyboard.press("Alt+Enter")
        await tab.sees("More?")
        await tab.page.goto(f"{server.url}/#/{name}?at=40")
        await expect(tab.page.get_by_text("As it was after event 40,")).to_be_visible(timeout=PATIENCE)
        await tab.sees("the beginning")
        assert tab.problems == []


async def _long(store: Path, directory: Path, events: int) -> str:
    """A conversation of so many events; its id."""
    turn = 0

    def script(request: ModelRequest) -> ModelReply:
        nonlocal turn
        turn += 1
        return finish("the end") if turn * 5 > events else call("think", f"Step {turn}.", thought=f"thought {turn}")

    agent = Agent(llm=LLM(model="scripted/model"), stuck=None, limits=Limits(max_steps=events))
    (directory / "workspaces" / "long").mkdir(parents=True)
    async with Runtime(store, client=ScriptedLLM(script, keep=False)) as runtime:
        async with Conversation(agent, directory / "workspaces" / "long", runtime=runtime) as conversation:
            await conversation.send_message("the beginning")
            await conversation.run()
            return conversation.id

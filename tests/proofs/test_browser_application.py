"""An agent that works in a real application: the wiki, forum and tickets of Fossil, on loopback."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, NeverConfirm, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.events import ActionEvent, ObservationEvent
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish
from tests.mcp.serving import free_port, listens

from .waiting import eventually

pytestmark = pytest.mark.long

PASSWORD = "correct-horse-battery"

Shown: TypeAlias = str
Step: TypeAlias = Callable[[Shown], ModelReply]


def number(shown: Shown, element: str) -> int:
    """The last element of that role and name."""
    found = re.findall(rf"\[a?(\d+)\] {element}", shown, re.MULTILINE)
    assert found, (element, shown)
    return int(found[-1])


def go(url: str, new_tab: bool = False) -> Step:
    return lambda shown: call("browser_navigate", url=url, new_tab=new_tab)


def click(element: str) -> Step:
    return lambda shown: call("browser_click", index=number(shown, element))


def type_(element: str, words: str) -> Step:
    return lambda shown: call("browser_type", index=number(shown, element), text=words)


def code(program: str) -> Step:
    """Calls of BrowserGym's, with elements by role and name in angle brackets."""

    def step(shown: Shown) -> ModelReply:
        return call("browse", code=re.sub(r"<(.+?)>", lambda m: f'"a{number(shown, m[1])}"', program))

    return step


def tool(name: str, **arguments: Any) -> Step:
    return lambda shown: call(name, **arguments)


def task(at: str) -> Sequence[tuple[Step, str]]:
    """What is done, each with what is shown after that."""
    return (
        (go(f"{at}/login"), "textbox 'User ID:'"),
        (type_("textbox 'User ID:'", "ada"), "ada"),
        (type_("textbox 'Password:'", "$PASSWORD"), "textbox 'Password:'"),
        (click("button 'Login'"), "link 'Logout'"),
        (click("link 'Forum'"), "Forum"),
        (go(f"{at}/forumnew"), "heading 'New Thread:'"),
        (code("fill(<textbox$>, 'Lunch')\nfill(<textbox 'Content:'>, 'Where do we *eat*?')"), "Where do we"),
        (click("button 'Preview'"), "emphasis"),
        (click("button 'Submit'"), "heading 'Lunch'"),
        (click("button 'Reply'"), "textbox 'Content:'"),
        (type_("textbox 'Content:'", "At the river."), "At the river."),
        (click("button 'Preview'"), "button 'Submit'"),
        (click("button 'Submit'"), "At the river."),
        (go(f"{at}/wikiedit?name=Plan"), "You are editing a new, unsaved page"),
        (code("fill(<textbox$>, 'We eat at the river.')\nclick(<button 'Save'>)\nnoop(500)"), "Saved page: [Plan]"),
        (go(f"{at}/wiki?name=Plan", new_tab=True), "We eat at the river."),
        (tool("browser_list_tabs"), "Tab 2 (active)"),
        (tool("browser_close_tab", tab_id=2), "Closed tab 2."),
        (go(f"{at}/tktnew"), "heading 'Enter A New Ticket'"),
        (code("fill(<textbox$>, 'No plates')"), "No plates"),
        (click("link 'Timeline'"), "option 'Any Type'"),
        (code("select_option(<combobox$>, 'Any Type')"), "Plan"),
        (tool("browser_get_content"), "Lunch"),
        (tool("browser_go_back"), "Timeline"),
        (click("link 'Logout'"), "Currently logged in as ada."),
        (click("button 'Logout'"), "link 'Login'"),
    )


@asynccontextmanager
async def fossil(place: Path) -> AsyncIterator[tuple[str, Path]]:
    """The address of the application, and its repository."""
    program = shutil.which("fossil")
    assert program is not None, "install fossil"
    store, port = place / "lunch.fossil", free_port()
    env = {**os.environ, "HOME": str(place)}
    run = partial(anyio.run_process, env=env)
    await run([program, "init", "--admin-user", "ada", str(store)])
    await run([program, "user", "password", "ada", PASSWORD, "-R", str(store)])
    command = [program, "server", "--localhost", "--port", str(port), str(store)]
    async with await anyio.open_process(command, env=env, stdout=None, stderr=None) as process:
        try:
            await eventually(partial(listens, port), "it listens", 30)
            yield f"http://127.0.0.1:{port}", store
        finally:
            with suppress(ProcessLookupError):
                process.kill()


async def test_a_task_in_a_wiki_and_a_forum(tmp_path: Path) -> None:
    async with fossil(tmp_path) as (at, store):
        steps, done = task(at), 0

        def model(request: ModelRequest) -> ModelReply:
            nonlocal done
            shown = plain(request.messages[-1].content)
            if done:
                assert steps[done - 1][1] in shown, (done, steps[done - 1][1], shown)
            if done == len(steps):
                return finish("Lunch is planned.")
            asked = steps[done][0](shown)
            done += 1
            return asked

        agent = Agent(
            llm=LLM(model="scripted"), tools=(Tool("browser"), Tool("browse")), confirmation=NeverConfirm(), stuck=None
        )
        async with Runtime(tmp_path / "store", client=ScriptedLLM(model)) as runtime:
            async with Conversation(agent, tmp_path, runtime=runtime, secrets={"PASSWORD": PASSWORD}) as talk:
                await talk.send_message("Plan our lunch.")
                state = await talk.run()
                log = [event async for event in talk.events()]
        assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "Lunch is planned."), state.error
        acted = [event for event in log if isinstance(event, ActionEvent) and event.tool_name.startswith("brows")]
        assert len(acted) >= 20
        seen = [event for event in log if isinstance(event, ObservationEvent) and event.tool_name.startswith("brows")]
        assert all(event.labels == ("web",) and not event.is_error for event in seen)
        assert PASSWORD.encode() not in b"".join(f.read_bytes() for f in (tmp_path / "store").rglob("*") if f.is_file())
        told = await anyio.run_process(
            ["fossil", "timeline", "-R", str(store), "-n", "20"], env={"HOME": str(tmp_path)}
        )
        timeline = told.stdout.decode()
        assert "Lunch" in timeline
        assert "Plan" in timeline

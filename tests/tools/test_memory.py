"""Notes for later conversations."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import (
    Agent,
    AgentContext,
    AlwaysConfirm,
    ConfirmRisky,
    Conversation,
    ExecutionStatus,
    Runtime,
    SecurityRisk,
)
from agentrt.events import AgentErrorEvent, Event, ObservationEvent
from agentrt.security.command_rules import rate_command
from agentrt.security.paths import site
from agentrt.specs import LLM
from agentrt.specs.content import plain
from agentrt.specs.memory import LONGEST
from agentrt.storage.memory import MemoryStorage
from agentrt.testing import ScriptedLLM, call, finish, say

pytestmark = pytest.mark.real

FILE = ".openhands/memory/MEMORY.md"


def spec(**more: Any) -> Agent:
    """One with the tool, which is told what is noted in the project."""
    given: dict[str, Any] = {"llm": LLM(model="scripted"), "tools": ("memory",)}
    return Agent(**given | more)


async def noting(
    place: Path,
    *calls: dict[str, Any],
    home: Path | None = None,
    owner: str | None = None,
    store: Path | None = None,
    **more: Any,
) -> list[str]:
    """What calls of the tool give."""
    client = ScriptedLLM([*(call("memory", **given) for given in calls), finish("Done.")])
    async with Runtime(store or MemoryStorage(), client=client, home=home) as runtime:
        async with Conversation(spec(**more), place, runtime=runtime, owner=owner) as conversation:
            await conversation.send_message("note it")
            await conversation.run()
            return [said(event) async for event in conversation.events() if is_result(event)]


def is_result(event: Event) -> bool:
    return isinstance(event, ObservationEvent | AgentErrorEvent) and event.tool_name == "memory"


def said(event: Event) -> str:
    assert isinstance(event, ObservationEvent | AgentErrorEvent)
    return event.error if isinstance(event, AgentErrorEvent) else plain(event.content)


async def test_a_line_is_added_once_shown_and_taken_back(tmp_path: Path) -> None:
    add = {"command": "add", "text": "tests:\n  make check"}
    first, again, more, shown, gone = await noting(
        tmp_path,
        add,
        add,
        {"command": "add", "text": "use tabs"},
        {"command": "view"},
        {"command": "remove", "text": "tabs"},
    )
    assert first == again == "Noted. It says now:\n- tests: make check\n"
    assert more.endswith("- tests: make check\n- use tabs\n")
    assert shown == "- tests: make check\n- use tabs\n"
    assert gone == "Noted. It says now:\n- tests: make check\n"
    assert (tmp_path / FILE).read_text() == "- tests: make check\n"


async def test_what_cannot_be_is_said_so_that_it_can_go_on(tmp_path: Path) -> None:
    nothing, empty, none, user = await noting(
        tmp_path,
        {"command": "view"},
        {"command": "add", "text": " "},
        {"command": "remove", "text": "x"},
        {"command": "add", "text": "x", "scope": "user"},
    )
    assert nothing == "Nothing is noted yet."
    assert empty.endswith("give the text to add")
    assert none.endswith("no line of it says 'x'")
    assert user.endswith("there is no memory of the user here: note it for the project")


async def test_the_oldest_lines_make_room(tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("".join(f"- line {at:04} {'x' * 80}\n" for at in range(200)))
    await noting(tmp_path, {"command": "add", "text": "the newest"})
    lines = (tmp_path / FILE).read_text().splitlines()
    assert lines[-1] == "- the newest"
    assert lines[-2].startswith("- line 0199")
    assert sum(len(line) + 1 for line in lines) <= LONGEST


async def test_a_file_that_is_no_text_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_bytes(b"\xff\xfe\x00")
    (found,) = await noting(tmp_path, {"command": "add", "text": "x"})
    assert "is not text in UTF-8" in found
    assert (tmp_path / FILE).read_bytes() == b"\xff\xfe\x00"


async def test_the_next_conversation_is_told_it(tmp_path: Path) -> None:
    home, place = tmp_path / "home", tmp_path / "place"
    home.mkdir()
    place.mkdir()
    await noting(
        place,
        {"command": "add", "text": "built with make"},
        {"command": "add", "text": "likes short answers", "scope": "user"},
        home=home,
    )
    client = ScriptedLLM([say("hi")])
    context = AgentContext(load_user_skills=True)
    async with Runtime(MemoryStorage(), client=client, home=home) as runtime:
        async with Conversation(spec(context=context), place, runtime=runtime) as conversation:
            await conversation.prompt("hello")
    told = plain(client.requests[0].messages[0].content)
    assert "built with make" in told
    assert "likes short answers" in told


async def test_two_owners_share_no_memory(tmp_path: Path) -> None:
    home, place, store = tmp_path / "home", tmp_path / "place", tmp_path / "store"
    home.mkdir()
    place.mkdir()
    for owner in ("ada", "bob", None):
        for scope in ("project", "user"):
            await noting(
                place,
                {"command": "add", "text": f"{scope} of {owner}", "scope": scope},
                home=home,
                owner=owner,
                store=store,
            )
    for owner in ("ada", "bob", None):
        project, user = await noting(
            place, {"command": "view"}, {"command": "view", "scope": "user"}, home=home, owner=owner, store=store
        )
        assert (project, user) == (f"- project of {owner}\n", f"- user of {owner}\n")
        client = ScriptedLLM([say("hi")])
        context = AgentContext(load_user_skills=True)
        async with Runtime(store, client=client, home=home) as runtime:
            async with Conversation(spec(context=context), place, runtime=runtime, owner=owner) as conversation:
                await conversation.prompt("hello")
        told = plain(client.requests[0].messages[0].content)
        assert [name for name in ("ada", "bob", "None") if f"project of {name}" in told] == [str(owner)]
        assert [name for name in ("ada", "bob", "None") if f"user of {name}" in told] == [str(owner)]
    files = sorted(str(path.relative_to(tmp_path)) for path in (*home.rglob("*.md"), *place.rglob("*.md")))
    assert files == [f"home/{FILE}", f"place/{FILE}"], "those of nobody: whoever shares a place reads its files"


@pytest.mark.parametrize(
    ("policy", "asks"),
    [
        ({"confirmation": ConfirmRisky(SecurityRisk.MEDIUM), "analyzer": "rules"}, True),
        ({"confirmation": ConfirmRisky(SecurityRisk.HIGH), "analyzer": "rules"}, False),
        ({"confirmation": AlwaysConfirm()}, True),
        ({}, False),
    ],
)
async def test_it_is_asked_about_as_a_write_outside(tmp_path: Path, policy: dict[str, Any], asks: bool) -> None:
    client = ScriptedLLM([call("memory", command="add", text="x"), finish("Done.")])
    async with Runtime(MemoryStorage(), client=client) as runtime:
        async with Conversation(spec(**policy), tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("note it")
            state = await conversation.run()
            assert (state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION) is asks
            assert (tmp_path / FILE).exists() is not asks


async def test_a_link_leads_nowhere(tmp_path: Path) -> None:
    """A memory that a repository has as a link to a file elsewhere is neither shown nor written."""
    outside, place = tmp_path / "outside.md", tmp_path / "place"
    outside.write_text("private\n")
    (place / FILE).parent.mkdir(parents=True)
    (place / FILE).symlink_to(outside)
    results = await noting(place, {"command": "view"}, {"command": "add", "text": "x"})
    assert not any("private" in result for result in results), results
    assert outside.read_text() == "private\n"


async def test_a_long_line_is_refused_and_the_rest_stays(tmp_path: Path) -> None:
    _, refused, shown = await noting(
        tmp_path, {"command": "add", "text": "one"}, {"command": "add", "text": "x" * 600}, {"command": "view"}
    )
    assert "that has 600 characters: note one fact, in 500 at most" in refused
    assert shown == "- one\n"


async def test_what_another_program_left_behind_is_written_on(tmp_path: Path) -> None:
    """An empty file hides nothing, and white space in a line is no reason that it stays."""
    (tmp_path / ".agents/memory").mkdir(parents=True)
    (tmp_path / ".agents/memory/MEMORY.md").write_text("- a  b\n")
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("")
    shown, gone = await noting(tmp_path, {"command": "view"}, {"command": "remove", "text": "a b"})
    assert shown == "- a  b\n"
    assert gone == "Noted. It says now:\n"


async def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir(parents=True)
    with open(tmp_path / FILE, "wb") as file:
        file.truncate(6 << 30)
    (found,) = await noting(tmp_path, {"command": "add", "text": "x"})
    assert "is larger than 1 MiB" in found


ADD = """
import sys, anyio
from pathlib import Path
from tests.tools.test_memory import noting

async def main() -> None:
    await noting(Path(sys.argv[1]), *({"command": "add", "text": f"{sys.argv[2]} {n}"} for n in range(20)))

anyio.run(main)
"""


async def test_two_processes_lose_no_line(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent
    async with anyio.create_task_group() as tasks:
        for name in ("one", "two"):
            command = [sys.executable, "-c", ADD, str(tmp_path), name]
            tasks.start_soon(partial(anyio.run_process, command, cwd=root))
    assert len((tmp_path / FILE).read_text().splitlines()) == 40


@pytest.mark.pure
@pytest.mark.parametrize(
    "command",
    [
        "cp -r t .openhands",
        "cp -r t/. .openhands/",
        "mv t .openhands",
        "mv .openhands old",
        "rm .openhands/memory/MEMORY.md",
        "rm -rf .agents",
        "echo x > .openhands/mem*/MEMORY.md",
        "echo x >> .OpenHands/Memory/MEMORY.md",
        "ln -s .openhands/memory n",
        "tee .agents/memory/MEMORY.md < x",
    ],
)
def test_a_command_that_changes_it_is_a_write_outside(command: str) -> None:
    rating = rate_command(command, site("/home/me/project", "/home/me/project"))
    assert rating.risk is not SecurityRisk.LOW, rating
    assert "outside" in rating.sinks, rating

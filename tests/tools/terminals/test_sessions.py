"""Several shells of one terminal, and programs that fill a screen: the real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt.errors import ToolError
from agentrt.secrets import SecretRegistry
from agentrt.specs.content import plain
from agentrt.tools.terminals.terminal import SESSIONS, Terminal, TerminalAction, TerminalObservation

from ..context import FakeContext, lives

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("walls")]


class Person:
    """Who types."""

    def __init__(self, root: Path, **secrets: str) -> None:
        self.terminal, self.context = Terminal({}), FakeContext(root, registry=SecretRegistry(secrets))

    async def __call__(self, command: str = "", **arguments: Any) -> TerminalObservation:
        with anyio.fail_after(20):
            return await self.terminal(TerminalAction(command, **arguments), self.context)

    async def sees(self, command: str = "", **arguments: Any) -> str:
        """What a call shows."""
        return plain((await self(command, **arguments)).content)

    async def types(self, keys: str, **arguments: Any) -> str:
        """What is seen after that was typed."""
        return await self.sees(keys, is_input=True, **arguments)

    async def waits_for(self, text: str) -> str:
        """What is seen once there is this text."""
        with anyio.fail_after(20):
            while text not in (seen := await self.sees()):
                pass
        return seen


@pytest.fixture
async def person(tmp_path: Path) -> AsyncIterator[Person]:
    person = Person(tmp_path)
    yield person
    await person.terminal.aclose()


async def test_sessions_know_nothing_of_each_other(person: Person, tmp_path: Path) -> None:
    await person("X=1; cd /")
    other = await person('echo "[$X]"; sleep 100', session="server", timeout=0.2)
    assert plain(other.content).startswith("[]\n")
    assert (other.session, other.exit_code, other.working_dir) == ("server", -1, str(tmp_path))
    here = await person('echo "[$X]"')
    assert plain(here.content) == "[1]\n[exit code 0, in /]"
    assert "still running" in await person.sees(session="server", timeout=0)
    with pytest.raises(ToolError, match="in another session"):
        await person("echo", session="server")
    assert await person.terminal.at_work()
    await person.types("C-c", session="server")
    assert not await person.terminal.at_work()


async def test_sessions_run_side_by_side(person: Person, tmp_path: Path) -> None:
    """Each waits for the other, and both are ended."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: person("echo $$ > a; until [ -e b ]; do sleep 0.01; done", session="one"))
        await person("until [ -s a ]; do sleep 0.01; done; echo $$ > b", session="two")
    await person.terminal.aclose()
    assert not [name for name in "ab" if lives(int((tmp_path / name).read_text()))]


async def test_reset_is_of_one_session(person: Person) -> None:
    await person("X=1")
    await person("X=2", session="b")
    await person("", reset=True, session="b")
    assert (await person.sees("echo $X")).startswith("1\n")
    assert (await person.sees('echo "[$X]"', session="b")).startswith("[]\n")


async def test_there_are_not_too_many(person: Person) -> None:
    for number in range(SESSIONS - 1):
        await person("true", session=f"s{number}")
    await person("true")
    with pytest.raises(ToolError, match="the limit is 8 sessions: main, s0"):
        await person("true", session="more")
    await person("exit", session="s3")
    await person("true", session="more")


@pytest.mark.simulated
@pytest.mark.parametrize("name", ["a b", "x" * 41, "../x", "\n"])
async def test_what_cannot_be_a_name(person: Person, name: str) -> None:
    with pytest.raises(ToolError, match="cannot be the name of a session"):
        await person("true", session=name)


async def test_closing_ends_all_of_them(tmp_path: Path) -> None:
    person = Person(tmp_path)
    for name in ("a", "b"):
        await person("echo $$ > pid-$AGENTRT_SHELL; sleep 100 & echo $! >> pid-$AGENTRT_SHELL", session=name)
    pids = [int(pid) for file in tmp_path.glob("pid-*") for pid in file.read_text().split()]
    assert len(pids) == 4
    await person.terminal.aclose()
    assert not any(map(lives, pids))


async def test_vim(person: Person, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    seen = await person("vim -u NONE a.txt", screen=True)
    assert plain(seen.content).startswith("one\ntwo\n~\n")
    assert seen.cursor == (1, 1)
    assert seen.exit_code == -1
    assert "the cursor is at row 2, column 1" in await person.types("j")
    assert (await person.types("othree<Esc>")).startswith("one\ntwo\nthree\n~")
    await person.types(":wq<Enter>")
    done = await person.waits_for("[exit code 0") if await person.terminal.at_work() else ""
    assert "the screen" not in done
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert "dumb" in await person.sees("echo $TERM; stty -a | grep -c -- '-echo '")


async def test_less(person: Person, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {number}\n" for number in range(500)))
    assert "line 0\n" in await person.sees("less long.txt", screen=True)
    seen = await person.types("G")
    assert "line 499" in seen
    assert "line 0\n" not in seen
    assert "line 123\n" in await person.types("g/line 123<Enter>")
    await person.types("q")
    assert (await person.sees("echo over")).startswith("over\n")


async def test_top_is_shown_though_it_changes(person: Person) -> None:
    assert "PID USER" in await person.sees("top -d 0.2", screen=True)
    assert "PID USER" in await person.sees(timeout=0.5)
    assert "[exit code" in await person.types("q")


async def test_a_repl(person: Person) -> None:
    said = await person.sees("python3 -q", screen=True)
    with anyio.fail_after(20):
        while not said.startswith(">>>"):  # it takes its time to start
            said = await person.sees("")
    assert "\n42\n>>>" in await person.types("6 * 7<Enter>")
    assert "KeyboardInterrupt" in await person.types("C-c")
    assert "[exit code 3" in await person.types("exit(3)<Enter>")


async def test_a_command_that_just_prints_has_a_screen_too(person: Person) -> None:
    assert await person.sees("printf 'one\\ntwo\\n'; false", screen=True) == (
        f"one\ntwo\n[exit code 1, in {person.context.workspace.path}]"
    )


async def test_an_interrupt_ends_it(person: Person, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    with anyio.move_on_after(1.0):
        await person("vim -u NONE a", screen=True, timeout=0)
        await person("", timeout=50)
        await anyio.sleep(50)
    await person("", reset=True)
    assert (await person.sees("echo over")).startswith("over\n")


async def test_a_secret_is_on_no_screen(tmp_path: Path) -> None:
    person = Person(tmp_path, TOKEN="hunter2-and-more")
    (tmp_path / "keys").write_text(f"hunter2-and-more\n{'.' * 110}hunter2-and-more\n")
    seen = await person.sees("less keys", screen=True)
    assert "hunter2" not in seen
    assert "more" not in seen
    await person.terminal.aclose()

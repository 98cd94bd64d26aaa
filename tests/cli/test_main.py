"""The commands, as processes; where one is killed or interrupted, or is the first that a newcomer runs, a cold one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import anyio
import pytest

from agentrt.events import InterruptEvent
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, Stall, call, finish, say
from agentrt.testing.turns import Turn
from tests import programs

from .terminal import SECONDS, Terminal

pytestmark = pytest.mark.real

_KEYS = re.compile(r"_(API_KEY|TOKEN)$")


def environment(home: Path) -> dict[str, str]:
    """A newcomer's: no keys, a store of its own."""
    kept = {name: value for name, value in os.environ.items() if not _KEYS.search(name)}
    return {**kept, "AGENTRT_HOME": str(home), "COLUMNS": "200"}


def agentrt(home: Path, *words: str, input: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without a terminal."""
    return programs.run(
        *("-m", "agentrt", *words), directory=Path.cwd(), environment=environment(home) | more, input=input
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    home = tmp_path_factory.mktemp("home")
    command = [sys.executable, "-m", "agentrt", "demo", "--pace", "0"]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
        env=environment(home),
        check=False,
    )
    return home, ran


def test_the_demo_mends_the_project_and_says_what_is_real(
    demo: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, ran = demo
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""
    said = ran.stdout
    assert said.startswith(
        "The model's words are scripted. The HTTP, the shell, the files, the tests and the log are real."
    )
    assert "FAILED (failures=" in said
    assert "+        return (self.quantity" in said
    assert "checked by running the tests again: ✓ the tests pass" in said
    assert "finished  ·  7 model calls" in said
    (log,) = re.findall(r"^log\s+(\S+)", said, re.MULTILINE)
    assert Path(log).is_relative_to(home)
    assert json.loads(Path(log).read_text().splitlines()[0])["type"] == "ConversationCreated"


def test_the_demos_exit_code_tells_the_truth(tmp_path: Path) -> None:
    """With a tool that edits nothing, the demo fails."""
    program = (
        "import anyio, sys\n"
        "from pathlib import Path\n"
        "from rich.console import Console\n"
        "from agentrt import tool\n"
        "from agentrt.cli.demo import demo\n"
        "from agentrt.cli.views import PlainView\n"
        "@tool(name='file_editor')\n"
        "async def broken(command: str, path: str, old_str: str = '', new_str: str = '') -> str:\n"
        "    'Edit nothing.'\n"
        "    return 'Edited.'\n"
        "console = Console()\n"
        "sys.exit(anyio.run(lambda: demo(PlainView(console), console, store=Path(sys.argv[1]), tools=[broken])))\n"
    )
    ran = programs.run("-c", program, str(tmp_path), directory=tmp_path, environment=os.environ)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "✗ the tests fail" in ran.stdout


def test_a_conversation_can_be_listed_and_shown(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, _ = demo
    listed = agentrt(home, "list")
    header, row = listed.stdout.splitlines()
    assert header.split() == ["id", "status", "calls", "cost", "title"]
    name = row.split()[0]
    assert row.split()[1:3] == ["finished", "7"]
    shown = agentrt(home, "show", name)
    assert shown.returncode == 0
    assert "● terminal  $ python3 -m unittest discover tests" in shown.stdout
    assert "more lines" in shown.stdout
    assert "more lines" not in agentrt(home, "show", "--all", name).stdout
    by_path = agentrt(home, "show", str(home / "conversations" / name))
    assert by_path.stdout == shown.stdout == agentrt(home, "show").stdout
    events = [json.loads(line) for line in agentrt(home, "show", "--json", name).stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_without_a_key_it_says_what_to_set(tmp_path: Path) -> None:
    ran = agentrt(tmp_path, "run", "anything", "--model", "openai/gpt-4o")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines() == [
        "agentrt: no key for model 'openai/gpt-4o': set OPENAI_API_KEY in the environment",
        "Without --model, the key that is set chooses it: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY.",
        "A model of your own needs no key: --model openai/NAME --base-url http://HOST:PORT/v1",
        "To see an agent work without a model: agentrt demo",
    ]
    assert agentrt(tmp_path, "list").stdout == "no conversations yet: 'agentrt demo' makes one\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "x", "--model", "nonsense"), "unknown model 'nonsense'"),
        (("show", "nobody"), "no conversation 'nobody'"),
        (("resume", "nobody"), "no conversation 'nobody'"),
        (("run",), "Missing argument 'TASK'"),
        (("frobnicate",), "No such command 'frobnicate'"),
        (
            ("run", "x", "--base-url", "localhost:80"),
            "'localhost:80' is not a URL: give one like 'http://127.0.0.1:8000/v1'",
        ),
        (("run", "x", "--base-url", "http://[::1"), "is not a URL"),
        (("run", "x", "--base-url", "http://127.0.0.1:99999/v1"), "is not a URL"),
        (("run", "x", "--store", "/proc/store"), "there can be no store in '/proc/store'"),
        (("run", "x", "--price", "cheap"), "'cheap' is not a price: write two amounts, as 0.5,1.5"),
        (("run", "x", "--tools", "nowhere_at_all:x"), "--tools nowhere_at_all:x: cannot be loaded"),
        (("run", "-"), "the task is empty"),
        (("serve", "--base-url", "nowhere"), "'nowhere' is not a URL"),
        (("serve", "--cors", "nowhere"), "'nowhere' is not an origin"),
        (("serve", "--rate", "often"), "'often' is not a rate"),
        (("serve", "--port", "0", "--store", "/proc/store"), "there can be no store in '/proc/store'"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    ran = agentrt(tmp_path, *words)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


async def test_a_budget_that_cannot_be_held_is_refused_before_anything_starts(tmp_path: Path) -> None:
    async with ScriptedProvider([finish("Done.")]) as provider:
        where = ("--model", "openai/nobody-knows-it", "--base-url", provider.base_url, "--max-cost", "1")
        run = partial(agentrt, tmp_path / "home", OPENAI_API_KEY="none")
        for words in (("run", "x", "-w", str(tmp_path)), ("serve", "--port", "0")):
            ran = await anyio.to_thread.run_sync(partial(run, *words, *where))
            assert ran.returncode == 2
            assert "the price of 'openai/nobody-knows-it' is unknown" in ran.stderr
            assert "--price IN,OUT" in ran.stderr
        assert agentrt(tmp_path / "home", "list").stdout.startswith("no conversations yet")
        ran = await anyio.to_thread.run_sync(lambda: run("run", "x", "-w", str(tmp_path), *where, "--price", "1,2"))
        assert ran.returncode == 0, ran.stderr
        assert "price unknown" not in ran.stdout


def test_what_is_not_there_yet_is_said(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    home, _ = demo
    assert agentrt(home, "show", "x" * 300).stderr.startswith("agentrt: no conversation")
    for command in (("show", "--at", "9999"), ("fork", "--at", "9999")):
        (name,) = [path.name for path in (home / "conversations").iterdir()]
        ran = agentrt(home, command[0], name, *command[1:])
        assert ran.returncode == 2
        assert "event" in ran.stderr
        assert "Traceback" not in ran.stderr
        assert len(ran.stderr.strip().splitlines()[-1]) < 200


def test_a_damaged_log_is_refused_with_its_place(
    demo: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    home, _ = demo
    (source,) = (home / "conversations").iterdir()
    copy = tmp_path / "conversations" / "damaged"
    copy.mkdir(parents=True)
    lines = (source / "events.jsonl").read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"type", b"tyqe", 1)
    (copy / "events.jsonl").write_bytes(b"".join(lines))
    for words in (("show", "damaged"), ("resume", "damaged")):
        ran = agentrt(tmp_path, *words)
        assert ran.returncode == 2
        assert "events.jsonl:5: record 5 is damaged" in ran.stderr
        assert "agentrt log verify" in ran.stderr
        assert "agentrt log repair --force" in ran.stderr
        assert len(ran.stderr.splitlines()) == 1
    shown = agentrt(tmp_path, "show", "damaged")
    assert "--- event 5 cannot be read: line 5 is damaged ---" in shown.stdout
    assert len(shown.stdout.partition("--- event 5 ")[2].splitlines()) > 5, "what comes after it is shown"
    as_json = agentrt(tmp_path, "show", "damaged", "--json")
    assert [json.loads(line)["seq"] for line in as_json.stdout.splitlines()] == [
        seq for seq in range(1, len(lines) + 1) if seq != 5
    ]
    assert "damaged" in agentrt(tmp_path, "list").stdout
    assert len(agentrt(tmp_path, "show", "damaged", "--at", "2", "--json").stdout.splitlines()) == 2
    forked = agentrt(tmp_path, "fork", "damaged", "--at", "2")
    assert forked.returncode == 0, "what comes after a place may be damaged"
    assert agentrt(tmp_path, "show", forked.stdout.strip()).returncode == 0


def test_a_home_is_a_directory_and_no_address() -> None:
    ran = agentrt(Path("/nonexistent"), "list", AGENTRT_HOME="memory://")
    assert ran.returncode == 2
    assert "AGENTRT_HOME is to be a directory, not 'memory://'" in ran.stderr


def test_help_is_worth_reading() -> None:
    ran = agentrt(Path("/nonexistent"), "--help")
    for command in ("run", "demo", "show", "list", "resume"):
        assert re.search(rf"^  {command}\s+\S", ran.stdout, re.MULTILINE), command


async def test_run_works_against_a_provider_and_json_is_one_event_a_line(tmp_path: Path) -> None:
    async with ScriptedProvider([call("terminal", command="echo made > made.txt"), finish("Done.")]) as provider:
        ran = await anyio.to_thread.run_sync(
            lambda: agentrt(
                tmp_path / "home",
                *("run", "Make it.", "--workspace", str(tmp_path), "--base-url", provider.base_url),
                *("--model", "openai/scripted", "--json"),
            )
        )
    assert ran.returncode == 0, ran.stderr
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert events[0]["type"] == "RunRequested"
    *_, last, ended = events
    assert (last["tool_name"], ended["type"], ended["status"]) == ("finish", "RunEnded", "finished")
    assert (tmp_path / "made.txt").read_text() == "made\n"


async def test_without_a_terminal_what_is_risky_is_refused_unless_yes(tmp_path: Path) -> None:
    """The agent's home directory is outside of its workspace."""
    (tmp_path / "work").mkdir()
    async with ScriptedProvider([call("terminal", command="rm -rf ~/keep"), say("Done.")]) as provider:
        for yes in (False, True):
            (tmp_path / "keep").mkdir(exist_ok=True)
            options = ["--confine", "off", "--workspace", str(tmp_path / "work"), "--base-url", provider.base_url]
            options += ["--model", "openai/scripted", *(["--yes"] if yes else [])]
            ran = await anyio.to_thread.run_sync(
                partial(agentrt, tmp_path / "h", "run", "x", *options, HOME=str(tmp_path))
            )
            assert ran.returncode == 0, ran.stderr
            assert (tmp_path / "keep").exists() is not yes
            assert ("rejected: No user is present" in ran.stdout) is not yes


async def test_ctrl_c_interrupts_and_says_how_to_resume(tmp_path: Path) -> None:
    """On a real terminal: the text streams in, Ctrl-C stops it, and `resume` goes on."""
    home = tmp_path / "home"
    turns: list[Turn] = [Stall("Thinking aloud"), say("Finished after all.")]
    async with ScriptedProvider(lambda body: turns[min(len(provider.requests), 2) - 1]) as provider:
        command = [
            *(sys.executable, "-m", "agentrt", "run", "go", "--workspace", str(tmp_path)),
            *("--model", "openai/scripted", "--base-url", provider.base_url),
        ]
        async with Terminal(command, environment(home)) as terminal:
            await terminal.until("Thinking aloud")
            terminal.press_ctrl_c()
            await terminal.until("To go on: agentrt resume ")
            assert await terminal.exit_code() == 130
        (directory,) = (home / "conversations").iterdir()
        assert any(isinstance(event, InterruptEvent) for event in read_conversation(directory))
        ran = await anyio.to_thread.run_sync(lambda: agentrt(home, "resume", directory.name))
    assert ran.returncode == 0, ran.stderr
    assert "Finished after all." in ran.stdout


async def test_compact_sums_up_and_context_shows_what_fills_the_window(tmp_path: Path) -> None:
    home, steps = tmp_path / "home", [call("think", thought=f"{n} {'x' * 600}") for n in range(8)]
    turns: list[Turn] = [*steps, finish("Done."), say("## Task\nThink it over.")]
    async with ScriptedProvider(lambda body: turns.pop(0)) as provider:
        more = {"OPENAI_API_KEY": "none", "OPENAI_API_BASE": f"{provider.url}/v1"}

        async def told(*words: str) -> str:
            ran = await anyio.to_thread.run_sync(lambda: agentrt(home, *words, **more))
            assert ran.returncode == 0, ran.stdout + ran.stderr
            return ran.stdout

        await told("run", "think", "--model", "openai/gpt-5.5", "--workspace", str(tmp_path))
        before = await told("context", "show")
        assert re.search(r"^calls think +8 +[\d,]+ +\d+%$", before, re.MULTILINE), before
        assert "events left the model's view" in await told("resume", "--message", "/compact")
        after = await told("context", "show")
        assert not re.search(r"^calls think +8 ", after, re.MULTILINE), after
        assert re.search(r"^summary +1 ", after, re.MULTILINE), after
        assert "Think it over." in await told("show", "--all")


async def test_after_kill_9_resume_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    """The model is told that the outcome of what was cut is unknown; the counter is outside of the process."""
    home, counter = tmp_path / "home", tmp_path / "counter"
    os.mkfifo(tmp_path / "counted")
    counted = os.open(tmp_path / "counted", os.O_RDONLY | os.O_NONBLOCK)
    turns = [
        call("terminal", command="echo one >> counter"),
        call("terminal", command="echo two >> counter; echo > counted; sleep 60"),
        finish("Counted."),
    ]
    async with ScriptedProvider(turns) as provider:
        options = ("--workspace", str(tmp_path), "--model", "openai/scripted", "--base-url", provider.base_url)
        child = subprocess.Popen(
            [sys.executable, "-m", "agentrt", "run", "Count.", *options],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        with anyio.fail_after(SECONDS):
            await anyio.wait_readable(counted)
        os.close(counted)
        assert counter.read_text() == "one\ntwo\n"
        child.kill()
        await anyio.to_thread.run_sync(child.wait)
        (directory,) = (home / "conversations").iterdir()
        before = [event.id for event in read_conversation(directory)]
        ran = await anyio.to_thread.run_sync(agentrt, home, "resume")
        told = provider.requests[-1]["messages"]
    assert ran.returncode == 0, ran.stderr
    assert counter.read_text() == "one\ntwo\n"
    assert [event.id for event in read_conversation(directory)][: len(before)] == before
    assert any("whether it took effect is unknown" in str(message.get("content")) for message in told)
    assert any("The terminal was restarted" in str(message.get("content")) for message in told)


@pytest.mark.real
def test_ctrl_c_while_it_is_loaded_leaves_no_traceback(tmp_path: Path) -> None:
    """Whenever it comes: before, during and after the imports."""
    for module in ("click", "rich.console", "agentrt.cli.chat.command", "agentrt.cli.main"):
        stops = (
            "import builtins, os, runpy, signal, sys\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background ignores it
            "load = builtins.__import__\n"
            "def hooked(name, *rest, **more):\n"
            f"    if name == {module!r}.rpartition('.')[2] or name == {module!r}:\n"
            "        os.kill(os.getpid(), signal.SIGINT)\n"
            "    return load(name, *rest, **more)\n"
            "builtins.__import__ = hooked\n"
            "sys.argv = ['agentrt', 'list']\n"
            "runpy.run_module('agentrt', run_name='__main__')\n"
        )
        ran = subprocess.run([sys.executable, "-c", stops], capture_output=True, text=True, env=environment(tmp_path))
        assert (ran.returncode, ran.stderr) == (130, "")

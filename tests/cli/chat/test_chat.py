"""`agentrt chat` on a pseudo-terminal, with a scripted model behind a real wire."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentrt.context.replies import ModelReply
from agentrt.events import Event, InterruptEvent, MessageEvent, ObservationEvent, UserRejectObservation
from agentrt.specs import ImageContent
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, Stall, call, calls, say
from agentrt.testing.turns import Turn
from tests.cli.test_main import agentrt, environment

from .emulated import ALT_ENTER, CTRL_C, CTRL_D, CTRL_J, ENTER, ESC, FRAME, TAB, UP, Emulated

pytestmark = pytest.mark.long

PLAN = [
    {"title": "Read the code", "status": "done"},
    {"title": "Fix it", "status": "in_progress"},
    {"title": "Run the tests", "status": "todo"},
]
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)
MODEL = ("--model", "openai/scripted", "--price", "1,4")


def said(body: dict[str, Any]) -> str:
    """The last words of the user in a request."""
    content = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    return content if isinstance(content, str) else "\n".join(part.get("text", "[image]") for part in content)


def log_of(place: Path) -> list[Event]:
    """The events of the only conversation."""
    (directory,) = (place / "store" / "conversations").iterdir()
    return list(read_conversation(directory))


def heard(place: Path) -> list[str]:
    """What the user said."""
    return [plain(e.content) for e in log_of(place) if isinstance(e, MessageEvent) and e.source == "user"]


@pytest.mark.real
def test_without_a_terminal_it_says_in_a_line_what_to_use(tmp_path: Path) -> None:
    ran = agentrt(tmp_path, "chat")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == 'agentrt: a chat needs a terminal: without one, use agentrt run "TASK"\n'


@pytest.mark.real
async def test_there_is_a_prompt_with_a_status_and_help(tmp_path: Path) -> None:
    async with Emulated(tmp_path) as chat:
        assert "›\n○ ready  ·  openai/scripted  ·  $0.0000" in await chat.ready()
        chat.send("/help")
        await chat.until("clear the screen")


async def test_help_lines_pastes_history_and_ctrl_c(tmp_path: Path) -> None:
    """What needs no model, in one chat and the next: nothing is said, so no conversation is left behind."""
    async with Emulated(tmp_path) as chat:
        await chat.ready()
        chat.type("/mo")
        assert "show the model, or go on with another one" in await chat.until("/model")
        chat.type(TAB + CTRL_C)
        await chat.until(lambda: "› /mo" not in chat.screen)
        chat.send("/help")
        await chat.until("clear the screen")
        for command in ("/help", "/model [NAME]", "/rewind N", "/quit"):
            assert f"\n{command} " in chat.text
        chat.type(f"one{ALT_ENTER}two{CTRL_J}three\\{ENTER}four")
        assert "› one\n  two\n  three\n  four" in await chat.until("four")
        chat.type(CTRL_C)
        await chat.until(lambda: "› one" not in chat.screen)
        await chat.paste("above\nbelow")
        assert "› above\n  below" in await chat.until("  below")
        chat.type(CTRL_C)
        await chat.until("Ctrl-C again leaves")
        await chat.until(lambda: "Ctrl-C again" not in chat.screen)
        chat.send("/nothing")
        await chat.until("unknown command /nothing")
        chat.type(CTRL_D)
        assert await chat.exit_code() == 0
        assert "To go on" not in chat.screen
    assert not list((tmp_path / "store" / "conversations").iterdir())
    async with Emulated(tmp_path) as chat:
        await chat.ready()
        chat.type(UP)
        await chat.until("› /help")
        chat.type(CTRL_C + CTRL_C)
        assert await chat.exit_code() == 0


async def test_an_answer_streams_in_and_the_conversation_is_resumed(tmp_path: Path) -> None:
    turns = [say("Hello, you."), say("Hello again.")]
    async with ScriptedProvider(turns) as provider:
        async with Emulated(tmp_path, provider=provider) as chat:
            await chat.ready()
            chat.send("Say hello.")
            await chat.until("› Say hello.\nHello, you.\n\n›\n○ ready  ·  openai/scripted  ·  $0.0")
            chat.type(CTRL_D)
            assert await chat.exit_code() == 0
            (name,) = re.findall(r"To go on: agentrt chat (\S+)", chat.text)
        async with Emulated(tmp_path, name) as chat:
            screen = await chat.ready()
            assert "› Say hello.\nHello, you." in screen
            chat.type(UP)
            await chat.until("› Say hello.\n○")
            chat.type(ENTER)
            await chat.until("Hello again.")
            chat.type(CTRL_C + CTRL_C)
            assert await chat.exit_code() == 0
    assert heard(tmp_path) == ["Say hello.", "Say hello."]


async def test_files_and_images_are_attached_and_ignored_ones_not_offered(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "parser.py").write_text("def parse(): ...\n")
    (work / "secret.log").write_text("no")
    (work / ".gitignore").write_text("*.log\n")
    (work / ".git").mkdir()
    (work / "dot.png").write_bytes(PIXEL)
    async with ScriptedProvider([say("Seen.")]) as provider:
        async with Emulated(tmp_path, provider=provider) as chat:
            await chat.ready()
            chat.type("look at @")
            assert "secret.log" not in await chat.until("src/parser.py")
            chat.type("pars" + TAB)
            await chat.until("› look at @src/parser.py")
            chat.send(" and @dot.png, not @nothing.txt")
            screen = await chat.until("Seen.")
            assert "! no file nothing.txt: nothing attached" in screen
            assert '  │ <file path="src/parser.py">  … 2 more lines' in screen
        assert "def parse(): ...\n</file>" in said(provider.requests[0])
    (message,) = [e for e in log_of(tmp_path) if isinstance(e, MessageEvent) and e.source == "user"]
    assert plain(message.content[:1]) == "look at @src/parser.py and @dot.png, not @nothing.txt"
    assert len(message.content) == 3
    assert isinstance(message.content[2], ImageContent)


async def test_esc_interrupts_and_what_is_typed_meanwhile_steers(tmp_path: Path) -> None:
    def script(body: dict[str, Any]) -> Turn:
        match said(body):
            case "wait":
                return call("terminal", command="touch begun; until [ -e go ]; do sleep 0.05; done; echo over")
            case "think":
                return Stall("I think about")
            case _:
                return say(f"I heard: {said(body)}")

    async with ScriptedProvider(script) as provider, Emulated(tmp_path, provider=provider) as chat:
        await chat.ready()
        chat.send("wait")
        await chat.until("running terminal")
        chat.send("be quick")
        await chat.until("› be quick\n")
        await chat.until("1 queued")
        assert heard(tmp_path)[-1] == "be quick"  # in the log though the agent is at work
        (tmp_path / "work" / "go").touch()
        assert "queued" not in await chat.until("I heard: be quick")
        chat.send("think")
        await chat.until("I think about")
        chat.type(ESC)
        await chat.until("■ interrupted")
        await chat.until("stopped, /resume goes on")
        chat.send("go on")
        await chat.until("I heard: go on")
    assert sum(isinstance(event, InterruptEvent) for event in log_of(tmp_path)) == 1


SLOW = "word after word, " * 200


async def test_an_approval_takes_the_place_of_the_prompt_while_text_streams(tmp_path: Path) -> None:
    """One action waits for a word while the other one's output streams in; the draft comes back after the answer."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "one").mkdir()
    batch = calls(
        ("terminal", {"command": "i=0; until [ -e go ]; do i=$((i+1)); echo tick $i; sleep 0.1; done"}),
        ("terminal", {"command": "rm -rf ~/one", "session": "other"}),
    )
    async with ScriptedProvider([batch, batch, say("Done.")]) as provider:
        async with Emulated(tmp_path, "--confine", "off", provider=provider) as chat:
            await chat.ready()
            chat.send("tidy")
            asked = await chat.until("? terminal  $ rm -rf ~/one")
            assert "high: deletes outside" in asked
            assert "y once" in asked
            assert "\n  >\n■ waiting for you" in asked
            chat.send("it is needed")
            await chat.until("rejected: it is needed")
            await chat.until("tick")
            chat.type("a draft")
            (tmp_path / "work" / "go").touch()
            await chat.until("? terminal  $ rm -rf ~/one")
            assert "a draft" not in chat.screen.rpartition("? terminal")[2]
            chat.send("y")
            await chat.until("Done.")
            await chat.until("› a draft\n○ ready")
    assert not (tmp_path / "home" / "one").exists()
    assert sum(isinstance(event, UserRejectObservation) for event in log_of(tmp_path)) == 1


async def test_an_approval_that_follows_text_as_it_streams_keeps_the_draft(tmp_path: Path) -> None:
    """The user types while the model talks; its reply ends in an action that must be approved."""
    (tmp_path / "home" / "one").mkdir(parents=True)
    turns = [call("terminal", SLOW + "the end.", command="rm -rf ~/one"), say("Done.")]
    async with ScriptedProvider(turns, pace=0.005) as provider:
        async with Emulated(tmp_path, "--confine", "off", provider=provider) as chat:
            await chat.ready()
            chat.send("tidy")
            await chat.until(lambda: chat.screen.count("word after word") > 5)
            chat.type("a draft")
            assert "the end." not in await chat.until("› a draft")
            asked = await chat.until("? terminal  $ rm -rf ~/one")
            assert "the end." in asked.rpartition("? terminal")[0]
            assert "a draft" not in asked
            chat.send("y")
            await chat.until("Done.")
            await chat.until("› a draft\n○ ready")
            assert " ".join(chat.text.split()).count("word after word") == SLOW.count("word after word")
    assert not (tmp_path / "home" / "one").exists()


async def test_the_size_of_the_terminal_may_change_while_text_streams(tmp_path: Path) -> None:
    async with ScriptedProvider([say(SLOW + "the end.")], pace=0.01) as provider:
        async with Emulated(tmp_path, provider=provider) as chat:
            await chat.ready()
            chat.send("Talk.")
            await chat.until(lambda: chat.screen.count("word after word") > 5)
            for columns, rows in ((120, 40), (40, 12), (100, 30)):
                chat.resize(columns, rows)
                enough = len(chat.bytes) + 500
                await chat.until(partial(chat.has_written, enough))
            await chat.until("the end.")
            screen = await chat.ready()
            assert screen.count("›") == 1
            assert screen.splitlines()[-1].startswith("○ ready  ·  openai/scripted")


async def test_a_title_comes_after_the_first_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTRT_TITLES", "yes")
    asks_title = "Answer with the title alone"
    async with ScriptedProvider(lambda body: say("Ducks" if asks_title in str(body) else "Seven.")) as provider:
        async with Emulated(tmp_path, provider=provider) as chat:
            await chat.ready()
            chat.send("count the ducks")
            await chat.until("Seven.")
            await chat.until("title: Ducks")
            chat.send("again")
            await chat.until("› again\nSeven.")
    assert [asks_title in str(body) for body in provider.requests] == [False, True, False]


async def test_a_paste_of_10_000_lines_is_folded_and_sent_whole(tmp_path: Path) -> None:
    text = "\n".join(f"line {number} of what was pasted" for number in range(10_000))
    async with ScriptedProvider([say("Read.")]) as provider:
        async with Emulated(tmp_path, provider=provider) as chat:
            await chat.ready()
            chat.type("read ")
            await chat.paste(text)
            await chat.until("› read [pasted 10,000 lines]")
            chat.send(" please")
            await chat.until("Read.")
            assert "… 9,976 more lines" in chat.text
            assert max(map(len, FRAME.findall(chat.bytes))) < 20_000
        assert said(provider.requests[0]) == f"read {text} please"
    assert heard(tmp_path) == [f"read {text} please"]


async def test_the_plan_and_the_status_stand_at_the_bottom(tmp_path: Path) -> None:
    turns: list[ModelReply] = [
        call("task_tracker", command="plan", task_list=PLAN),
        call("terminal", command="until [ -e go ]; do sleep 0.05; done"),
        call("task_tracker", command="plan", task_list=[{**task, "status": "done"} for task in PLAN]),
        say("Done."),
    ]
    async with ScriptedProvider(turns) as provider, Emulated(tmp_path, provider=provider, columns=120) as chat:
        await chat.ready()
        chat.send("fix it")
        screen = await chat.until("running terminal")
        plan = "✔ Read the code\n▸ Fix it\n○ Run the tests\n›\n● running terminal  ·  openai/scripted  ·  $0.0"
        assert plan in screen
        assert screen.splitlines()[-1].endswith("tokens")
        (tmp_path / "work" / "go").touch()
        screen = await chat.until("Done.")
        await chat.ready()
        assert "▸ Fix it" not in chat.screen.rpartition("Done.")[2]
        chat.send("/plan")
        await chat.until("✔ Run the tests")


async def test_a_chat_that_was_killed_is_resumed(tmp_path: Path) -> None:
    turns = [say("One."), call("terminal", command="touch begun; sleep 60"), say("Two.")]
    async with ScriptedProvider(turns) as provider:
        async with Emulated(tmp_path, provider=provider) as chat:
            await chat.ready()
            chat.send("first")
            await chat.until("One.\n\n›\n○ ready")
            chat.send("second")
            await chat.until("running terminal")
            chat.process.send_signal(signal.SIGKILL)
            chat.process.wait()
        async with Emulated(tmp_path, "--continue") as chat:
            await chat.until("› second")
            assert "› first\nOne." in chat.text
            chat.send("/resume")
            await chat.until("Two.")
    results = [event for event in log_of(tmp_path) if isinstance(event, ObservationEvent)]
    assert len(results) <= 1


async def test_commands_do_what_they_say(tmp_path: Path) -> None:
    def script(body: dict[str, Any]) -> Turn:
        words = said(body)
        if words == "write" and body["messages"][-1]["role"] == "user":
            place = str(tmp_path / "work" / "new.txt")
            return call("file_editor", command="create", path=place, file_text="hello\n")
        return say(f"I heard: {words.splitlines()[0]}")

    async with ScriptedProvider(script) as provider, Emulated(tmp_path, provider=provider, rows=40) as chat:
        await chat.ready()
        chat.send("first")
        await chat.until("I heard: first")
        chat.send("write")
        await chat.until("I heard: write")
        assert (tmp_path / "work" / "new.txt").exists()
        for command, words in (
            ("/diff", "+hello"),
            ("/cost", "default: $0.0"),
            ("/context", "system prompt"),
            ("/title A name", "title: A name"),
            ("/rules deny git push*", 'deny terminal, command like "git push*"'),
            ("/rules remove 1", "- rule in this conversation"),
            ("/rules nonsense", "write /rules allow PATTERN"),
            ("/confirm always", "approval: always"),
            ("/goal All is well", "All is well"),
            ("/goal off", "the goal was taken back"),
            ("/model openai/other", "from now on: openai/other at http"),
            ("/mcp", "no MCP servers"),
            ("/compact", "older messages are summarized"),
            ("/ask How are you?", "I heard: This is a question"),
        ):
            chat.send(command)
            await chat.until(words)
        chat.send("/undo")
        await chat.until("› write\n○ ready")
        assert not (tmp_path / "work" / "new.txt").exists()
        chat.type(CTRL_C)
        await chat.until("Ctrl-C again leaves")
        chat.send("/fork beside")
        await chat.until("this is a fork now")
        await chat.until(lambda: chat.text.count("/help lists") == 2 and "○ ready" in chat.screen)
        chat.send("in the fork")
        await chat.until("I heard: in the fork")
        chat.send("/clear")
        await chat.until(lambda: chat.text.count("/help lists") == 3 and "○ ready" in chat.screen)
        chat.send("/quit")
        assert await chat.exit_code() == 0
    assert len(list((tmp_path / "store" / "conversations").iterdir())) == 2


async def test_nothing_that_a_model_or_a_tool_says_steers_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b2J\x07"
    turns = [call("terminal", evil, command="printf '\\033[2J\\033]0;owned\\007over'"), say(evil + " the end")]
    async with ScriptedProvider(turns) as provider, Emulated(tmp_path, provider=provider) as chat:
        await chat.ready()
        chat.send("go")
        await chat.until("the end")
        for sequence in (b"\x1b]0;", b"\x1b[2J", b"\x07", b"\x9b2J"):
            assert sequence not in chat.bytes


async def test_keys_and_secrets_are_not_in_the_history(tmp_path: Path) -> None:
    async with ScriptedProvider(lambda body: say(f"I heard: {len(said(body))}")) as provider:
        async with Emulated(tmp_path, provider=provider) as chat:
            await chat.ready()
            for words in ("my key is sk-proj-abcdefghijklmnop1234", "password=hunter2hunter2", "plain words"):
                chat.send(words)
                await chat.until(f"› {words}")
                await chat.ready()
            await chat.until("I heard: 11")
    history = tmp_path / "store" / "chat_history.jsonl"
    assert history.read_text() == '{"text":"plain words"}\n'
    assert history.stat().st_mode & 0o777 == 0o600


@pytest.mark.real
def test_no_color_is_respected(tmp_path: Path) -> None:
    """Neither the library that draws the prompt nor the one that prints writes a colour then."""
    program = (
        "from prompt_toolkit.output import ColorDepth; from rich.console import Console;"
        "assert ColorDepth.from_env() is ColorDepth.DEPTH_1_BIT; assert Console(force_terminal=True).no_color"
    )
    env = environment(tmp_path) | {"NO_COLOR": "1"}
    subprocess.run([sys.executable, "-c", program], env=env, check=True)

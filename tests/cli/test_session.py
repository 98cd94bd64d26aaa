"""A person at the terminal: asked, answered, and in charge of all that runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt.events import ChildAnswered, ConfirmationGiven, InterruptEvent, RuleAdded, UserRejectObservation
from agentrt.specs import PermissionRule
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, call, calls, finish, say
from agentrt.testing.turns import Turn
from tests.mcp.warm import server_of
from tests.stores import rules_in

from .terminal import SECONDS, Terminal
from .test_main import agentrt, environment

pytestmark = pytest.mark.long

PROMPT = "\n  then Enter > "


def home_of(tmp_path: Path, *names: str) -> dict[str, str]:
    """The environment of someone whose home directory is outside of the workspace, with directories in it."""
    (tmp_path / "work").mkdir()
    for name in names:
        (tmp_path / name).mkdir()
    return environment(tmp_path / "store") | {"HOME": str(tmp_path)}


def delete(name: str) -> Turn:
    return call("terminal", command=f"rm -rf ~/{name}")


def run(provider: ScriptedProvider, tmp_path: Path, *options: str) -> list[str]:
    return [
        *(sys.executable, "-m", "agentrt", "run", "go", "--workspace", str(tmp_path / "work")),
        *("--model", "openai/scripted", "--base-url", provider.base_url, *options),
    ]


@pytest.mark.real
async def test_each_answer_does_what_it_says(tmp_path: Path) -> None:
    env = home_of(tmp_path, "one", "two", "three", "four", "five")
    turns = [*map(delete, ("one", "two", "three", "three", "four", "five")), finish("Done.")]
    async with ScriptedProvider(turns) as provider:
        async with Terminal(run(provider, tmp_path, "--confine", "off"), env) as terminal:
            terminal.type("y")  # before anything was asked
            asked = await terminal.until(PROMPT)
            assert "? terminal  $ rm -rf ~/one\n  high: deletes outside" in asked
            assert "; asked because of its risk\n" in asked
            assert "a and p stand for every call of terminal with this command\n" in asked
            terminal.type("")
            assert "That is no answer" in await terminal.until(PROMPT)
            terminal.type("it is needed")
            for answer in ("y", "a", "p"):
                await terminal.until(PROMPT)
                terminal.type(answer)
            assert "? terminal  $ rm -rf ~/five" in await terminal.until(PROMPT)
            terminal.type("q")
            await terminal.until("To go on: agentrt resume ")
            assert await terminal.exit_code() == 130
        assert "│ rejected: it is needed" in terminal.text
        assert '+ rule in this conversation: allow terminal, command "rm -rf ~/three"' in terminal.text
        assert sorted(path.name for path in tmp_path.iterdir()) == ["five", "one", "store", "work"]
        remembered = PermissionRule("allow", "terminal", "rm -rf ~/four", "command")
        assert await rules_in(tmp_path / "store", tmp_path / "work") == (remembered,)
        ran = await anyio.to_thread.run_sync(lambda: agentrt(tmp_path / "store", "resume", HOME=str(tmp_path)))
        assert ran.returncode == 0, ran.stderr
    (directory,) = (tmp_path / "store" / "conversations").iterdir()
    events = read_conversation(directory)
    assert sum(isinstance(event, ConfirmationGiven) for event in events) == 3
    assert [event.scope for event in events if isinstance(event, RuleAdded)] == ["session", "project"]
    refused = [event.rejection_reason for event in events if isinstance(event, UserRejectObservation)]
    assert refused[0] == "it is needed"


@pytest.mark.real
async def test_the_demo_asks_about_each_action_if_it_is_told_to(tmp_path: Path) -> None:
    demo = [sys.executable, "-m", "agentrt", "demo", "--pace", "0", "--ask"]
    async with Terminal(demo, environment(tmp_path / "store")) as terminal:
        for _ in range(3):
            await terminal.until(PROMPT)
            terminal.type("y")
        asked = await terminal.until(PROMPT)
        assert "  │ -return int(self.quantity" in asked
        assert "  │ +return (self.quantity" in asked
        assert "  low: " in asked
        assert "; asked because every action is asked about\n" in asked
        terminal.type("y")
        await terminal.until(PROMPT)
        terminal.type("y")
        assert await terminal.exit_code() == 0
    assert terminal.text.count("  │ approved\n") == 5
    assert "✓ the tests pass" in terminal.text
    async with Terminal(demo, environment(tmp_path / "store")) as terminal:
        for answer in ("y", "y", "y", "n leave it"):
            await terminal.until(PROMPT)
            terminal.type(answer)
        assert await terminal.exit_code() == 1
    assert "You refused the edit, so the tests still fail." in terminal.text
    assert "✗ the tests fail" in terminal.text
    async with Terminal(demo, environment(tmp_path / "store")) as terminal:
        await terminal.until(PROMPT)
        terminal.type("q")
        assert await terminal.exit_code() == 130
    assert "resume" not in terminal.text
    refused = await anyio.to_thread.run_sync(lambda: agentrt(tmp_path / "store", "demo", "--ask"))
    assert "--ask needs a terminal" in refused.stderr


async def test_ctrl_c_takes_a_question_back_and_resume_asks_what_waits(tmp_path: Path) -> None:
    """What was cut by Ctrl-C is not run; what only waited when the process died is asked again."""
    env = home_of(tmp_path, "one", "two")
    async with ScriptedProvider([delete("one"), delete("two"), finish("Done.")]) as provider:
        async with Terminal(run(provider, tmp_path), env) as terminal:
            await terminal.until(PROMPT)
            terminal.press_ctrl_c()
            assert "■ interrupted" in await terminal.until("To go on: agentrt resume ")
            assert await terminal.exit_code() == 130
        resume = [sys.executable, "-m", "agentrt", "resume"]
        async with Terminal(resume, env) as terminal:
            await terminal.until(PROMPT)
            terminal.process.kill()
        async with Terminal([*resume, "--confirm", "always"], env) as terminal:
            assert "? terminal  $ rm -rf ~/two" in await terminal.until(PROMPT)
            terminal.type("n")
            assert "│ rejected: The user said no." in await terminal.until("finished")
            assert await terminal.exit_code() == 0
    assert (tmp_path / "one").exists()
    assert (tmp_path / "two").exists()


async def test_what_a_rule_asks_about_is_not_remembered_away(tmp_path: Path) -> None:
    """A rule that allows would change nothing there, so none is offered."""
    env = home_of(tmp_path)
    added = await anyio.to_thread.run_sync(
        lambda: agentrt(tmp_path / "store", "rules", "-w", str(tmp_path / "work"), "add", "ask", "terminal", "echo *")
    )
    assert added.stdout == '1  ask terminal, command like "echo *"\n'
    async with ScriptedProvider([call("terminal", command="echo hello"), say("Done.")]) as provider:
        async with Terminal(run(provider, tmp_path, "--confirm", "never"), env) as terminal:
            asked = await terminal.until(PROMPT)
            assert 'asked because a rule says so: ask terminal, command like "echo *"' in asked
            assert "stand for" not in asked
            terminal.type("a")
            assert "  y once  n no" in await terminal.until(PROMPT)
            terminal.type("yes")
            assert await terminal.exit_code() == 0
    assert "│ hello" in terminal.text


FAMILY = """
import sys
from pathlib import Path

import anyio
from rich.console import Console

from agentrt import LLM, Agent, ConfirmRisky, Conversation, Limits, LocalWorkspace, Runtime, Tool
from agentrt.cli.asking import ask_person
from agentrt.cli.session import work
from agentrt.cli.views import LiveView
from tests.stores import rules_in

url, store, workspace = sys.argv[1:]


async def main():
    console = Console()
    agent = Agent(
        llm=LLM(model="openai/scripted", base_url=url, input_cost_per_token=1e-6, output_cost_per_token=1e-6),
        tools=(Tool("delegate"), Tool("terminal")),
        confirmation=ConfirmRisky(confirm_unknown=False),
        limits=Limits(tool_concurrency=2),
    )
    async with Runtime(store) as runtime, Conversation(
        agent, LocalWorkspace(str(workspace), confine="off"), runtime=runtime
    ) as conversation:
        await conversation.send_message("top")
        return await work(conversation, LiveView(console), console, ask_person(console), runtime.store)


sys.exit(anyio.run(main))
"""


class Family:
    """A model that delegates two tasks: one deletes two directories, the other waits until a file is there."""

    def __init__(self) -> None:
        waits = "touch waiting; until [ -e go ]; do sleep 0.05; done"
        self._plays: dict[str, list[Turn]] = {
            "top": [calls(("delegate", {"task": "tidy"}), ("delegate", {"task": "wait"})), finish("All done.")],
            "tidy": [delete("one"), delete("one"), delete("two"), finish("Tidied.")],
            "wait": [call("terminal", command=waits), finish("Waited.")],
        }

    def __call__(self, body: dict[str, Any]) -> Turn:
        task = next(message["content"] for message in body["messages"] if message["role"] == "user")
        return self._plays[task][sum(bool(message.get("tool_calls")) for message in body["messages"])]


def family(provider: ScriptedProvider, tmp_path: Path) -> list[str]:
    return [sys.executable, "-c", FAMILY, provider.base_url, str(tmp_path / "store"), str(tmp_path / "work")]


async def test_a_delegated_conversation_is_asked_about_while_another_works(tmp_path: Path) -> None:
    env = home_of(tmp_path, "one", "two")
    async with ScriptedProvider(Family()) as provider, Terminal(family(provider, tmp_path), env) as terminal:
        asked = await terminal.until(PROMPT)
        assert "? terminal  $ rm -rf ~/one\n  high: deletes outside" in asked
        assert "in the delegated task: tidy" in asked
        assert "a and p stand for" in asked
        terminal.type("a")  # so that the same is not asked again below
        assert "? terminal  $ rm -rf ~/two" in await terminal.until(PROMPT)
        assert not (tmp_path / "one").exists()
        terminal.type("keep that one")
        (tmp_path / "work" / "go").touch()
        assert await terminal.exit_code() == 0
    assert (tmp_path / "two").exists()
    assert "child 1 has 1 action to approve" in terminal.text
    assert "child 2 finished  ·  2 model calls" in terminal.text
    assert "2 delegated: 2 finished" in terminal.text
    top = min((tmp_path / "store" / "conversations").iterdir(), key=lambda path: len(path.name))
    answers = [event for event in read_conversation(top) if isinstance(event, ChildAnswered)]
    assert [(answer.approved, answer.reason) for answer in answers] == [(True, ""), (False, "keep that one")]


async def test_ctrl_c_interrupts_the_whole_tree(tmp_path: Path) -> None:
    env = home_of(tmp_path, "one", "two")
    async with ScriptedProvider(Family()) as provider, Terminal(family(provider, tmp_path), env) as terminal:
        await terminal.until(PROMPT)
        with anyio.fail_after(SECONDS):
            while not (tmp_path / "work" / "waiting").exists():
                await anyio.lowlevel.checkpoint()
        terminal.press_ctrl_c()
        await terminal.until("To go on: agentrt resume ")
        assert await terminal.exit_code() == 130
    logs = [read_conversation(path) for path in (tmp_path / "store" / "conversations").iterdir()]
    assert len(logs) == 3
    assert all(any(isinstance(event, InterruptEvent) for event in log) for log in logs)
    assert (tmp_path / "one").exists()


async def test_a_second_ctrl_c_leaves_at_once_with_the_log_as_it_is(tmp_path: Path) -> None:
    env = home_of(tmp_path)
    stubborn = call("terminal", command="trap '' INT TERM; echo begun; while :; do sleep 1; done")
    async with ScriptedProvider([stubborn, say("Done.")]) as provider:
        async with Terminal(run(provider, tmp_path), env) as terminal:
            await terminal.until("● terminal")
            terminal.press_ctrl_c()
            terminal.press_ctrl_c()
            await terminal.until("To go on: agentrt resume ")
            assert await terminal.exit_code() == 130
        ran = await anyio.to_thread.run_sync(lambda: agentrt(tmp_path / "store", "resume"))
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.usefixtures("warm_servers")
async def test_a_form_of_a_server_is_filled_in(tmp_path: Path) -> None:
    env = home_of(tmp_path)
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"demo": server_of()}}))
    words = ("--mcp", str(tmp_path / "mcp.json"), "--allow", "choose:*")
    async with ScriptedProvider([call("choose"), say("Done.")]) as provider:
        async with Terminal(run(provider, tmp_path, *words), env) as terminal:
            assert "? demo asks: Which colour?" in await terminal.until("Colour > ")
            terminal.type("")
            assert "this is needed" in await terminal.until("Colour > ")
            terminal.type("red")
            assert await terminal.exit_code() == 0
    assert "accept red" in terminal.text


@pytest.mark.real
@pytest.mark.usefixtures("warm_servers")
@pytest.mark.parametrize("answer", ["y", "n"])
async def test_a_server_has_the_model_say_something_only_where_a_person_wants_that(tmp_path: Path, answer: str) -> None:
    env = home_of(tmp_path)
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"demo": server_of()}}))
    words = ("--mcp", str(tmp_path / "mcp.json"), "--allow", "think_aloud:*")
    turns = [call("think_aloud"), *([say("Something.")] if answer == "y" else []), say("Done.")]
    async with ScriptedProvider(turns) as provider:
        async with Terminal(run(provider, tmp_path, *words), env) as terminal:
            assert "? demo asks: It wants your model" in await terminal.until("anything else: no > ")
            terminal.type(answer)
            assert await terminal.exit_code() == 0
    assert ("Something." in terminal.text) is (answer == "y")

"""The options of `agentrt run`: what each makes of the agent, and what is said of wrong ones."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from click.testing import CliRunner

from agentrt.cli.main import commands
from agentrt.events import ConversationCreated, ConversationErrorEvent, CriticAssessed, SecretsChanged
from agentrt.specs import AlwaysConfirm, Hook, HookEvent, InformationFlow, PermissionRule
from agentrt.specs.secrets import EnvironmentSecret
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, call, finish, say
from agentrt.testing.turns import Turn

from .test_main import agentrt

pytestmark = pytest.mark.real


def refused(*words: str, **environment: str) -> str:
    """What is said of a command line that is wrong."""
    ran = CliRunner().invoke(commands, ["run", "x", *words], env=environment)
    assert ran.exit_code == 2
    assert "Traceback" not in ran.stderr
    return " ".join(ran.stderr.split())


async def test_every_option_reaches_the_conversation(tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.json"
    command = {"type": "command", "command": "echo checked >&2"}
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "terminal", "hooks": [command]}]}}))
    options = [
        *("--title", "A  title", "--tag", "team=core", "--tag", "pr=1", "--goal", "it is done"),
        *("--secret", "TOKEN", "--secret", "OTHER=VALUE", "--flow", "--hooks", str(hooks)),
        *("--deny", "*git push*", "--allow", "file_editor:/tmp/*", "--confirm", "always", "--yes"),
        *("--max-steps", "7", "--max-tokens", "100000", "--max-seconds", "50"),
    ]

    def script(body: dict[str, Any]) -> Turn:
        if "it is done" in str(body["messages"]):  # the judge is asked
            return say('{"score": 0.9, "complete": true, "missing": ""}')
        called = "tool_calls" in str(body["messages"])
        return finish("Done.") if called else call("terminal", command="echo $TOKEN; git push")

    async with ScriptedProvider(script) as provider:
        where = ["--workspace", str(tmp_path), "--model", "openai/scripted", "--base-url", provider.base_url]
        ran = await anyio.to_thread.run_sync(
            partial(agentrt, tmp_path / "store", "run", "Go.", *where, *options, TOKEN="hidden-1", VALUE="hidden-2")
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (directory,) = (tmp_path / "store" / "conversations").iterdir()
    events = read_conversation(directory)
    created, state = events[0], fold(events)
    assert isinstance(created, ConversationCreated)
    agent = created.agent
    assert agent.confirmation == AlwaysConfirm()
    assert agent.flow == InformationFlow()
    assert agent.rules == (
        PermissionRule("deny", "terminal", "*git push*", "command"),
        PermissionRule("allow", "file_editor", "/tmp/*", "path"),
    )
    assert agent.hooks == (Hook(event=HookEvent.BEFORE_TOOL, command="echo checked >&2", matcher="terminal"),)
    assert (agent.limits.max_steps, agent.limits.max_tokens, agent.limits.max_seconds) == (7, 100000, 50)
    (secrets,) = [event.secrets for event in events if isinstance(event, SecretsChanged)]
    assert secrets == {"TOKEN": EnvironmentSecret("TOKEN"), "OTHER": EnvironmentSecret("VALUE")}
    assert (state.ledger.title, state.ledger.tags) == ("A title", {"team": "core", "pr": "1"})
    assert any(isinstance(event, CriticAssessed) for event in events)
    assert "rejected: A rule denies terminal with command like *git push*" in ran.stdout
    assert "goal reached" in ran.stdout.splitlines()[-1]
    assert "hidden-" not in ran.stdout


@pytest.mark.long
async def test_a_budget_is_kept_and_more_of_it_granted(tmp_path: Path) -> None:
    """A model of unknown price is not begun with; with a known one `resume --grant` goes on."""
    async with ScriptedProvider([call("terminal", command="echo one"), finish("Done.")]) as provider:
        llm = provider.llm(output_cost_per_token=1e-4, max_output_tokens=100)
        profile = tmp_path / "profile.json"
        profile.write_bytes(msgspec.json.encode(llm))
        store, where = tmp_path / "store", ("--workspace", str(tmp_path))
        model = ("--model", "openai/scripted", "--base-url", provider.base_url)
        unknown = await anyio.to_thread.run_sync(
            partial(agentrt, store, "run", "Go.", *where, *model, "--max-cost", "1")
        )
        assert unknown.returncode == 2
        assert "--max-cost cannot be enforced" in unknown.stderr
        assert provider.requests == []
        await anyio.to_thread.run_sync(
            partial(agentrt, store, "profile", "save", "priced", "--from-json", str(profile))
        )
        poor = await anyio.to_thread.run_sync(
            partial(agentrt, store, "run", "Go.", *where, "--profile", "priced", "--max-cost", "0.0001")
        )
        assert poor.returncode == 1
        (onward,) = [line for line in poor.stdout.splitlines() if line.startswith("To go on: ")]
        assert onward.endswith(" --grant USD")
        rich = await anyio.to_thread.run_sync(partial(agentrt, store, "resume", onward.split()[5], "--grant", "1"))
    assert rich.returncode == 0, rich.stdout
    assert "$1.00 more may be spent" in agentrt(store, "show").stdout
    events = read_conversation(store / "conversations" / onward.split()[5])
    assert any(isinstance(event, ConversationErrorEvent) and event.code == "max_cost" for event in events)


async def test_a_limit_that_was_reached_can_be_raised(tmp_path: Path) -> None:
    async with ScriptedProvider([finish("Done.")]) as provider:
        given = ("run", "Go.", "--workspace", str(tmp_path), "--model", "openai/x", "--base-url", provider.base_url)
        store = tmp_path / "store"
        poor = await anyio.to_thread.run_sync(partial(agentrt, store, *given, "--max-tokens", "5"))
        assert poor.returncode == 1
        (onward,) = [line for line in poor.stdout.splitlines() if line.startswith("To go on: ")]
        assert onward.endswith(" --max-tokens N")
        name = onward.split()[5]
        more = await anyio.to_thread.run_sync(partial(agentrt, store, "resume", name, "--max-tokens", "1000000"))
        assert more.returncode == 0, more.stdout
        again = await anyio.to_thread.run_sync(partial(agentrt, store, "resume", name))
        assert "it has finished: say what more there is to do with --message" in again.stdout
        empty = await anyio.to_thread.run_sync(partial(agentrt, store, "run", " "))
    assert (empty.returncode, "the task is empty" in empty.stderr) == (2, True)


@pytest.mark.pure
def test_no_value_of_a_secret_is_taken_from_the_command_line_or_shown() -> None:
    for given in ("TOKEN=s3cr3t", "s3cr3t", "TOKEN="):
        said = refused("--secret", given)
        assert "never given on the command line" in said
        assert "s3cr3t" not in said
    assert "the variable for TOKEN is not set" in refused("--secret", "TOKEN=EMPTY", EMPTY="")


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tag", "team"), "'team' has no value: write team=VALUE"),
        (("--tag", "Team=x"), "'Team' cannot be the key of a tag"),
        (("--deny", "docker:x"), "unknown tool 'docker'"),
        (("--max-cost", "0"), "0.0 is not an amount: give a number above 0"),
        (("--max-seconds", "nan"), "nan is not an amount"),
        (("--confirm", "sometimes"), "'sometimes' is not one of 'risky', 'always', 'never'"),
        (("--hooks", "/nonexistent.json"), "cannot read /nonexistent.json: No such file or directory"),
    ],
)
def test_a_wrong_option_is_said_at_once(words: tuple[str, ...], said: str) -> None:
    assert said in refused(*words)


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "hooks.json: Input data was truncated"),
        ('{"PreTool": []}', "hooks.json: no hooks run at 'PreTool': hooks run at before_tool"),
        ('{"Stop": [{"hooks": [{"type": "http"}]}]}', "a hook of type 'http' cannot be run"),
        ('{"Stop": [{"hooks": [{"command": "x", "if": "y"}]}]}', "Object contains unknown field `if`"),
    ],
)
def test_hooks_that_cannot_be_are_said_with_their_file(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "hooks.json").write_text(text)
    assert said in refused("--hooks", str(tmp_path / "hooks.json"))


@pytest.mark.pure
def test_help_says_what_each_option_does() -> None:
    help_of = {
        name: CliRunner().invoke(commands, [name, "--help"]).stdout for name in ("run", "resume", "rules", "ask")
    }
    for option in ("--confirm", "--max-cost USD", "--max-tokens", "--max-seconds", "--goal", "--hooks FILE"):
        assert option in help_of["run"]
    for option in ("--secret NAME", "--flow", "--deny PATTERN", "--allow PATTERN", "--title", "--tag KEY=VALUE"):
        assert option in help_of["run"]
    for option in ("--confirm", "--grant USD", "--yes", "--message", "--max-tokens", "--max-steps"):
        assert option in help_of["resume"]
    for command in ("  add ", "  remove "):
        assert command in help_of["rules"]
    assert "besides its task" in help_of["ask"]

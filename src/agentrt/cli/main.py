"""The commands of `agentrt`."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import click
from rich.console import Console
from rich.text import Text

from .. import __version__
from ..conversation import Conversation
from ..errors import AgentrtError, MissingKey
from ..runtime import Runtime
from ..specs import Agent, ConfirmRisky, Limits
from ..state import fold
from ..storage import read_conversation
from .demo import demo as run_demo
from .finding import find
from .lineage import delete, fork
from .listing import list_, search
from .log import log
from .options import store_option
from .profiles import base_url_option, chosen_llm, model_option, profile_option
from .profiles import profile as profile_commands
from .session import approve, ask_person, refuse, work
from .story import Story, summary
from .views import JsonView, view_for

_json = click.option("--json", "as_json", is_flag=True, help="Print one event a line, as JSON.")
_yes = click.option("--yes", is_flag=True, help="Run risky actions without asking.")


def main() -> None:
    """The entry point; every expected error is one line and exit code 2."""
    try:
        commands(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except AgentrtError as error:
        hint = "\nTo see it work without a key: agentrt demo" if isinstance(error, MissingKey) else ""
        click.echo(f"agentrt: {error}{hint}", err=True)
        sys.exit(2)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="agentrt")
def commands() -> None:
    """Run software agents, with every event on disk before you see it.

    Start with `agentrt demo`: it needs no key and no network.
    """


@commands.command()
@click.argument("task")
@click.option(
    "--workspace",
    "-w",
    type=click.Path(path_type=Path),
    default=Path("."),
    help="The directory to work in. Default: this one.",
)
@model_option
@base_url_option
@profile_option
@click.option(
    "--max-steps", type=click.IntRange(1), default=Limits().max_steps, show_default=True, help="Model calls at most."
)
@_yes
@_json
@store_option
def run(
    task: str,
    workspace: Path,
    model: str | None,
    base_url: str | None,
    profile: str | None,
    max_steps: int,
    yes: bool,
    as_json: bool,
    store: Path | None,
) -> None:
    """Give an agent a TASK and watch it work.

    Actions that are rated risky are asked about first; without a terminal they are rejected, unless --yes is given.
    Ctrl-C interrupts; what was done so far is kept and can be resumed.
    """
    llm = chosen_llm(model, base_url, profile, store)
    agent = Agent(llm=llm, analyzer="rules", confirmation=ConfirmRisky(), limits=Limits(max_steps=max_steps))

    async def begin(console: Console) -> int:
        async with Runtime(store) as runtime:
            with console.status(Text("loading the model client", "dim")):
                await runtime.client.prepare(llm)
            async with Conversation(agent, workspace, runtime=runtime) as conversation:
                created = conversation.state.created
                assert created is not None
                console.print(Text(f"conversation {conversation.id} in {created.workspace.path}", "dim"))
                await conversation.send_message(task)
                return await work(conversation, view_for(console, as_json=as_json), console, _answer(console, yes))

    _drive(begin, as_json)


@commands.command()
@click.argument("conversation", required=False)
@click.option("--message", "-m", default=None, help="Something to say first.")
@_yes
@_json
@store_option
def resume(conversation: str | None, message: str | None, yes: bool, as_json: bool, store: Path | None) -> None:
    """Go on with a CONVERSATION where it stands; without an id, with the newest one."""
    directory = find(conversation, store)

    async def go_on(console: Console) -> int:
        async with Conversation(id=directory.name, store=store) as live:
            view = view_for(console, as_json=as_json)
            if message is not None:
                await live.send_message(message)
            return await work(live, view, console, _answer(console, yes))

    _drive(go_on, as_json)


@commands.command()
@click.argument("conversation", required=False)
@click.option("--all", "whole", is_flag=True, help="Do not fold long results.")
@click.option("--at", type=click.IntRange(1), default=None, help="As it was after this event. Default: now.")
@_json
@store_option
def show(conversation: str | None, whole: bool, at: int | None, as_json: bool, store: Path | None) -> None:
    """Print a CONVERSATION (an id, a directory, or the newest one). It is only read, also while it runs."""
    events = read_conversation(find(conversation, store), at)
    if as_json:
        for event in events:
            JsonView().show(event)
        return
    console, story = Console(), Story(folded=not whole)
    for event in events:
        for line in story.tell(event):
            console.print(line, soft_wrap=True)
    console.print(summary(fold(events)))


@commands.command()
@click.option(
    "--pace", type=click.FloatRange(0, 1), default=0.02, show_default=True, help="Seconds between streamed pieces."
)
@_json
@store_option
def demo(pace: float, as_json: bool, store: Path | None) -> None:
    """Watch an agent mend a small project, without a key and without a network.

    The model's words are scripted; the HTTP, the shell, the files, the test runs and the log are real.
    """
    _drive(lambda console: run_demo(view_for(console, as_json=as_json), console, pace=pace, store=store), as_json)


commands.add_command(delete)
commands.add_command(fork)
commands.add_command(list_)
commands.add_command(log)
commands.add_command(profile_commands)
commands.add_command(search)


def _drive(begin: Callable[[Console], Awaitable[int]], as_json: bool) -> None:
    console = Console(stderr=as_json)
    sys.exit(anyio.run(begin, console))


def _answer(console: Console, yes: bool) -> Any:
    if yes:
        return approve
    return ask_person(console) if sys.stdin.isatty() and console.is_terminal else refuse

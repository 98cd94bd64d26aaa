"""The commands of `agentrt`."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import click
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from .. import __version__
from ..conversation import Conversation
from ..errors import AgentrtError, LogCorrupt, MissingKey
from ..events import Cursor, Event, ExecutionStatus
from ..runtime import Runtime
from ..specs import ConfirmationPolicy
from ..specs.llm import members
from ..specs.workspace import Confine
from ..state import fold
from ..storing import Gap
from .agents import agents
from .asking import Answer, approve, ask_person, refuse
from .browser import browser
from .chat import chat
from .consenting import offer_consent
from .context import context
from .defaults import MODELS
from .diff import diff
from .doctor import doctor
from .finding import Found, find, place, reopened
from .forms import Fill, decline, fill_in
from .help import Commands
from .keys import keys
from .labels import rename, tag
from .lineage import delete, fork
from .listing import list_, search
from .log import log
from .mcp import mcp
from .models import models
from .options import (
    Beginning,
    agent_of,
    agent_options,
    beginning_options,
    check_price,
    confirm_option,
    grant_option,
    json_option,
    limit_options,
    store_option,
    yes_option,
)
from .own_tools import offered_tools, own_tools, tools_option
from .places import place_of, place_options, workspace_option
from .profiles import profile
from .rules import rules
from .serve import serve
from .servers import secrets_of
from .session import work
from .skills import skills
from .story import Story, gap_line, summary
from .views import JsonView, view_for
from .wording import clean

NO_KEY = f"""
Without --model, the key that is set chooses it: {", ".join(MODELS)}.
A model of your own needs no key: --model openai/NAME --base-url http://HOST:PORT/v1
To see an agent work without a model: agentrt demo"""

COMPACT = "/compact"
"""The message that asks for a summary in place of the older part of the conversation."""


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line, with the given words in place of those of the process; each expected error is one line and
    exit code 2.
    """
    try:
        commands(words, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except AgentrtError as error:
        hint = NO_KEY if isinstance(error, MissingKey) else ""
        click.echo(f"agentrt: {error}{hint}", err=True)
        sys.exit(2)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="agentrt")
def commands() -> None:
    """Run software agents, with every event on disk before you see it.

    Start with `agentrt demo`: it needs no key and no network.
    """


@commands.command()
@click.argument("task")
@workspace_option
@place_options
@agent_options
@tools_option
@beginning_options
@yes_option
@json_option
@store_option
def run(
    task: str,
    workspace: Path,
    image: str | None,
    network: str | None,
    confine: Confine | None,
    beginning: Beginning,
    own: tuple[str, ...],
    yes: bool,
    as_json: bool,
    store: str | None,
    **agent: Any,
) -> None:
    """Give an agent a TASK and watch it work. If TASK is -, it is read from standard input.

    You are asked about actions that are rated risky: y runs the action; a and p also run the same from now on; n or a
    reason refuses it; q stops. Without a terminal they are rejected and the model is told why, unless --yes is given.
    Ctrl-C interrupts; the work so far is kept and can be resumed.

    \b
    agentrt run "Fix the tests" --max-cost 2 --goal "All tests pass"
    agentrt run "Tidy up" --deny "*git push*" --allow "git commit *" --confirm always
    agentrt run "Make the release notes" --secret GITHUB_TOKEN --flow --hooks hooks.json
    agentrt run "Try the new release of our parser" --image python:3.13 --network bridge
    agentrt run "How warm is it in Oslo?" --tools weather:forecast
    git diff | agentrt run - --confirm always
    """
    task = _read() if task == "-" else task
    if not task.strip():
        raise click.UsageError("the task is empty: describe what to do")
    spec, place = agent_of(store=store, **agent), place_of(workspace, image, network, confine)
    tools = own_tools(own)

    async def begin(console: Console) -> int:
        async with Runtime(store, tools=offered_tools(), home=Path.home()) as runtime:
            with console.status(Text("loading the model client", "dim")):
                await runtime.client.prepare(spec.llm)
            check_price(spec, runtime.client)
            async with Conversation(
                spec, place, runtime=runtime, tools=tools, secrets={**secrets_of(agent["servers"]), **beginning.secrets}
            ) as conversation:
                created = conversation.state.created
                assert created is not None
                where = f"conversation {conversation.id} in {created.workspace.path}, with {members(spec.llm)[0].model}"
                console.print(Text(clean(where), "dim"), soft_wrap=True)
                await beginning.of(conversation)
                asks = not yes and sys.stdin.isatty() and console.is_terminal
                await offer_consent(conversation, console, ask=asks, store=store)
                await conversation.send_message(task)
                view = view_for(console, as_json=as_json)
                return await work(conversation, view, console, _answer(console, yes=yes), runtime.store, _fill(console))

    _drive(begin, as_json)


@commands.command()
@click.argument("conversation", required=False)
@click.option("--message", "-m", default=None, help="A message to send first.")
@confirm_option(None)
@grant_option
@limit_options
@tools_option
@yes_option
@json_option
@store_option
def resume(
    conversation: str | None,
    message: str | None,
    own: tuple[str, ...],
    confirm: ConfirmationPolicy | None,
    grant: float | None,
    yes: bool,
    as_json: bool,
    store: str | None,
    **limits: Any,
) -> None:
    """Continue a CONVERSATION from its current state; without an id, the newest one.

    You are asked again about what is pending, as by `agentrt run`. The message /compact replaces the older part of the
    conversation with a summary.
    """
    found = find(conversation, store)
    changed = {name: value for name, value in limits.items() if value is not None}
    tools = own_tools(own)

    async def go_on(console: Console) -> int:
        async with _runtime_of(found) as runtime, reopened(found, runtime, tools) as live:
            view = view_for(console, as_json=as_json)
            if confirm is not None:
                await live.set_confirmation_policy(confirm)
            if changed:
                limits = replace(live.state.spec.limits, **changed)
                await runtime.client.prepare(live.state.spec.llm)
                check_price(replace(live.state.spec, limits=limits), runtime.client)
                await live.configure(limits=limits)
            if grant is not None:
                await live.grant(grant)
            if message is not None and message.strip() == COMPACT:
                await live.condense()
            elif message is not None:
                await live.send_message(message)
            elif live.state.status is ExecutionStatus.FINISHED:
                console.print(Text("it has finished: say what more there is to do with --message", "dim"))
            return await work(live, view, console, _answer(console, yes=yes), runtime.store, _fill(console))

    _drive(go_on, as_json)


@commands.command()
@click.argument("conversation")
@click.argument("question")
@tools_option
@store_option
def ask(conversation: str, question: str, own: tuple[str, ...], store: str | None) -> None:
    """Ask the agent of a CONVERSATION a QUESTION, besides its task.

    It answers from what it has seen. No tool is run, and the history does not change; only the cost is added. While
    another process runs the conversation, ask that process instead.
    """
    found = find(conversation, store)

    async def answered() -> str:
        async with _runtime_of(found) as runtime, reopened(found, runtime, own_tools(own)) as live:
            return await live.ask_agent(question)

    click.echo(clean(anyio.run(answered)) or "(it answered in no words)")


@commands.command()
@click.argument("conversation", required=False)
@click.option("--all", "whole", is_flag=True, help="Do not fold long results.")
@click.option("--at", type=place, default=None, help="Show the conversation as it was after this event. Default: now.")
@json_option
@store_option
def show(conversation: str | None, whole: bool, at: Cursor | None, as_json: bool, store: str | None) -> None:
    """Print a CONVERSATION (an id, a directory, or the newest one). It is only read, even while it runs.

    Of a damaged log, it prints the intact events, with the gaps marked, and exits with an error.
    """
    found = find(conversation, store)
    damage: LogCorrupt | None = None
    items: Sequence[Event | Gap]
    try:
        items = events = found.events() if at is None else found.events_at(at)
    except LogCorrupt as corrupt:
        items, events, damage = found.intact(), [], corrupt
    console, story = Console(), Story(folded=not whole)
    for item in items:
        if isinstance(item, Gap):
            (Console(stderr=True) if as_json else console).print(gap_line(item), soft_wrap=True)
        elif as_json:
            JsonView().show(item)
        else:
            for line in story.tell(item):
                console.print(line, soft_wrap=True)
    if damage is not None:
        raise damage
    if not as_json:
        console.print(summary(fold(events)))


@commands.command()
@click.option(
    "--pace", type=click.FloatRange(0, 1), default=0.02, show_default=True, help="Seconds between streamed pieces."
)
@click.option("--ask", is_flag=True, help="Be asked about each action, as with `agentrt run --confirm always`.")
@json_option
@store_option
def demo(pace: float, ask: bool, as_json: bool, store: str | None) -> None:
    """Watch an agent fix a small project, without a key and without a network.

    The model's replies are scripted; the HTTP, the shell, the files, the test runs and the log are real.
    """
    if ask and not (sys.stdin.isatty() and sys.stdout.isatty() and not as_json):
        raise click.UsageError("--ask needs a terminal, and no --json")
    from .demo import demo as run_demo  # with an HTTP server, which takes longer to import than all the rest

    _drive(
        lambda console: run_demo(view_for(console, as_json=as_json), console, pace=pace, ask=ask, store=store), as_json
    )


for command in (
    agents,
    browser,
    chat,
    context,
    delete,
    diff,
    doctor,
    fork,
    keys,
    list_,
    log,
    mcp,
    models,
    profile,
    rename,
    rules,
    search,
    serve,
    skills,
    tag,
):
    commands.add_command(command)


def _runtime_of(found: Found) -> Runtime:
    """Return a runtime with the storage that holds a conversation."""
    return Runtime(found.store, tools=offered_tools(), home=Path.home())


def _read() -> str:
    """Return all of standard input. Raises `click.UsageError` if it is not text."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(
            f"the task on standard input is not text in UTF-8 (byte {error.start + 1}): convert it first, as with iconv"
        ) from error


def _drive(begin: Callable[[Console], Awaitable[int]], as_json: bool) -> None:
    console = Console(stderr=as_json)
    sys.exit(anyio.run(begin, console))


def _answer(console: Console, *, yes: bool) -> Answer:
    if yes:
        return approve
    return ask_person(console) if _is_there(console) else refuse


def _fill(console: Console) -> Fill:
    return fill_in(console) if _is_there(console) else decline


def _is_there(console: Console) -> bool:
    """Return whether a person is at the terminal."""
    return sys.stdin.isatty() and console.is_terminal

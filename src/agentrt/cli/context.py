"""`agentrt context`: what an agent is told besides its task, and which programs a person has agreed to."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..context.resolving import Resolved
from ..context.usage import ContextUsage, context_usage
from ..errors import WorkspaceMissing
from ..events import ContextResolved
from ..llm.profiles import saved_profile
from ..sources.consents import KIND, agree, withdraw
from ..sources.resolver import Resolver
from ..specs import LLM, Agent, AgentContext, AnyLLM, LocalWorkspace, PluginSource, ToolDefinition
from ..specs.condensers import summarizers
from ..specs.context import Offer
from ..specs.llm import members
from ..state import fold
from ..storage import default_store, open_storage
from ..tools import BUILT_IN
from .defaults import default_model
from .finding import find
from .listing import PIPED
from .options import plugin_option, store_option
from .permissions import rule_words
from .places import workspace_option
from .wording import clean, count


class Place(msgspec.Struct, frozen=True):
    """A workspace and its plugins, whose context is meant."""

    store: str | None
    workspace: str
    plugins: tuple[PluginSource, ...] = ()

    def resolved(self) -> Resolved:
        """Return what an agent would be told in the workspace now."""

        async def resolve() -> Resolved:
            async with open_storage(self.store, lazy=True) as storage:
                cache = Path(next(iter(storage.places), default_store()))
                home = Path.home()
                resolver = Resolver(home, cache, storage.shelf, saved_profile)
                context = AgentContext(load_user_skills=True, plugins=self.plugins)
                agent = Agent(llm=LLM(model=default_model(os.environ)), context=context)
                return await resolver.resolve(agent, LocalWorkspace(self.workspace), known_tools())

        return anyio.run(resolve)

    def offer(self, digest: str) -> Offer:
        """Return the offer that waits for consent. Raises `click.UsageError` if there is none with this digest."""
        found = [offer for offer in self.resolved().event.offers if digest and offer.digest.startswith(digest)]
        if len(found) != 1:
            raise click.UsageError(f"nothing here has the digest {digest!r}: 'agentrt context' lists what there is")
        return found[0]


def known_tools() -> Mapping[str, ToolDefinition]:
    """Return the tools that every agent may name."""
    return {name: kind.definition for name, kind in BUILT_IN.items()}


@click.group(invoke_without_command=True)
@workspace_option
@plugin_option
@store_option
@click.pass_context
def context(given: click.Context, workspace: Path, plugins: tuple[PluginSource, ...], store: str | None) -> None:
    """Show what an agent is told in a workspace besides its task: instructions, skills, agents, memory and plugins.

    Each is shown with its source, when the agent sees it, and about how many tokens it takes. Programs from a project
    or a plugin run only after you have agreed to them; after a change you are asked again.

    \b
    agentrt context
    agentrt context show 01a2        what fills a conversation's window, and what it was told
    agentrt context agree 3f2c       allow the hooks of the project to run
    """
    if not workspace.is_dir():
        raise WorkspaceMissing(workspace.absolute())
    given.obj = place = Place(store, str(workspace.absolute()), plugins)
    if given.invoked_subcommand is None:
        told = place.resolved()
        show(told.event, told.event.offers, plugins)


@context.command(name="show")
@click.argument("conversation", required=False)
@click.pass_obj
def show_(place: Place, conversation: str | None) -> None:
    """Show what fills the window of a CONVERSATION (an id, a directory, or the newest one), and what it was told.

    Only its log is read.
    """
    state = fold(find(conversation, place.store).events())
    show_usage(context_usage(state))
    if state.context is not None:
        show(state.context, state.unagreed)


@context.command(name="agree")
@click.argument("digest")
@click.pass_obj
def agree_(place: Place, digest: str) -> None:
    """Allow the programs with this DIGEST, or its unique beginning, to run: `agentrt context` lists them."""
    offer = place.offer(digest)

    async def agreed() -> None:
        async with open_storage(place.store) as storage:
            await agree(storage.shelf, offer)

    anyio.run(agreed)
    click.echo(f"agreed: new conversations run the programs of {clean(offer.name)!r}")


@context.command(name="withdraw")
@click.argument("digest")
@click.pass_obj
def withdraw_(place: Place, digest: str) -> None:
    """Withdraw consent to the programs with this DIGEST. Conversations that began with them keep them."""

    async def withdrawn() -> list[str]:
        async with open_storage(place.store) as storage:
            found = [name for name in await storage.shelf.names(KIND) if digest and name.startswith(digest)]
            for name in found:
                await withdraw(storage.shelf, name)
            return found

    found = anyio.run(withdrawn)
    if not found:
        raise click.UsageError(f"nothing with the digest {digest!r} was agreed to")
    click.echo("withdrawn: you will be asked again")


def show_usage(used: ContextUsage, console: Console | None = None) -> None:
    """Print what fills a model's context window, one line for each kind."""
    console = console or _console()
    if not used.parts:
        console.print("the model was not called yet")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("in the window", "events", "tokens", "share"):
        table.add_column(column, justify="left" if column == "in the window" else "right", overflow="fold")
    for part in used.parts:
        share = f"{part.tokens / max(used.tokens, 1):.0%}"
        table.add_row(Text(clean(f"{part.kind} {part.name}".strip())), f"{part.events:,}", f"{part.tokens:,}", share)
    console.print(table)
    window = f" of {used.window:,} ({used.tokens / used.window:.0%})" if used.window else ""
    bounds = [f"{most:,} {of}" for most, of in ((used.max_tokens, "tokens"), (used.max_events, "events")) if most]
    console.print(Text(f"about {used.tokens:,} tokens{window} in {count(used.events, 'event')}", "dim"))
    console.print(Text(f"condensed from {' or '.join(bounds)} on" if bounds else "it is not condensed", "dim"))
    console.print()


def _console() -> Console:
    return Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=PIPED)


def show(told: ContextResolved, offers: Sequence[Offer], plugins: Sequence[PluginSource] = ()) -> None:
    """Print what an agent is told, what waits for consent, and what could not be used."""
    console = _console()
    if told.sources:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in ("kind", "name", "from", "tokens", "when"):
            table.add_column(column, justify="right" if column == "tokens" else "left", overflow="fold")
        for source in told.sources:
            missing = f" (not available: {', '.join(source.missing)})" if source.missing else ""
            cells = (source.kind, source.name, source.path or source.origin, str(source.tokens), source.when + missing)
            table.add_row(*(Text(clean(cell)) for cell in cells))
        console.print(table)
        always = sum(source.tokens for source in told.sources if source.when in ("always", "listed"))
        console.print(Text(f"about {count(always, 'token')} in every prompt", "dim"))
    else:
        console.print("nothing but the facts of the place")
    for line in offered(offers, plugins):
        console.print(line, soft_wrap=True)
    for problem in told.problems:
        console.print(Text(f"! {clean(problem.path)}: {clean(problem.what)}", "yellow"), soft_wrap=True)


def _brings(offer: Offer) -> str:
    if offer.hooks or offer.servers or offer.commands:
        return "brings programs that do not run yet"
    if offer.by:
        return f"was written by {clean(offer.by)} through the server and does not instruct the agent yet"
    if offer.condenser is not None:
        return "would have a model of its own read what its agent does"
    return "would have calls run without asking you"


def _model_words(llm: AnyLLM) -> str:
    """Return the models with their addresses, and the variables with their keys."""
    return ", ".join(
        one.model
        + (f" at {one.base_url}" if one.base_url else "")
        + (f" with the key in {one.api_key_env}" if one.api_key_env else "")
        for one in members(llm)
    )


def offered(offers: Sequence[Offer], plugins: Sequence[PluginSource] = (), store: str | None = None) -> list[Text]:
    """Print which programs a project or a plugin brings, and how to agree to them."""
    at = f" --store {clean(store)}" if store else ""
    lines = []
    for offer in offers:
        if offer.agreed:
            continue
        lines.append(Text(f"? {clean(offer.name)} ({clean(offer.path)}) {_brings(offer)}:", "yellow"))
        for hook in offer.hooks:
            words = hook.command or hook.prompt or hook.agent or hook.function or ""
            lines.append(Text(f"    {hook.event.value} {clean(hook.matcher)}: {clean(words)}"))
        for name, server in offer.servers.items():
            given_too = {**server.env, **server.headers}
            given_it = ", ".join(f"{key}={value}" for key, value in given_too.items())
            needs = f" (is given {given_it})" if given_it else ""
            lines.append(Text(f"    MCP server {clean(name)}: {clean(server.where)}{clean(needs)}"))
        for llm in summarizers(offer.condenser) if offer.condenser is not None else ():
            lines.append(Text(f"    sends the agent's conversations to {clean(_model_words(llm))}"))
        lines += [Text(f"    command: {clean(command)}") for command in offer.commands]
        lines += [Text(f"    rule: {clean(rule_words(rule))}") for rule in offer.rules]
        lines += [Text(f"    approves calls of {clean(tool)} while the skill is followed") for tool in offer.tools]
        given = "".join(f" --plugin {one.source}{'#' if one.ref else ''}{one.ref}" for one in plugins)
        lines.append(Text(f"  to have them run: agentrt context{clean(given)}{at} agree {offer.digest[:12]}", "dim"))
    return lines

"""`Resolver`: reads what an agent is told besides its task, and converts it to what its conversation logs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio.to_thread
from msgspec.structs import replace

from ..context.prompt import family
from ..context.resolving import Profiles, Resolved, joined, resolved
from ..errors import ConfigurationError
from ..specs import Agent, ToolDefinition, WorkspaceSpec
from ..specs.context import AgentContext, ContextProblem, Document, Gathered, Offer, PluginSource
from ..state import State
from ..storing import Shelf
from .consents import agreed_to
from .fetching import Fetched, fetched_plugins
from .gathering import gather
from .hook_files import meant
from .memory import memories_of
from .offers import offering
from .writings import Withheld, concerns, withheld, written

PLUGINS = "plugins"


Resolve = Callable[[Agent, WorkspaceSpec, Mapping[str, ToolDefinition], str | None], Awaitable[Resolved]]
"""Reads what an agent is told in a workspace, given the available tools and the owner of the conversation.

Raises `ConfigurationError`.
"""


Problems: TypeAlias = list[ContextProblem]

Read: TypeAlias = Callable[..., Gathered]
"""Reads all files, except those with the paths `hidden`, which is an optional argument. For a thread."""


class Resolver:
    """Reads the files of a workspace, of the user's `home` if it is given, and of plugins, which are fetched into the
    directory `cache`. `profile` looks up the user's named models.
    """

    def __init__(self, home: Path | None, cache: Path, shelf: Shelf, profile: Profiles) -> None:
        self._home, self._cache, self._shelf, self._profile = home, cache, shelf, profile

    async def resolve(
        self,
        agent: Agent,
        workspace: WorkspaceSpec,
        tools: Mapping[str, ToolDefinition],
        owner: str | None = None,
        copy: Path | None = None,
        unread: Sequence[ContextProblem] = (),
    ) -> Resolved:
        """Return what an agent is told in a workspace; files that cannot be read are among the problems of its event.

        `copy` has the files of a workspace that this machine does not see, and `unread` says what it lacks; without it
        one is made. Raises `ConfigurationError` if the storage cannot say what a person has agreed to.
        """
        if copy is None and not workspace.seen_here:
            from .near import near  # few workspaces are such

            async with near(workspace) as (made, why):
                return await self.resolve(agent, workspace, tools, owner, made, why)
        context = agent.context or AgentContext(load_user_skills=self._home is not None)
        home = (self._home or Path.home()) if context.load_user_skills else None
        problems: Problems = [*unread]
        plugins = await self._fetched(context.plugins, workspace, problems)
        gathered = partial(gather, context, workspace, home, family(agent.llm), plugins, owner, self._cache)
        memory: tuple[Document, ...] = ()
        if owner is not None and context.load_memory:
            memory = tuple([document async for document in memories_of(owner, context, workspace, self._shelf)])

        def read(hidden: Collection[str] = frozenset()) -> Gathered:
            found = gathered(hidden=hidden, copy=copy)
            return replace(found, problems=(*problems, *found.problems), memory=memory or found.memory)

        known = await written(self._shelf) if owner is not None else frozenset[str]()

        def resolved_at_once() -> Gathered | Resolved | None:
            found = read()
            if owner is not None and concerns(found, known):
                return None
            found = offering(found, workspace.directory, tools)
            return found if found.offers else self._told(agent, context, found, (), tools)

        found = await anyio.to_thread.run_sync(resolved_at_once)
        if isinstance(found, Resolved):
            return found
        if found is None:
            parted = await self._for_owner(read, owner, workspace.directory)
            found = await anyio.to_thread.run_sync(offering, parted, workspace.directory, tools)
        agreed = await agreed_to(self._shelf, found.offers)
        return await anyio.to_thread.run_sync(self._told, agent, context, found, agreed, tools)

    async def _for_owner(self, read: Read, owner: str | None, workspace: str) -> Gathered:
        """Return what is read for an owner. What another one wrote is an offer, and gives way to what it would hide."""
        found, parted = await anyio.to_thread.run_sync(read), Withheld()
        while owner is not None:
            hidden, parted = parted.hidden, await withheld(found, self._shelf, owner, workspace, parted)
            if parted.hidden == hidden:
                break
            found = await anyio.to_thread.run_sync(partial(read, hidden=parted.hidden))
        offers = {offer.digest: offer for offer in parted.offers}
        return replace(
            found,
            writers=parted.writers,
            offers=(*found.offers, *offers.values()),
            problems=(*found.problems, *parted.problems),
        )

    async def with_plugin(self, state: State, source: PluginSource, tools: Mapping[str, ToolDefinition]) -> Resolved:
        """Return what a conversation is told with one more plugin; what it was told before stays.

        Raises `ConfigurationError` for a plugin that cannot be read.
        """
        assert state.created is not None
        workspace = state.created.workspace
        plugins = await fetched_plugins(source, self._cache / PLUGINS, Path(workspace.directory))
        alone = AgentContext(load_project_skills=False, load_memory=False)
        read = partial(gather, alone, workspace, None, "", plugins)
        found = await self._for_owner(read, state.created.owner, workspace.directory)
        found = await anyio.to_thread.run_sync(offering, found, workspace.directory, tools)
        if not found.plugins:
            raise ConfigurationError(found.problems[-1].what if found.problems else f"{source.source} is not a plugin")
        agreed = await agreed_to(self._shelf, found.offers)
        return joined(state, await anyio.to_thread.run_sync(self._told, state.spec, alone, found, agreed, tools))

    def _told(
        self,
        agent: Agent,
        context: AgentContext,
        found: Gathered,
        agreed: Collection[str],
        tools: Mapping[str, ToolDefinition],
    ) -> Resolved:
        """For a thread: looking a tool up may import it."""
        agents = tuple(replace(file, hooks=meant(file.hooks, tools.values())) for file in found.agents)
        found = replace(found, agents=agents, offers=tuple(_meant(offer, tools) for offer in found.offers))
        return resolved(agent, context, found, agreed, partial(tool_named, tools), self._profile)

    async def _fetched(
        self, sources: Sequence[PluginSource], workspace: WorkspaceSpec, problems: Problems
    ) -> list[Fetched]:
        plugins: list[Fetched] = []
        for source in sources:
            try:
                plugins += await fetched_plugins(source, self._cache / PLUGINS, Path(workspace.directory))
            except (ConfigurationError, OSError, ValueError) as error:
                problems.append(ContextProblem(source.source, str(error)))
        return plugins


def _meant(offer: Offer, tools: Mapping[str, ToolDefinition]) -> Offer:
    return replace(offer, hooks=meant(offer.hooks, tools.values()))


def tool_named(tools: Mapping[str, ToolDefinition], name: str) -> str | None:
    """Return the name of the tool with this name or alias; None if there is none."""
    if name in tools:
        return name
    plain = name.replace("-", "_").lower()
    for tool in tools.values():
        if plain == tool.name or plain in tool.aliases or plain in tool.parts:
            return tool.name
    return None

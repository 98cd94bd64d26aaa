"""Opening the child conversations that a conversation delegates to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from ..actors.children import Children
from ..actors.group import ConversationGroup
from ..decisions import share_of
from ..errors import ConversationMissing
from ..ledger import Child
from ..placing import Place
from ..protocols import ModelClient
from ..secrets import SecretRegistry
from ..specs import Agent, WorkspaceSpec
from ..state import State
from ..tools import ToolType
from .hosts import Hosts
from .opening import Opening


class Beginning(Protocol):
    """Begins and opens child conversations, and has the client of their models."""

    client: ModelClient
    hosts: Hosts

    async def create(
        self,
        agent: Agent,
        workspace: WorkspaceSpec,
        conversation_id: str | None = None,
        tools: Sequence[ToolType] = (),
        secrets: SecretRegistry | None = None,
        above: State | None = None,
        *,
        held: Place | None = None,
    ) -> tuple[str, ConversationGroup]:
        """Create a conversation, and return its id and its group."""
        ...

    async def open(
        self,
        conversation_id: str,
        tools: Sequence[ToolType] = (),
        secrets: SecretRegistry | None = None,
        held: Place | None = None,
    ) -> ConversationGroup:
        """Return the group of an existing conversation."""
        ...


def children_of(
    source: Beginning, tools: Sequence[ToolType], secrets: SecretRegistry, held: Place | None = None
) -> Children:
    """Return a function that opens the children of a conversation, with its tools, its secrets and its open place."""
    opening = Opening(tuple(tools), secrets, held, delegates=True)

    @asynccontextmanager
    async def opened(child_id: str, child: Child, above: State) -> AsyncIterator[ConversationGroup]:
        assert above.created is not None
        workspace, agent = above.created.workspace, share_of(above, child)

        async def begin() -> ConversationGroup:
            try:
                return await source.open(child_id, tools, secrets, held)
            except ConversationMissing:
                _, group = await source.create(agent, workspace, child_id, tools, secrets, above, held=held)
                return group

        guest, ended = source.hosts.join(child_id, opening), False
        try:
            group = await guest.enter(begin)
            await source.client.prepare(group.feed.state.spec.llm)
            yield group
            ended = True
        finally:
            await guest.leave(stop=not ended)

    return opened

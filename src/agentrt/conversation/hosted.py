"""`HostedConversation`: how a conversation is opened in its runtime, sleeps and is left, and the secrets it has."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ..actors.group import ConversationGroup
from ..errors import ConfigurationError
from ..events import Cursor, Event, SecretsChanged
from ..host import Host
from ..protocols import ModelClient
from ..runtime import Runtime
from ..secrets import AnySecret, SecretRegistry
from ..specs import Agent
from ..state import State
from ..tools import ToolType
from .run import seq_of

_log = logging.getLogger(__name__)
_MISSING = "secrets of conversation %s were not kept when it was closed: %s; give them again with update_secrets"


class HostedConversation:
    """What a `Conversation` is before anyone says or asks something: an async context manager with a state."""

    __slots__ = (
        "_agent",
        "_entered",
        "_id",
        "_own_runtime",
        "_owner",
        "_registry",
        "_runtime",
        "_secrets",
        "_tools",
        "_workspace",
    )

    def __init__(
        self,
        agent: Agent | None = None,
        workspace: Path | str = ".",
        *,
        id: str | None = None,
        tools: Sequence[ToolType] = (),
        runtime: Runtime | None = None,
        store: Path | str | None = None,
        client: ModelClient | None = None,
        secrets: Mapping[str, AnySecret] = {},
        owner: str | None = None,
    ) -> None:
        if agent is None and id is None:
            raise ConfigurationError("give an agent to begin a conversation, or the id of one to reopen")
        if runtime is not None and (store is not None or client is not None):
            raise ConfigurationError("store and client belong to the runtime: give them to Runtime(...)")
        self._agent, self._workspace, self._tools = agent, workspace, tools
        self._id, self._secrets, self._owner = id, secrets, owner
        self._registry: SecretRegistry | None = None
        """Of one that has secrets: what the log does not hold of them outlives its sleep."""
        self._own_runtime = Runtime(store, client=client) if runtime is None else None
        self._runtime: Runtime = runtime or self._own_runtime  # type: ignore[assignment]
        self._entered: Host | None = None

    async def __aenter__(self) -> Self:
        if self._own_runtime is not None:
            await self._own_runtime.__aenter__()
        try:
            self._entered = self._runtime.host(self._open, self._release)
            await self._entered.wake(self._open if self._agent is None else self._create)
            if self._agent is None and self._secrets:
                await self.update_secrets(self._secrets)
            if self.missing_secrets:
                _log.warning(_MISSING, self.id, ", ".join(self.missing_secrets))
            self._agent = None
        except BaseException:
            await self.__aexit__(*sys.exc_info())
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._entered is not None:
                await self._runtime.unhost(self._entered)
        finally:
            if self._own_runtime is not None:
                await self._own_runtime.__aexit__(kind, error, trace)

    async def _create(self) -> ConversationGroup:
        assert self._agent is not None
        secrets = self._runtime.secrets(self._secrets)
        self._id, group = await self._runtime.create(
            self._agent, self._workspace, self._id, self._tools, secrets, owner=self._owner
        )
        return self._keeping(group)

    async def _open(self) -> ConversationGroup:
        return self._keeping(await self._runtime.open(self.id, self._tools, self._registry))

    def _keeping(self, group: ConversationGroup) -> ConversationGroup:
        self._registry = group.secrets if group.secrets.names else None
        return group

    async def _release(self, state: State) -> None:
        await self._runtime.release(self.id, state)

    @property
    def id(self) -> str:
        """The name under which it can be reopened; there once it was entered, or when it was given."""
        if self._id is None:
            raise ConfigurationError("a conversation has its id once it was entered: use 'async with'")
        return self._id

    @property
    def state(self) -> State:
        """The state after the last event; immutable. While it sleeps, without what was said and its configuration."""
        return self._host.state

    @property
    def cursor(self) -> Cursor:
        """The place after the last event."""
        return Cursor(self.state.epoch, self.state.seq)

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """The secrets whose values were not kept when it was closed: give them again with `update_secrets`."""
        return self._registry.missing if self._registry is not None else ()

    async def update_secrets(self, secrets: Mapping[str, AnySecret | None]) -> Cursor:
        """Add, replace or, with None, remove secrets; what was one stays hidden. Raises `ConfigurationError`."""
        async with self._host.use() as group:
            registry = self._registry = group.secrets
            registry.update({name: secret for name, secret in secrets.items() if secret is not None})
            registry.remove(*(name for name, secret in secrets.items() if secret is None))
            return await group.log.append(SecretsChanged(secrets=self._runtime.saved(registry, self.id)))

    async def _append(self, *events: Event) -> Cursor:
        async with self._host.use() as group:
            return await group.log.append(*events)

    def _seq(self, after: Cursor | int) -> int:
        return seq_of(after, self.state)

    @property
    def _host(self) -> Host:
        if self._entered is None:
            raise ConfigurationError("a conversation must be entered first: use 'async with'")
        return self._entered

"""`Guest`: one opener of a conversation in a process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..actors.group import ConversationGroup
from ..secrets import SecretRegistry
from ..state import State
from .host import Host, Opened
from .opening import NOTHING, Opening


class Guest:
    """One opener of a conversation, from when it is made until it leaves.

    The conversation's host exists as long as it has a guest. A guest that delegates to it also keeps it awake.
    """

    __slots__ = ("_host", "opening")

    def __init__(self, host: Host, opening: Opening = NOTHING) -> None:
        self._host, self.opening = host, opening
        host.guests = (*host.guests, self)

    async def enter(self, begin: Opened | None = None, *, new: bool = False) -> ConversationGroup:
        """Return the conversation. If it is not in memory, get it from `begin` if that is given, else from its log.

        Raise what that raises, `ConversationExists` if a `new` one is open already, and `ConfigurationError` if others
        have it open with other tools, or if it is at work without those that this guest brings.
        """
        return await self._host.enter(self, begin, new=new)

    async def leave(self, *, stop: bool = False) -> None:
        """Leave the conversation. The last guest takes it out of memory, interrupting what runs.

        The second call does nothing. With `stop` it is taken out even if others have it open: they find it asleep, and
        may wake it. Raise the error that ended the conversation, if any.
        """
        if not self.left:
            await self._host.leave(self, stop=stop)

    @property
    def left(self) -> bool:
        """Whether this guest has left, or was made to leave."""
        return self not in self._host.guests

    @property
    def delegated(self) -> bool:
        """Whether the conversation that delegates to this one has it open."""
        return self._host.delegated

    @property
    def state(self) -> State:
        """The state after the last event; while the conversation sleeps, without its history and configuration."""
        return self._host.state

    @property
    def group(self) -> ConversationGroup | None:
        """The conversation's actors, while it is awake."""
        return self._host.group

    @property
    def secrets(self) -> SecretRegistry | None:
        """The registry that outlives the conversation's sleep; None if its log has everything."""
        return self._host.opening.secrets

    @asynccontextmanager
    async def use(self) -> AsyncIterator[ConversationGroup]:
        """Yield the conversation, awake until the body has ended. Raise what opening it raises."""
        async with self._host.use(self) as group:
            yield group

    def keep(self, secrets: SecretRegistry) -> None:
        """Note that its secrets were changed, so that the registry outlives its sleep."""
        self._host.keep(secrets)

    async def rest(self, idle: float) -> bool:
        """Let the conversation sleep if it was not used for `idle` seconds. Return whether it sleeps."""
        return await self._host.rest(idle)

    async def settled(self) -> None:
        """Return when the conversation is not about to leave memory."""
        await self._host.settled()

    async def woken(self) -> None:
        """Return when the conversation is awake, or this guest has left."""
        while self._host.group is None and not self.left:
            await self._host.news()

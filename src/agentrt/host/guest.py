"""`Guest`: one of those who have a conversation open in a process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..actors.group import ConversationGroup
from ..secrets import SecretRegistry
from ..state import State
from .host import Host, Opened
from .opening import NOTHING, Opening


class Guest:
    """One of those who have a conversation open, from when it is made until it leaves.

    The conversation is there for as long as one of them is. The one that delegates to it also keeps it awake.
    """

    __slots__ = ("_host", "opening")

    def __init__(self, host: Host, opening: Opening = NOTHING) -> None:
        self._host, self.opening = host, opening
        host.guests = (*host.guests, self)

    async def enter(self, begin: Opened | None = None, *, new: bool = False) -> ConversationGroup:
        """The conversation, brought into memory where it is not: by `begin` when that is given, else from its log.

        Raises what that does, `ConversationExists` where a `new` one is there, and `ConfigurationError` where others
        have it open with other tools, or it is at work without those that this one brings.
        """
        return await self._host.enter(self, begin, new=new)

    async def leave(self, *, stop: bool = False) -> None:
        """Have it open no more; the last one takes it out of memory, interrupted when it runs. The second time nothing.

        With `stop` that happens also when others have it open: they find it asleep, and may wake it. Raises what failed
        in it.
        """
        if not self.left:
            await self._host.leave(self, stop=stop)

    @property
    def left(self) -> bool:
        """Whether it has left, or had to."""
        return self not in self._host.guests

    @property
    def delegated(self) -> bool:
        """Whether the conversation that delegates to this one has it open."""
        return self._host.delegated

    @property
    def state(self) -> State:
        """The state after the last event; while it sleeps without what was said and how it is configured."""
        return self._host.state

    @property
    def group(self) -> ConversationGroup | None:
        """The conversation's actors, while it is awake."""
        return self._host.group

    @property
    def secrets(self) -> SecretRegistry | None:
        """What outlives its sleep; None where its log has all that there is to know."""
        return self._host.opening.secrets

    @asynccontextmanager
    async def use(self) -> AsyncIterator[ConversationGroup]:
        """The conversation, awake until the body has ended. Raises what opening it does."""
        async with self._host.use(self) as group:
            yield group

    def keep(self, secrets: SecretRegistry) -> None:
        """Note that secrets were given to it or taken: the registry outlives its sleep."""
        self._host.keep(secrets)

    async def rest(self, idle: float) -> bool:
        """Let it sleep if it was not used for `idle` seconds; whether it sleeps."""
        return await self._host.rest(idle)

    async def settled(self) -> None:
        """Return when it is not about to leave memory."""
        await self._host.settled()

    async def woken(self) -> None:
        """Return when it is awake, or this one has left."""
        while self._host.group is None and not self.left:
            await self._host.news()

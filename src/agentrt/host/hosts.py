"""`Hosts`: the conversations that have a place in a process, by their ids."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from ..actors.group import ConversationGroup
from ..errors import ConfigurationError
from ..secrets import SecretRegistry
from ..state import State
from ..tools import ToolType
from .guest import Guest
from .host import Host
from .opening import NOTHING, Opening

REST_SECONDS = 30.0
"""How often it is looked for idle conversations, at least."""

_log = logging.getLogger(__name__)


class Source(Protocol):
    """Opens conversations from their logs, and lets them go."""

    async def open(
        self, conversation_id: str, tools: Sequence[ToolType] = (), secrets: SecretRegistry | None = None
    ) -> ConversationGroup:
        """A conversation's group, not yet entered. Raises `LogError` or `ConfigurationError`."""
        ...

    async def release(
        self, conversation_id: str, state: State | None = None, secrets: SecretRegistry | None = None
    ) -> None:
        """Let a conversation go that was left in `state`. Raises `LogFailed`."""
        ...


class Hosts:
    """The conversations that have a place in a process, by their ids; an async context manager.

    Whoever opens one that is there shares its host: its log is opened once. One that was not used for `idle_after`
    seconds sleeps (None: never). Leaving this closes all, those that delegate before those that they delegated to.
    """

    def __init__(self, source: Source, idle_after: float | None) -> None:
        self.source, self._idle_after = source, idle_after
        self._hosts: dict[str, Host] = {}
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Hosts:
        self._tasks = await anyio.create_task_group().__aenter__()
        if self._idle_after is not None:
            self._tasks.start_soon(self._rest, self._idle_after)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what is still open, then leave the task group without what the body raised: that goes on as it is."""
        tasks = self.tasks
        try:
            with anyio.CancelScope(shield=True):
                while there := list(self):
                    async with anyio.create_task_group() as closing:
                        for host in [host for host in there if not host.delegated] or there:
                            closing.start_soon(self._close, host)
        finally:
            self._tasks = None
            tasks.cancel_scope.cancel()
            await tasks.__aexit__(None, None, None)

    def __iter__(self) -> Iterator[Host]:
        return iter(list(self._hosts.values()))

    def __len__(self) -> int:
        return len(self._hosts)

    @property
    def tasks(self) -> TaskGroup:
        """Those of the conversations that are awake. Raises `ConfigurationError` outside of `async with`."""
        if self._tasks is None:
            raise ConfigurationError("the runtime is not entered, or was left: open conversations within 'async with'")
        return self._tasks

    def join(self, conversation_id: str, opening: Opening = NOTHING) -> Guest:
        """One more who has a conversation open, and is to enter and to leave it. Raises `ConfigurationError`."""
        assert self.tasks
        host = self._hosts.get(conversation_id)
        if host is None:
            host = self._hosts[conversation_id] = Host(conversation_id, self)
        return Guest(host, opening)

    def forget(self, host: Host) -> None:
        """Give up the place of one that nobody has open."""
        if self._hosts.get(host.name) is host:
            del self._hosts[host.name]

    async def settle(self, reason: str, seconds: float) -> None:
        """Let all that runs come to rest: nothing new is begun, and what is under way may take so long to end.

        What is delegated to rests with the one that delegates.
        """
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                for host in self:
                    if host.group is not None and not host.delegated:
                        tasks.start_soon(host.group.settle, reason)

    async def _close(self, host: Host) -> None:
        try:
            await host.close()
        except Exception:
            _log.exception("what conversation %s left behind", host.name)

    async def _rest(self, idle: float) -> None:
        """Let idle conversations sleep; for a task of its own."""
        while True:
            await anyio.sleep(min(max(idle / 4, 0.05), REST_SECONDS))
            for host in self:
                try:
                    await host.rest(idle)
                except Exception:  # of one conversation: the others sleep on
                    _log.exception("conversation %s could not be let sleep", host.name)

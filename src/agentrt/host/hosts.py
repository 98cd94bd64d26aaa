"""`Hosts`: the conversations that are open in a process, by their ids."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeAlias

import anyio
import psutil
from anyio.abc import TaskGroup

from ..actors.group import ConversationGroup
from ..errors import ActorError, ConfigurationError, LogError, LogFailed
from ..placing import Place
from ..secrets import SecretRegistry
from ..state import State
from ..storing import Storage
from ..tools import ToolType
from .guest import Guest
from .host import Host
from .opening import NOTHING, Opening

REST_SECONDS = 15.0
"""Maximum number of seconds between two checks for idle conversations."""

ENDED_SECONDS = 60.0
"""Seconds after which a conversation that has ended gives its shell back, if nobody follows it."""

SHORT = 0.1
"""Memory is short if less than this share of it is available."""

CONTROL_GROUP = Path("/sys/fs/cgroup")

_log = logging.getLogger(__name__)


Report: TypeAlias = Callable[[str, Exception], None]
"""Gets the id of a conversation whose log takes no more events, and why."""


def memory_is_short(group: Path = CONTROL_GROUP) -> bool:
    """Return whether little memory is available: of the machine, or of what its control group leaves this process
    (cgroups(7), version 2), as in a container.
    """
    memory = psutil.virtual_memory()
    if memory.available < SHORT * memory.total:
        return True
    try:
        most, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # "max": no limit
        return False
    return most - used + int(stat.get("inactive_file", 0)) < SHORT * most  # files that can be dropped


class Source(Protocol):
    """Opens conversations from their logs, and releases them."""

    store: Storage

    async def open(
        self,
        conversation_id: str,
        tools: Sequence[ToolType] = (),
        secrets: SecretRegistry | None = None,
        held: Place | None = None,
    ) -> ConversationGroup:
        """Return a conversation's group, not yet entered. Raise `LogError` or `ConfigurationError`."""
        ...

    async def release(
        self, conversation_id: str, state: State | None = None, secrets: SecretRegistry | None = None
    ) -> None:
        """Release a conversation that was left in `state`. Raise `LogFailed`."""
        ...


class Hosts:
    """The conversations that are open in a process, by their ids; an async context manager.

    All openers of a conversation share its host, so its log is opened once. A conversation that was not used for
    `idle_after` seconds goes to sleep (None: never). Leaving this closes all conversations, parents before children.
    """

    def __init__(self, source: Source, idle_after: float | None) -> None:
        self.source, self._idle_after = source, idle_after
        self.reports: list[Report] = []
        """Told of each log that cannot be written."""
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
        """Close what is still open. The task group does not get the body's exception, which propagates as it is."""
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
        """The task group of the awake conversations. Raises `ConfigurationError` outside of `async with`."""
        if self._tasks is None:
            raise ConfigurationError("the runtime is not entered, or was left: open conversations within 'async with'")
        return self._tasks

    def join(self, conversation_id: str, opening: Opening = NOTHING) -> Guest:
        """Return a new guest of a conversation, which must enter and leave it. Raise `ConfigurationError`."""
        assert self.tasks
        host = self._hosts.get(conversation_id)
        if host is None:
            host = Host(conversation_id, self)
            self.add(host)
        return Guest(host, opening)

    def add(self, host: Host) -> None:
        """Add the host of a conversation. Openers of the conversation share it until `forget`."""
        self._hosts[host.name] = host

    def report(self, conversation_id: str, failure: Exception) -> None:
        """Tell the operator that a log takes no more events, or that nothing can be stored beside it."""
        if isinstance(failure, LogFailed) and not failure.stops:
            path, cause = failure.where, failure.cause.strerror or failure.cause
            _log.error("beside the log of conversation %s, %s cannot be written: %s", conversation_id, path, cause)
        else:
            _log.error("the log of conversation %s takes no more events: %s", conversation_id, failure)
        for report in self.reports:
            report(conversation_id, failure)

    @contextmanager
    def reporting(self, conversation_id: str) -> Iterator[None]:
        """Report a `LogFailed` of the body."""
        try:
            yield
        except LogFailed as failure:
            self.report(conversation_id, failure)
            raise

    def forget(self, host: Host) -> None:
        """Remove the host of a conversation that nobody has open."""
        if self._hosts.get(host.name) is host:
            del self._hosts[host.name]

    async def settle(self, reason: str, seconds: float) -> None:
        """Let everything that runs come to rest: begin nothing new, and give what is under way `seconds` to end.

        A child rests with its parent.
        """
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                for host in self:
                    if host.group is not None and not host.delegated:
                        tasks.start_soon(host.group.settle, reason)

    async def pause(self, reason: str) -> None:
        """Pause everything that runs, without waiting for what is under way. A child rests with its parent."""
        async with anyio.create_task_group() as tasks:
            for host in self:
                if host.group is not None and not host.delegated:
                    tasks.start_soon(_pause, host.group, reason)

    async def _close(self, host: Host) -> None:
        try:
            await host.close()
        except Exception:
            _log.exception("what conversation %s left behind", host.name)

    async def _rest(self, idle: float) -> None:
        """Let idle conversations sleep. For a task of its own."""
        while True:
            await anyio.sleep(min(max(idle / 4, 0.05), REST_SECONDS))
            short = memory_is_short()
            for host in self:
                try:
                    await host.rest_if_due(idle, ENDED_SECONDS, short=short)
                except Exception:  # one conversation must not keep the others awake
                    _log.exception("conversation %s could not be let sleep", host.name)


async def _pause(group: ConversationGroup, reason: str) -> None:
    with suppress(ActorError, LogError):  # it has failed: nothing of it runs
        await group.pause(reason)

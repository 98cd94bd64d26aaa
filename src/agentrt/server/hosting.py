"""`Hosting`: the conversations of one server, each opened at its first request."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from types import TracebackType

import anyio
from anyio.abc import TaskStatus

from ..controls import AnyControl, Fork, Forked, Interrupt, Pause, Reply
from ..conversation import Conversation
from ..conversation.log_end import LogEnd, read_only
from ..errors import AgentrtError, ConfigurationError, ConversationMissing, LogCorrupt, LogLocked
from ..events import DIED_REASON, PauseEvent
from ..ids import new_id
from ..listing import CRASHED, Filter, Mark, Row
from ..runtime import Runtime
from ..secrets import AnySecret
from ..sources.writings import copy_writers
from ..specs import Agent, AnyLLM
from ..state import State, seq_of
from .permissions import check, looks_at_agent, of_control, of_creation, of_fork
from .principals import Principal, Scope
from .readiness import stopping
from .saved import SavedSettings
from .schemas import COUNT
from .settings import ServerSettings
from .workspaces import keep_all_out, new_workspace, spec_at

RESUMED_AT_ONCE = 16
"""Maximum number of conversations that are opened at once at the start."""

STOPPED = "the server was stopped"
"""The pause reason of conversations that run when the server stops."""

PAUSE_SECONDS = 5.0
"""Maximum number of seconds to write the pauses of a stop."""

_RESUMED = (STOPPED, DIED_REASON)
"""The pauses that `resume_running` ends. The second one stays if a server was killed after it had recovered what its
predecessor left open, and before the run began again."""

_log = logging.getLogger(__name__)


def _free(name: str | None) -> str | None:
    """Return the id requested for a new conversation. Raises `ConfigurationError` if a path of the server has it."""
    if name == COUNT:
        raise ConfigurationError(f"the id {name!r} is reserved: give the conversation another one")
    return name


class _Hosted:
    """An open conversation, its owner, and the time of its last request."""

    __slots__ = ("asked", "conversation", "owner")

    def __init__(self, conversation: Conversation) -> None:
        self.conversation, self.asked = conversation, time.monotonic()
        created = conversation.state.created
        assert created is not None
        self.owner = created.owner

    @property
    def asleep(self) -> bool:
        """Whether the conversation sleeps: only a stub of it is in memory."""
        return self.conversation.state.created is None


class _Read:
    """A conversation that is read here while another process has it open."""

    __slots__ = ("asked", "conversation", "end", "owner")

    def __init__(self, end: LogEnd) -> None:
        self.end, self.conversation, self.asked = end, read_only(end), time.monotonic()
        created = end.state.created
        assert created is not None
        self.owner = created.owner


class Hosting:
    """The conversations of one server; an async context manager.

    A conversation is opened at its first request, and sleeps when it is not used. It is closed if it sleeps and has had
    no requests and no followers for some time. Users who may not see a conversation are told that it does not exist.
    """

    def __init__(self, runtime: Runtime, settings: ServerSettings) -> None:
        self.runtime, self.settings = runtime, settings
        self.saved = SavedSettings(runtime, settings.agent)
        """The server's own agent, and what an admin has saved of it."""
        self.stopping = False
        """Whether new work is refused."""
        self.followed: Callable[[str], bool] = lambda conversation_id: False
        """Whether a conversation has followers."""
        self._hosted: dict[str, _Hosted] = {}
        self._read: dict[str, _Read] = {}
        self._opening: dict[str, anyio.Lock] = {}
        self.placing = anyio.Lock()
        """Held while a file of a workspace becomes visible, and it is noted who wrote it."""

    async def __aenter__(self) -> Hosting:
        await keep_all_out(self.settings.workspaces)
        await self.saved.load()
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self._forget)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(PAUSE_SECONDS):
                # what began since the drain: closing would interrupt it like a person, and then it never goes on
                await self.runtime.hosts.pause(STOPPED)
            async with anyio.create_task_group() as closing:
                for name, hosted in self._hosted.items():
                    closing.start_soon(self._close, name, hosted)

    def __len__(self) -> int:
        return len(self._hosted)

    async def drain(self, seconds: float) -> None:
        """Refuse new work, pause running conversations, and wait up to `seconds` for their steps to end."""
        self.stopping = self.runtime.consolidations.stopping = True
        await self.runtime.hosts.settle(STOPPED, seconds)

    async def recover(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Open the conversations that were running when their process died, which closes their unfinished work.

        With `resume_running`, continue them, and those that a stop or a death of the process had paused. `task_status`
        is told once the list of these is known, so that a request that opens one of them later does not prevent its
        recovery.
        """
        running = await self.runtime.store.listing.page(1 << 30, None, Filter(CRASHED), self._live)
        # a delegated conversation is opened and continued by the one that delegated it
        names = [row.id for row in running if row.delegated_by is None or not self.settings.resume_running]
        if self.settings.resume_running:
            names += await self._paused()
        task_status.started()
        limiter = anyio.CapacityLimiter(RESUMED_AT_ONCE)
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(self._recover, name, limiter)

    async def _recover(self, name: str, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            try:
                conversation = (await self._open(name)).conversation
                if self.settings.resume_running and not self.stopping:
                    await conversation.start_run()
                    _log.info("conversation %s goes on", name)
            except LogLocked:
                return  # open in another process
            except AgentrtError as error:
                _log.warning("conversation %s does not go on: %s", name, error)
            except Exception:  # concerns one conversation; the others continue
                _log.exception("conversation %s does not go on", name)

    async def _paused(self) -> list[str]:
        """Return the conversations that only the end of a process paused, without delegated ones."""
        store, names = self.runtime.store, list[str]()
        for row in await store.listing.page(1 << 30, None, Filter("paused")):
            last = await store.history(row.id).last_word() if row.delegated_by is None else None
            if isinstance(last, PauseEvent) and last.source == "environment" and last.reason in _RESUMED:
                names.append(row.id)
        return names

    async def _forget(self) -> None:
        """Close sleeping conversations without recent requests or followers; for a task of its own."""
        while True:
            await anyio.sleep(min(max(self.settings.forget_after / 4, 0.05), 30.0))
            since = time.monotonic() - self.settings.forget_after
            for name, hosted in list(self._hosted.items()):
                if hosted.asked < since and hosted.asleep and not self.followed(name):
                    async with self._alone(name):
                        if hosted.asked < since and hosted.asleep and self._hosted.get(name) is hosted:
                            del self._hosted[name]
                            await self._close(name, hosted)
            for name, read in list(self._read.items()):
                if read.asked < since and not self.followed(name):
                    self._read.pop(name, None)

    async def _close(self, name: str, hosted: _Hosted) -> None:
        try:
            await hosted.conversation.__aexit__(None, None, None)
        except Exception:  # concerns one conversation; the others are closed, too
            _log.exception("what conversation %s left behind", name)

    async def get(self, conversation_id: str, principal: Principal) -> Conversation:
        """Return an entered conversation, shared by its clients. Raises `ConversationMissing` and errors of opening."""
        hosted = self._hosted.get(conversation_id)
        if hosted is None:
            # checked before it is opened, so that other users do not learn that it is damaged or locked
            if not principal.may(Scope.ADMIN) and not principal.sees(await self._owner(conversation_id)):
                raise ConversationMissing(conversation_id)
            hosted = await self._open(conversation_id)
        if not principal.sees(hosted.owner):
            raise ConversationMissing(conversation_id)
        hosted.asked = time.monotonic()
        return hosted.conversation

    async def read(self, conversation_id: str, principal: Principal) -> Conversation:
        """Return a conversation for a request that only reads it: as `get` does, or from its log if another process has
        it open. Raises the same errors, except `LogLocked`.
        """
        try:
            return await self.get(conversation_id, principal)
        except LogLocked:
            read = await self._read_of(conversation_id)
        if not principal.sees(read.owner):
            raise ConversationMissing(conversation_id)
        read.asked = time.monotonic()
        return read.conversation

    async def _read_of(self, conversation_id: str) -> _Read:
        """Return what is read of a conversation that another process has open, as its log is now."""
        if (read := self._read.get(conversation_id)) is not None:
            await read.end.refresh()
            return read
        end = LogEnd(self.runtime.store, conversation_id, partial(self._is_ours, conversation_id))
        await end.refresh()
        return self._read.setdefault(conversation_id, _Read(end))

    async def _is_ours(self, conversation_id: str) -> bool:
        """Return whether a conversation is open here, and open it if no other process has it open any more."""
        try:
            await self._open(conversation_id)
        except LogLocked:
            return False
        return True

    async def _owner(self, conversation_id: str) -> str | None:
        """Return the owner of a conversation that is not open here; None also if it is missing or damaged."""
        try:
            return (await self.runtime.store.history(conversation_id).created()).owner
        except (ConversationMissing, LogCorrupt):
            return None

    async def create(
        self,
        agent: Agent,
        principal: Principal,
        workspace: str | None = None,
        conversation_id: str | None = None,
        secrets: Mapping[str, str] = {},
    ) -> Conversation:
        """Begin a conversation in `workspace`, a directory below the server's workspaces; by default in a new one.

        Raises `ConfigurationError`, `WorkspaceMissing`, `ConversationExists`, or `Refusal` if the principal may not use
        the agent or the server is stopping.
        """
        check(principal, of_creation(agent, self.saved.agent, await self.profiles(principal)))
        if self.stopping:
            raise stopping()
        name = _free(conversation_id) or new_id()
        owner = principal.owner
        async with new_workspace(self.settings.workspaces, workspace, name) as path:
            place = spec_at(path, self.settings)
            agent, lent = self.saved.lent_to(agent, str(path))
            given: dict[str, AnySecret] = {**lent, **secrets}
            conversation = Conversation(agent, place, id=name, runtime=self.runtime, secrets=given, owner=owner)
            await conversation.__aenter__()
        self._hosted[name] = _Hosted(conversation)
        return conversation

    async def count(
        self, principal: Principal, status: str | None = None, query: str = "", tags: Mapping[str, str] = {}
    ) -> int:
        """Return the number of conversations on all pages of `page`."""
        owner = None if Scope.ADMIN in principal.scopes else principal.owner
        if owner is None and Scope.ADMIN not in principal.scopes:
            return 0
        return await self.runtime.store.listing.count(Filter(status, owner, query, dict(tags)), self._live)

    async def page(
        self,
        principal: Principal,
        limit: int = 20,
        after: Mark | None = None,
        status: str | None = None,
        query: str = "",
        tags: Mapping[str, str] = {},
    ) -> list[Row]:
        """Return the conversations that a principal sees, after a position in the list, the last written first.

        Filters, if given: `status`, `query` in the title or id, and `tags`, which must all match.
        """
        owner = None if Scope.ADMIN in principal.scopes else principal.owner
        if owner is None and Scope.ADMIN not in principal.scopes:
            return []
        wanted = Filter(status, owner, query, dict(tags))
        return await self.runtime.store.listing.page(limit, after, wanted, self._live)

    async def do(self, conversation_id: str, control: AnyControl, principal: Principal) -> Reply:
        """Carry out a control.

        Raises `ConversationMissing`, `Refusal` if the principal may not do this, and the errors of `Conversation.do`.
        While the server stops, only a pause or an interrupt is carried out.
        """
        if self.stopping and not isinstance(control, Pause | Interrupt):
            raise stopping()
        conversation = await self.get(conversation_id, principal)
        looks = looks_at_agent(control)
        state = await self.whole(conversation) if looks else None
        agent, offers = (state.agent, state.unagreed) if state is not None else (None, ())
        profiles = await self.profiles(principal) if looks else ()
        check(principal, of_control(control, agent, self.saved.agent, profiles, offers))
        if isinstance(control, Fork):
            return Forked((await self.fork(conversation_id, principal, control)).id)
        return await conversation.do(control, principal.owner)

    async def profiles(self, principal: Principal) -> tuple[AnyLLM, ...]:
        """Return the model profiles, whose addresses any principal may use. Return none for an admin, who may use any
        address, and if they cannot be read.
        """
        if principal.may(Scope.ADMIN):
            return ()
        try:
            return tuple((await self.runtime.models.profiles()).values())
        except ConfigurationError:
            return ()

    async def fork(self, conversation_id: str, principal: Principal, wanted: Fork) -> Conversation:
        """Begin a conversation that shares the events up to a place; it has the same owner.

        Raises the errors of `Conversation.fork`, and `Refusal` if the fork's configuration loosens the current one in a
        way that the principal may not.
        """
        conversation = await self.get(conversation_id, principal)
        if wanted.place is not None or wanted.agent is not None:
            now = then = await self.whole(conversation)
            if wanted.place is not None:
                at = seq_of(wanted.place, conversation.state)
                then = await self.runtime.store.history(conversation_id).state(at)
            if then.agent is not None:
                check(principal, of_fork(then, now, wanted.agent))
        name, files, source = _free(wanted.id) or new_id(), wanted.files, ""
        async with AsyncExitStack() as stack:
            if files:
                given = files if isinstance(files, str) else None
                files = str(await stack.enter_async_context(new_workspace(self.settings.workspaces, given, name)))
                source = (await self.runtime.store.history(conversation_id).created()).workspace.path
                await copy_writers(self.runtime.store.shelf, source, files)  # before anyone can read a copy
            fork = await conversation.fork(
                wanted.place, id=name, title=wanted.title, tags=wanted.tags, agent=wanted.agent, files=files
            )
            if isinstance(files, str):
                await copy_writers(self.runtime.store.shelf, source, files)  # also of those that are gone from there
            await fork.__aenter__()
        self._hosted[fork.id] = _Hosted(fork)
        return fork

    async def delete(self, conversation_id: str, principal: Principal) -> None:
        """Delete a conversation; a running one is interrupted. Raises `ConversationMissing`, `LogLocked`, `LogFailed`.

        Only an admin can delete a damaged conversation, because its owner is unknown.
        """
        if Scope.ADMIN not in principal.scopes:
            await self.get(conversation_id, principal)
        async with self._alone(conversation_id):
            self.runtime.consolidations.forget(conversation_id)
            if (hosted := self._hosted.pop(conversation_id, None)) is not None:
                await hosted.conversation.__aexit__(None, None, None)
            await self.runtime.consolidations.delete(conversation_id)

    async def _open(self, conversation_id: str) -> _Hosted:
        async with self._alone(conversation_id):
            if (hosted := self._hosted.get(conversation_id)) is None:
                conversation = Conversation(id=conversation_id, runtime=self.runtime)
                await conversation.__aenter__()
                hosted = self._hosted[conversation_id] = _Hosted(conversation)
                self._read.pop(conversation_id, None)
            return hosted

    @asynccontextmanager
    async def _alone(self, conversation_id: str) -> AsyncIterator[None]:
        """Hold the lock on opening, closing and deleting a conversation."""
        lock = self._opening.setdefault(conversation_id, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.statistics().tasks_waiting and not lock.locked():
                self._opening.pop(conversation_id, None)

    async def whole(self, conversation: Conversation) -> State:
        """Return the state with its configuration, read from the log if the conversation sleeps."""
        if conversation.state.agent is not None:
            return conversation.state
        return await self.runtime.store.history(conversation.id).state()

    def state(self, conversation_id: str) -> State | None:
        """Return the state of a conversation that is open here; without messages and configuration while it sleeps."""
        hosted = self._hosted.get(conversation_id)
        return None if hosted is None else hosted.conversation.state

    def _live(self, conversation_id: str) -> State | None:
        hosted = self._hosted.get(conversation_id)
        if hosted is None:
            return None
        state = hosted.conversation.state
        return state if state.created is not None else None  # if it sleeps, the catalogue has its row

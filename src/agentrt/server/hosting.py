"""`Hosting`: the conversations of one server, each opened when it is first asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType

import anyio
import anyio.to_thread

from ..controls import AnyControl, Fork, Forked, Reply
from ..conversation import Conversation
from ..conversation.doing import do
from ..errors import ConfigurationError, ConversationMissing
from ..ids import new_id
from ..runtime import Runtime
from ..specs import Agent
from ..state import State
from ..storage.pages import read_state
from ..storage.rows import Mark, Row
from .permissions import check, looks_at_agent, of_control, of_creation, of_fork
from .principals import Principal, Scope
from .settings import ServerSettings


class _Hosted:
    """A conversation that was opened here, and whose it is."""

    __slots__ = ("conversation", "owner")

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        created = conversation.state.created
        assert created is not None
        self.owner = created.owner


class Hosting:
    """The conversations of one server; an async context manager.

    Each is opened when it is first asked for, and sleeps when it is not used. Others than its owner are told that it
    is not there.
    """

    def __init__(self, runtime: Runtime, settings: ServerSettings) -> None:
        self.runtime, self.settings = runtime, settings
        self._hosted: dict[str, _Hosted] = {}
        self._opening: dict[str, anyio.Lock] = {}

    async def __aenter__(self) -> Hosting:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with anyio.create_task_group() as closing:
            for hosted in self._hosted.values():
                closing.start_soon(hosted.conversation.__aexit__, None, None, None)

    async def get(self, conversation_id: str, principal: Principal) -> Conversation:
        """A conversation, entered, which all who ask share. Raises `ConversationMissing`, and what opening it does."""
        hosted = self._hosted.get(conversation_id) or await self._open(conversation_id)
        if not principal.sees(hosted.owner):
            raise ConversationMissing(conversation_id)
        return hosted.conversation

    async def create(
        self,
        agent: Agent,
        principal: Principal,
        workspace: str | None = None,
        conversation_id: str | None = None,
        secrets: Mapping[str, str] = {},
    ) -> Conversation:
        """Begin a conversation in a directory below those that are allowed; without one, in a new one.

        Raises `ConfigurationError`, `WorkspaceMissing`, `ConversationExists`, or `Refusal` for an agent that the
        principal may not have.
        """
        check(principal, of_creation(agent, self.settings.agent))
        name = conversation_id or new_id()
        path = await anyio.to_thread.run_sync(self._directory, workspace, name)
        conversation = Conversation(agent, path, id=name, runtime=self.runtime, secrets=secrets, owner=principal.owner)
        await conversation.__aenter__()
        self._hosted[name] = _Hosted(conversation)
        return conversation

    async def page(
        self,
        principal: Principal,
        limit: int = 20,
        after: Mark | None = None,
        status: str | None = None,
        query: str = "",
        tags: Mapping[str, str] = {},
    ) -> list[Row]:
        """The conversations that a principal sees, after a place in their list, those written last first.

        Only those of one status, with `query` in the title or id, and with all `tags`, where these are given.
        """
        owner = None if Scope.ADMIN in principal.scopes else principal.owner
        if owner is None and Scope.ADMIN not in principal.scopes:
            return []
        catalogue = self.runtime.store.catalogue
        return await anyio.to_thread.run_sync(
            lambda: catalogue.page(limit, after, status, owner=owner, query=query, tags=tags, live=self._live)
        )

    async def do(self, conversation_id: str, control: AnyControl, principal: Principal) -> Reply:
        """Carry out a control.

        Raises `ConversationMissing`, `Refusal` where the principal may not, and what the conversation's method of it
        does.
        """
        conversation = await self.get(conversation_id, principal)
        agent = (await self._whole(conversation)).agent if looks_at_agent(control) else None
        check(principal, of_control(control, agent, self.settings.agent))
        if isinstance(control, Fork):
            return Forked((await self.fork(conversation_id, principal, control.at, control.id)).id)
        return await do(conversation, control, principal.owner)

    async def fork(
        self, conversation_id: str, principal: Principal, at: int | None = None, fork_id: str | None = None
    ) -> Conversation:
        """Begin a conversation that shares the events up to `at`; it has the same owner.

        Raises what a fork does, and `Refusal` where it would have less asked than is asked now.
        """
        conversation = await self.get(conversation_id, principal)
        if at is not None:
            then = await anyio.to_thread.run_sync(read_state, self.runtime.store.directory(conversation_id), at)
            if then.agent is not None:
                check(principal, of_fork(then, await self._whole(conversation)))
        fork = await conversation.fork(at, id=fork_id)
        await fork.__aenter__()
        self._hosted[fork.id] = _Hosted(fork)
        return fork

    async def delete(self, conversation_id: str, principal: Principal) -> None:
        """Delete a conversation; one that runs is interrupted. Raises `ConversationMissing`, `LogLocked`, `LogFailed`.

        A damaged one, of which nobody knows whose it is, only an admin can delete.
        """
        if Scope.ADMIN not in principal.scopes:
            await self.get(conversation_id, principal)
        async with self._alone(conversation_id):
            if (hosted := self._hosted.pop(conversation_id, None)) is not None:
                await hosted.conversation.__aexit__(None, None, None)
            await self.runtime.store.delete(conversation_id)

    async def _open(self, conversation_id: str) -> _Hosted:
        async with self._alone(conversation_id):
            if (hosted := self._hosted.get(conversation_id)) is None:
                conversation = Conversation(id=conversation_id, runtime=self.runtime)
                await conversation.__aenter__()
                hosted = self._hosted[conversation_id] = _Hosted(conversation)
            return hosted

    @asynccontextmanager
    async def _alone(self, conversation_id: str) -> AsyncIterator[None]:
        """While nobody else opens or deletes it."""
        lock = self._opening.setdefault(conversation_id, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.statistics().tasks_waiting and not lock.locked():
                self._opening.pop(conversation_id, None)

    async def _whole(self, conversation: Conversation) -> State:
        """The state, with the configuration that it has also while it sleeps."""
        if conversation.state.agent is not None:
            return conversation.state
        return await anyio.to_thread.run_sync(read_state, self.runtime.store.directory(conversation.id))

    def state(self, conversation_id: str) -> State | None:
        """The state of a conversation that was opened here; while it sleeps without what was said."""
        hosted = self._hosted.get(conversation_id)
        return None if hosted is None else hosted.conversation.state

    def _live(self, conversation_id: str) -> State | None:
        hosted = self._hosted.get(conversation_id)
        if hosted is None:
            return None
        state = hosted.conversation.state
        return state if state.created is not None else None  # asleep, its row is in the catalogue

    def _directory(self, given: str | None, name: str) -> Path:
        roots = [root.resolve() for root in self.settings.workspaces]
        if not roots:
            raise ConfigurationError("this server has no workspaces: start it with --workspaces DIR")
        if given is None:
            path = roots[0] / name
            path.mkdir(parents=True, exist_ok=True)
            return path
        path = (roots[0] / given).resolve()
        if not any(path.is_relative_to(root) for root in roots):
            raise ConfigurationError(f"workspace {given!r} is not below those of this server: name another")
        return path

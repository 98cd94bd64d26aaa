"""`Hosting`: the conversations of one server, each opened when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType

import anyio
import anyio.to_thread

from ..conversation import Conversation
from ..errors import ConfigurationError, ConversationMissing
from ..ids import new_id
from ..runtime import Runtime
from ..specs import Agent
from .principals import Principal
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
        self._stack = AsyncExitStack()

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

        Raises `ConfigurationError`, `WorkspaceMissing` or `ConversationExists`.
        """
        name = conversation_id or new_id()
        path = await anyio.to_thread.run_sync(self._directory, workspace, name)
        conversation = Conversation(agent, path, id=name, runtime=self.runtime, secrets=secrets)
        await conversation.__aenter__()
        self._hosted[name] = _Hosted(conversation)
        return conversation

    async def _open(self, conversation_id: str) -> _Hosted:
        lock = self._opening.setdefault(conversation_id, anyio.Lock())
        try:
            async with lock:
                if (hosted := self._hosted.get(conversation_id)) is None:
                    conversation = Conversation(id=conversation_id, runtime=self.runtime)
                    await conversation.__aenter__()
                    hosted = self._hosted[conversation_id] = _Hosted(conversation)
                return hosted
        finally:
            if not lock.statistics().tasks_waiting:
                self._opening.pop(conversation_id, None)

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

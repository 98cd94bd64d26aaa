"""`Conversation`: blocking, in front of a conversation that runs in the event loop of `loop_portal`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from uuid import UUID, uuid4

import anyio
from anyio.abc import TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from ... import conversation as native
from ... import events as native_events
from ...errors import AgentrtError, ConversationMissing
from ...events import ExecutionStatus
from ...specs import AlwaysConfirm, ConfirmRisky, NeverConfirm
from ...state import State
from ...tools.functions import tools_in
from ...usage import Spending, total
from ._agents import LLM, Agent, Metrics
from ._checking import Checked
from ._content import Message, native_content
from ._events import (
    ActionEvent,
    Event,
    LLMConvertibleEvent,
    SystemPromptEvent,
    compat_event,
    unmatched_actions,
)
from ._loop import end_with_program, forget_end, loop_portal

Callback = Callable[[Event], None]

_WAITING = 100
"""Maximum number of events that wait for a callback during a run; the log has the others."""


class ConversationRunError(AgentrtError, RuntimeError):
    """A run ended with an error, which it says."""

    def __init__(self, conversation_id: str, detail: str) -> None:
        super().__init__(detail)
        self.conversation_id = conversation_id


class LocalWorkspace:
    """A directory of this machine."""

    def __init__(self, *, working_dir: str | Path = "workspace/project") -> None:
        self.working_dir = str(working_dir)


Workspace: TypeAlias = LocalWorkspace


class LLMSecurityAnalyzer:
    """Rates actions by the model. agentrt's rules rate them, too; the higher rating counts."""


class _Visualizer(Protocol):
    def on_event(self, event: Event) -> None: ...


class DefaultConversationVisualizer:
    """Prints each event as `agentrt show` does."""

    def __init__(self, name: str | None = None, **rest: Any) -> None:
        self._name = f"[{name}] " if name else ""

    def on_event(self, event: Event) -> None:
        """Print an event that says something to people."""
        if isinstance(event, LLMConvertibleEvent) and not isinstance(event, SystemPromptEvent):
            print(f"{self._name}{event}", flush=True)


class DelegationVisualizer(DefaultConversationVisualizer):
    """Prints each event with the name of the agent that delegates."""


class ConversationStats:
    """The usage of a conversation."""

    def __init__(self, spending: Mapping[str, Spending]) -> None:
        self._spending = spending

    @property
    def usage_to_metrics(self) -> dict[str, Metrics]:
        """By `usage_id`."""
        return {usage_id: Metrics.of(spent) for usage_id, spent in self._spending.items()}

    def get_combined_metrics(self) -> Metrics:
        """Return the sum."""
        return Metrics.of(total(self._spending.values()))


class ConversationState:
    """The state of a conversation now."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @property
    def id(self) -> UUID:
        """The id of the conversation."""
        return self._conversation.id

    @property
    def agent(self) -> Agent:
        """Its agent."""
        return self._conversation.agent

    @property
    def workspace(self) -> LocalWorkspace:
        """Its workspace."""
        return self._conversation.workspace

    @property
    def execution_status(self) -> ExecutionStatus:
        """Its status."""
        return self._conversation.native_state.status

    @property
    def events(self) -> list[Event]:
        """All its events."""
        return self._conversation.read_events()

    @property
    def stats(self) -> ConversationStats:
        """Its usage."""
        return self._conversation.conversation_stats

    @staticmethod
    def get_unmatched_actions(events: Sequence[Event]) -> list[ActionEvent]:
        """Return the actions that have no result yet."""
        return unmatched_actions(events)


class Conversation(metaclass=Checked):
    """A conversation with an agent. `send_message` and `run` block; callbacks are called in the thread that called
    them. Ctrl-C during a run interrupts the agent.

    A `conversation_id` that is there is reopened. Raises `ConfigurationError` for invalid arguments.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        workspace: str | Path | LocalWorkspace = "workspace/project",
        persistence_dir: str | Path | None = None,
        conversation_id: UUID | str | None = None,
        callbacks: Sequence[Callback] | None = None,
        max_iteration_per_run: int = 500,
        stuck_detection: bool = True,
        visualizer: type[_Visualizer] | _Visualizer | None = DefaultConversationVisualizer,
        secrets: Mapping[str, Any] | None = None,
    ) -> None:
        self.agent = agent
        self.workspace = workspace if isinstance(workspace, LocalWorkspace) else LocalWorkspace(working_dir=workspace)
        Path(self.workspace.working_dir).mkdir(parents=True, exist_ok=True)
        shown = visualizer() if isinstance(visualizer, type) else visualizer
        self._callbacks = [*(callbacks or ()), *([shown.on_event] if shown is not None else [])]
        self.id = conversation_id if isinstance(conversation_id, UUID) else UUID(conversation_id or str(uuid4()))
        self._told = 0
        """The number of the last event that callbacks were called with."""
        self._telling, self._running = threading.RLock(), False
        """Held while callbacks are called, one after another; and whether a run delivers events to them."""
        self._calling = False
        """Whether a callback is running."""
        self._waiting: list[str] = []
        """The actions that waited for a person when the last run ended."""
        self._left: anyio.Event | None = None
        self.state = ConversationState(self)
        context = agent.agent_context
        known = {**(context.secrets if context is not None else {}), **(secrets or {})}
        made = agent.to_native(self, max_steps=max_iteration_per_run, stuck=stuck_detection)
        open_it: dict[str, Any] = {"store": persistence_dir, "secrets": known, "id": str(self.id)}
        portal = loop_portal()
        if conversation_id is not None:
            try:
                self._native = native.Conversation(**open_it, tools=tools_in(made))
                self._ended, _ = portal.start_task(self._live)
            except ConversationMissing:
                pass
            else:
                self._told = self.native_state.seq
                self._waiting = self._asked_for()
                return
        self._native = native.Conversation(made, self.workspace.working_dir, **open_it)
        self._ended, _ = portal.start_task(self._live)
        self._tell()

    async def _live(self, *, task_status: TaskStatus[None]) -> None:
        async with self._native:
            self._left = end_with_program()
            try:
                task_status.started()
                await self._left.wait()
            finally:
                forget_end(self._left)

    def _do(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        async def call() -> Any:
            return await method(*arguments, **options)

        result = loop_portal().call(call)
        self._tell()
        return result

    @property
    def native_state(self) -> State:
        """The state as agentrt has it."""
        return self._native.state

    @property
    def spending(self) -> Mapping[str, Spending]:
        """Its usage, by `usage_id`."""
        return self.native_state.ledger.spending

    @property
    def conversation_stats(self) -> ConversationStats:
        """Its usage."""
        return ConversationStats(self.spending)

    def read_events(self, after: int = 0) -> list[Event]:
        """Return its events after one with a number."""

        async def read() -> list[Event]:
            return [compat_event(event) async for event in self._native.events(after)]

        return loop_portal().call(read)

    def send_message(self, message: str | Message, sender: str | None = None) -> None:
        """Send a message to the agent."""
        self._do(self._native.send_message, message if isinstance(message, str) else native_content(message.content))

    def run(self) -> None:
        """Let the agent work until it has finished, pauses or waits for a person. The actions that waited when the last
        run ended are approved, but none that the agent has asked for since then, such as after a rejection.

        Raises `ConversationRunError` if it ends with an error.
        """
        asked_for = self._asked_for()
        if approved := [one for one in self._waiting if one in asked_for]:
            self._do(self._native.confirm, *approved)
        send, receive = anyio.create_memory_object_stream[native_events.Event](_WAITING)
        portal = loop_portal()
        running = portal.start_task_soon(self._follow_run, send)
        self._running = True
        try:
            while (event := portal.call(_next_of, receive)) is not None:
                self._call_back(event)
        except BaseException:
            portal.call(self._native.interrupt)
            raise
        finally:
            self._running = False
            portal.call(receive.aclose)
        running.result()
        self._tell()
        self._waiting = self._asked_for()
        state = self.native_state
        if state.status is ExecutionStatus.ERROR:
            raise ConversationRunError(str(self.id), state.error.detail if state.error is not None else "")

    def _asked_for(self) -> list[str]:
        """Return the ids of the actions that wait for a person now."""
        return [waiting.action.id for waiting in self._native.pending_confirmation]

    async def _follow_run(self, send: MemoryObjectSendStream[native_events.Event]) -> None:
        async with send:
            async for event in self._native.run(after=self._told):
                await send.send(event)

    def _tell(self) -> None:
        """Call the callbacks with what is new, unless a callback is running or a run delivers it: they go on."""
        while not self._calling and not self._running and (events := self.read_events(self._told)):
            for event in events:
                self._call_back(event.native)

    def _call_back(self, event: native_events.Event) -> None:
        with self._telling:
            if event.seq <= self._told:
                return
            self._told, self._calling = event.seq, True
            try:
                for callback in self._callbacks:
                    callback(compat_event(event))
            finally:
                self._calling = False

    def pause(self) -> None:
        """Begin nothing new; what runs may end."""
        self._do(self._native.pause)

    def interrupt(self) -> None:
        """Interrupt what runs."""
        self._do(self._native.interrupt)

    def reject_pending_actions(self, reason: str = "User rejected the action") -> None:
        """Reject the actions that wait for a person."""
        if self._native.pending_confirmation:
            self._do(self._native.reject, reason)

    def set_confirmation_policy(self, policy: AlwaysConfirm | ConfirmRisky | NeverConfirm) -> None:
        """Set which actions wait for a person."""
        self._do(self._native.set_confirmation_policy, policy)

    def set_security_analyzer(self, analyzer: LLMSecurityAnalyzer | None) -> None:
        """Have actions rated by the model and by rules; None: not at all."""
        self._do(self._native.set_security_analyzer, *(() if analyzer is None else ("rules", "model")))

    def update_secrets(self, secrets: Mapping[str, Any]) -> None:
        """Add or replace secrets, which commands may use as variables."""
        self._do(self._native.update_secrets, secrets)

    def ask_agent(self, question: str) -> str:
        """Return the answer to a side question."""
        return str(self._do(self._native.ask_agent, question))

    def generate_title(self, llm: LLM | None = None, max_length: int = 50) -> str:
        """Return a title for it."""
        chosen = None if llm is None else llm.native
        return str(self._do(self._native.generate_title, llm=chosen, max_length=max_length))

    def condense(self) -> None:
        """Replace the older part of the view with a summary."""
        self._do(self._native.condense)

    def close(self) -> None:
        """Leave it; its log stays."""
        if self._left is not None and not self._ended.done():
            for llm in self.agent.models:
                llm.leave(self)
            loop_portal().call(self._left.set)
            self._ended.result()


LocalConversation: TypeAlias = Conversation
BaseConversation: TypeAlias = Conversation


def get_logger(name: str) -> logging.Logger:
    """Return the logger of that name."""
    return logging.getLogger(name)


async def _next_of(receive: MemoryObjectReceiveStream[native_events.Event]) -> native_events.Event | None:
    try:
        return await receive.receive()
    except anyio.EndOfStream:
        return None

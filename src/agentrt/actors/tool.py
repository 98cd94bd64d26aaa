"""`ToolActor`: runs the calls of one tool."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any
from zlib import crc32

import anyio
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..cancelling import guarded
from ..context.replies import BadCall
from ..decisions import ExecuteAction, action_error, lost_meanwhile
from ..errors import ConfigurationError, NoLongerDue, ToolError
from ..events import ActionEvent, ActionRevised, Cursor, Event, ExecutionLost, ObservationEvent
from ..executing import details_of
from ..protocols import Losable, Observation, ToolContext, ToolExecutor, Watchful
from ..secrets import HIDDEN
from ..specs import NeverConfirm, OnCrash, content
from ..specs.flow import Label
from ..tools.clipping import clip
from .core import Request
from .dispatcher import Perform
from .event_log import Log
from .results import MAX_RESULT, bounded
from .scripts import changed
from .side_calls import SideCalls
from .tool_call import ToolCall, ToolParts, ToolPlace

if TYPE_CHECKING:
    from ..placing import Place
    from .file_keeper import FileKeeper

_logger = logging.getLogger(__name__)


_MARKED = (
    f"{HIDDEN} stands for a secret that you are not shown, so nothing was done: leave that part as it is, or name the"
    " secret in a command, as $NAME"
)


_STAYS = (
    "This did not run: nobody is asked in this conversation, and a command may leave what confines it only if a person"
    " agrees, or has allowed it in advance (allow_unconfined). Find a way that works inside, or say what is missing"
)


MOST_LOOKS = 3
"""Maximum number of times that a call is rated again because a file that it runs has changed."""

_CHANGED = "not run: {} changes again and again while this call is looked at. Stop what writes it, and call again"


class _Misconfigured:
    """The executor of a tool whose parameters do not fit: each call says so."""

    def __init__(self, problem: str) -> None:
        self._problem = problem

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        raise ToolError(self._problem)

    async def aclose(self) -> None:
        return None


class AtWork(Request[bool], frozen=True):
    """Asks whether the tool has something running between two calls."""


class ToolActor(AbstractAsyncContextManager["ToolActor"]):
    """Performs `ExecuteAction` for one tool. The executor is opened and closed with the actor."""

    def __init__(
        self,
        log: Log,
        parts: ToolParts,
        name: str,
        place: Place,
        calls: SideCalls,
        keeper: FileKeeper | None = None,
    ) -> None:
        self._keeper = keeper
        self._log, self._parts, self._name, self._calls = log, parts, name, calls
        self._tools, self._secrets = parts.tools, parts.secrets
        self._executor: ToolExecutor
        try:
            with guarded:
                self._executor = self._tools.executor(name)
        except ConfigurationError as error:
            self._executor = _Misconfigured(str(error))
        self._losable = self._executor if isinstance(self._executor, Losable) else None
        self._told_lost = dict[tuple[str, ...], int]()
        """By what calls touch, such as one of several shells: the seq of the result that told that the process had
        ended. Later actions know it.
        """
        self._asked_again = set[str]()
        """The ids of actions that were rated and asked again because that process had ended."""
        self._place = ToolPlace(log, parts, name, place)
        self._leaves = self._tools.leaves(name)
        self._may_be_unheld = place.workspace.on_this_machine and self._tools.declares_effects(name)
        self._tasks = anyio.create_task_group()
        """The tasks that the executor runs beside its calls."""

    async def __aenter__(self) -> ToolActor:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            try:
                with guarded:
                    await self._executor.aclose()
            except Exception:  # the tool may be anyone's code; its results are in the log
                _logger.exception("tool %r failed to close", self._name)
            await self._place.spills.close()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    async def handle(self, message: Perform | AtWork) -> bool | None:
        """Run one call and append its outcome: an observation, or an error that the model can act on.

        For `AtWork`, return whether the tool has something running.
        """
        if isinstance(message, AtWork):
            return isinstance(self._executor, Watchful) and await self._executor.at_work()
        assert isinstance(message.command, ExecuteAction)
        command, action = message.command.id, message.command.action
        call, begun, told = self._call(message.command), time.monotonic(), list[Event]()
        try:
            async with self._kept(action, told):
                outcome = await self._looked_at_again(message.command) or await self._run(action, call)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._append(told, self._cut(action, call, time.monotonic() - begun), command)
            raise
        else:
            appended = await self._append(told, outcome, command)
            if call.left_lost:
                self._told_lost[action.resources] = appended.seq
            elif self._told_lost:
                self._told_lost.pop(action.resources, None)
        return None

    async def _append(self, told: Sequence[Event], outcome: Event, command: str) -> Cursor:
        """Log the outcome of a call, and what is told of the files, which is so even if the outcome comes too late."""
        try:
            return await self._log.append(*told, outcome, command=command)
        except NoLongerDue:
            if told:
                await self._log.append(*told)
            raise

    def _cut(self, action: ActionEvent, call: ToolCall, seconds: float) -> Event:
        """Return the outcome of a call that was cancelled by an interrupt, or because the conversation is left."""
        resumes = self._log.state.definition(action.tool_name).on_crash is OnCrash.RESUME
        if resumes and not self._log.state.branch.cut:
            return ExecutionLost(action_id=action.id, caused_by=action.id)
        return _failed(action, call, f"Interrupted after {seconds:.1f} s.{call.so_far()}")

    def _check_leaving(self, action: ActionEvent) -> None:
        """Raise `ToolError` for a call that leaves what confines the others, and that nobody was asked about."""
        from ..decisions.permissions import leaves

        if not leaves(self._log.state.definition(action.tool_name), action):
            raise ToolError(f"write `{self._leaves}` as it is called, if this conversation's tools have it")
        if self._asks_nobody and not self._place.place.workspace.may_leave:
            raise ToolError(_STAYS)

    @property
    def _asks_nobody(self) -> bool:
        return isinstance(self._log.state.spec.confirmation, NeverConfirm)

    def _writes_mark(self, action: ActionEvent) -> bool:
        """Return whether a call that may write has the mark of a masked secret in it, if there are any secrets."""
        tool = self._tools.annotations(action.tool_name)
        return bool(self._secrets.mask) and HIDDEN.encode() in bytes(action.arguments_json) and not tool.read_only

    def _call(self, command: ExecuteAction) -> ToolCall:
        return ToolCall(self._log, self._place, self._name, command, self._parts, self._tasks, self._calls)

    async def _looked_at_again(self, command: ExecuteAction) -> Event | None:
        """Return the event that has a call rated again if a file that it runs changed since its rating.

        Return an error if that happens too often, and None if no file changed.
        """
        if not command.files or command.resumed:
            return None
        path = await anyio.to_thread.run_sync(changed, command.files, self._place.place.workspace)
        if path is None:
            return None
        action = command.action
        if command.attempt > MOST_LOOKS:
            return action_error(action, _CHANGED.format(path))
        return ActionRevised(
            source="environment", action_id=action.id, arguments_json=action.arguments_json, resources=action.resources
        )

    async def _run(self, action: ActionEvent, call: ToolCall) -> Event:
        try:
            if self._writes_mark(action):
                raise ToolError(_MARKED)
            arguments = self._tools.parse(action.tool_name, action.arguments_json)
            if self._leaves and getattr(arguments, self._leaves):
                self._check_leaving(action)
            if self._may_be_unheld and self._asks_nobody and (why := await self._place.place.unheld()):
                from .unheld import refuse_unasked  # rarely needed, and slow to import

                await refuse_unasked(self._log, action, self._tools, self._place.place.workspace, why)
            if self._losable is not None and (loss := self._loss(action, self._losable.lost(arguments))) is not None:
                return loss
            try:
                with guarded:
                    observation = await self._executor(arguments, call)
            finally:
                call.left_lost = self._losable is not None and self._losable.lost(arguments)
            if not isinstance(observation, Observation):
                raise TypeError(f"it returned {type(observation).__name__}, not an Observation")
            details, fingerprint = details_of(observation), _fingerprint(observation)
        except ToolError as expected:
            observation = Observation(content=content.text(content.sound(str(expected))), is_error=True)
            details, fingerprint = details_of(observation), _fingerprint(observation)
        except Exception as failure:  # the model handles a tool's failure
            told = clip(content.sound(f"{self._name} failed: {type(failure).__name__}: {failure}"), MAX_RESULT)
            return _failed(action, call, told)
        return ObservationEvent(
            id=call.observation_id,
            action_id=action.id,
            tool_name=action.tool_name,
            tool_call_id=action.tool_call_id,
            content=await bounded(observation.content, self._log, self._secrets, call.spill),
            is_error=observation.is_error,
            details_json=details,
            labels=self._labels(action, observation.labels),
            fingerprint=fingerprint,
            found=observation.found,
            caused_by=action.id,
        )

    def _loss(self, action: ActionEvent, lost: bool) -> Event | None:
        """Return the event that has a call rated and asked again if its shell or the like has ended since."""
        if not lost or self._is_told(action) or action.id in self._asked_again:
            self._asked_again.discard(action.id)
            return None
        loss = lost_meanwhile(self._log.state, action)
        if loss is not None:
            self._asked_again.add(action.id)
        return loss

    def _is_told(self, action: ActionEvent) -> bool:
        """Return whether the model knew of the loss when it wrote the call."""
        return action.seq > self._told_lost.get(action.resources, action.seq)

    def _kept(self, action: ActionEvent, told: list[Event]) -> AbstractAsyncContextManager[None]:
        """Return a context that keeps the files before and after a call that may change them."""
        try:
            if self._keeper is not None and (
                (paths := self._tools.changes(action.tool_name, action.arguments_json)) or paths is None
            ):
                return self._keeper.around(action, told, paths)
        except BadCall:
            pass  # the call will be refused
        return nullcontext()

    def _labels(self, action: ActionEvent, said: tuple[Label, ...]) -> tuple[Label, ...]:
        """Return the labels of a result: those from the result itself, the tool and the action's rating."""
        rated = next((p.labels for p in self._log.state.branch.pending if p.action.id == action.id), ())
        declared = self._tools.labels(action.tool_name)
        return tuple(sorted({*rated, *declared, *said})) if declared or said else rated


def _failed(action: ActionEvent, call: ToolCall, told: str) -> Event:
    """Return the error of a call that began. It has the id under which the call's output was shown, now void."""
    return replace(action_error(action, content.without_nul(told)), id=call.observation_id)


def _fingerprint(observation: Observation) -> int:
    return 0 if observation.still_running else crc32(msgspec.json.encode(observation.content)) or 1

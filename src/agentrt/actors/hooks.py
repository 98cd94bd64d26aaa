"""`HookActor`: runs hooks, and logs their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from msgspec.structs import replace

from ..context.replies import BadCall, Toolbox
from ..decisions import RunHooks
from ..events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    ConversationErrorEvent,
    Event,
    HookExecutionEvent,
    HookRun,
    MessageEvent,
    ObservationEvent,
    UserRejectObservation,
)
from ..hooks import HookFunction, HookInput, HookResult, combined, run_hooks
from ..hooks.running import Asked, nobody
from ..placing import Place
from ..specs import Hook, HookEvent
from ..specs.content import plain, text
from ..specs.hooks import hooks_for
from ..state import Seen, State
from .dispatcher import Perform
from .event_log import Log

MAX_DENIALS = 3
"""How often in a row hooks may keep an agent that does nothing in between from finishing. Then the run fails."""


class HookActor(AbstractAsyncContextManager["HookActor"]):
    """Performs `RunHooks`. What hooks print is `masked` before it is cut."""

    def __init__(
        self,
        log: Log,
        functions: Mapping[str, HookFunction],
        toolbox: Toolbox,
        place: Place,
        masked: Callable[[str], str],
        asked: Asked = nobody,
    ) -> None:
        self._log, self._functions, self._toolbox, self._place = log, functions, toolbox, place
        self._masked, self._asked = masked, asked

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Run the hooks of one event, and append what follows from them as one batch."""
        assert isinstance(message.command, RunHooks)
        command, state = message.command, self._log.state
        action = command.action
        given = await self._given(command, state)
        outcome, event = await self.run(given, command.hooks, command.target)
        match command.event:
            case HookEvent.BEFORE_TOOL if action is not None:
                events = self._before_tool(action, outcome, event)
            case HookEvent.STOP:
                events = _at_the_end(outcome, event, given.metadata["denials"])
            case HookEvent.USER_MESSAGE if outcome.verdict == "deny":
                events = (event,)  # the context goes with the message, which is denied
            case _:
                events = (event, *_told(outcome, event))
        await self._log.append(*events, command=command.id)

    async def run(
        self, given: HookInput, hooks: Sequence[Hook], target: str = "", at_most: float = math.inf
    ) -> tuple[HookResult, HookExecutionEvent]:
        """Run those of the hooks that are for this event. Return their combined result, and the event that logs it.

        Each hook takes at most `at_most` seconds.
        """
        hooks = [
            replace(hook, timeout=min(hook.timeout, at_most))
            for hook in hooks_for(hooks, given.event_type, given.tool_name)
        ]
        results = await run_hooks(self._place, hooks, given, self._functions, self._masked, self._asked)
        outcome = combined(results)
        event = HookExecutionEvent(
            hook_event=given.event_type,
            target=target,
            verdict=outcome.verdict,
            reason=outcome.reason,
            runs=tuple(_noted(result) for result in results),
            by=outcome.name or None,
            caused_by=target or None,
        )
        return outcome, event

    def given(self, event: HookEvent, **more: Any) -> HookInput:
        """Return the input of the hooks of an event."""
        created = self._log.state.created
        assert created is not None
        return HookInput(
            event_type=event, session_id=created.conversation_id, working_dir=self._place.workspace.path, **more
        )

    async def _given(self, command: RunHooks, state: State) -> HookInput:
        event, action, here = command.event, command.action, state.branch
        match event:
            case HookEvent.BEFORE_TOOL if action is not None:
                return self.given(event, tool_name=action.tool_name, tool_input=action.arguments_json)
            case HookEvent.AFTER_TOOL:
                return await self._after_tool(command.target, state)
            case HookEvent.USER_MESSAGE | HookEvent.STOP:
                said = [seen for seen in (*here.queued, *here.view) if seen.id == command.target]
                if said and said[0].action_id:
                    said = [seen for seen in here.view if seen.id == said[0].action_id]
                words = "\n".join(_words(each) for each in await self._log.load(said))
                if event is HookEvent.USER_MESSAGE:
                    return self.given(event, message=words)
                denials = here.denied
                return self.given(event, message=words, metadata={"stop_hook_active": denials > 0, "denials": denials})
            case _:
                return self.given(event)

    async def _after_tool(self, action_id: str, state: State) -> HookInput:
        """Return the input of the hooks after a call, with the arguments that it ran with (a hook may rewrite them)."""
        inner = next((one for one in state.branch.inner if one.id == action_id), None)
        if inner is not None:
            first, *results = [seq for seq in (inner.seq, inner.result) if seq]
        else:
            first, *results = [seen.seq for seen in state.branch.view if action_id in (seen.id, seen.action_id)]
        since = range(first, (results[0] if results else first) + 1)
        events = await self._log.load([Seen(seq, "", "") for seq in since])
        revised = [e for e in events if isinstance(e, ActionRevised) and e.action_id == action_id]
        action = events[0]
        assert isinstance(action, ActionEvent)
        return self.given(
            HookEvent.AFTER_TOOL,
            tool_name=action.tool_name,
            tool_input=revised[-1].arguments_json if revised else action.arguments_json,
            tool_response=msgspec.Raw(msgspec.json.encode(_response(events[-1]) if results else None)),
        )

    def _before_tool(self, action: ActionEvent, outcome: HookResult, event: HookExecutionEvent) -> tuple[Event, ...]:
        revised: ActionRevised | None = None
        if outcome.arguments is not None and outcome.verdict != "deny":
            try:
                resources = self._toolbox.resources(action.tool_name, outcome.arguments)
            except BadCall as bad:
                reason = f"a hook rewrote the call into one that cannot run: {bad}"
                event = replace(event, verdict="deny", reason=reason)
            else:
                revised = ActionRevised(
                    action_id=action.id, arguments_json=outcome.arguments, resources=resources, caused_by=event.id
                )
        told = _told(outcome, event)
        if self._log.state.definition(action.tool_name).ends_turn and event.verdict != "deny":
            told = ()  # a message would make an agent that finishes begin again
        if event.verdict == "deny":
            return (event, _rejected(action, event), *told)
        return (event, revised, *told) if revised is not None else (event, *told)


def _at_the_end(outcome: HookResult, event: HookExecutionEvent, denials: int) -> tuple[Event, ...]:
    """Return the events of stop hooks. An agent that may finish is told nothing, since it would begin again."""
    if outcome.verdict != "deny":
        return (event,)
    if denials < MAX_DENIALS:
        return (event, _message(outcome.reason, event), *_told(outcome, event))
    detail = (
        f"hook {outcome.name!r} kept the agent from finishing {denials + 1} times in a row, and it did nothing in"
        f" between: {outcome.reason}. Tell the agent how to go on, or change the hook"
    )
    return (event, ConversationErrorEvent(code="stop_hook", detail=detail, caused_by=event.id))


def _told(outcome: HookResult, event: HookExecutionEvent) -> tuple[Event, ...]:
    return (_message(outcome.context, event),) if outcome.context else ()


def _noted(result: HookResult) -> HookRun:
    return HookRun(
        hook=result.name,
        verdict=result.verdict,
        reason=result.reason,
        exit_code=result.exit_code,
        stdout=result.stdout,
        stderr=result.stderr,
        error=result.error,
        seconds=round(result.seconds, 3),
    )


def _message(words: str, event: HookExecutionEvent) -> MessageEvent:
    return MessageEvent(source="hook", by=event.by, content=text(words), caused_by=event.id)


def _rejected(action: ActionEvent, event: HookExecutionEvent) -> UserRejectObservation:
    return UserRejectObservation(
        source="hook",
        by=event.by,
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        rejection_reason=event.reason,
        caused_by=event.id,
    )


def _response(result: Event) -> dict[str, object]:
    match result:
        case ObservationEvent():
            return {"content": plain(result.content), "is_error": result.is_error, "details": result.details_json}
        case AgentErrorEvent():
            return {"content": result.error, "is_error": True}
        case _:
            return {}


def _words(event: Event) -> str:
    """Return the text of a message, or of a call of `finish`: its message, else all of its arguments."""
    if isinstance(event, ActionEvent):
        arguments = msgspec.json.decode(event.arguments_json, type=dict[str, Any])
        return str(arguments.get("message") or bytes(event.arguments_json).decode())
    return plain(event.content) if isinstance(event, MessageEvent) else ""

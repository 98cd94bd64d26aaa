"""`HookActor`: runs hooks, and logs what they say."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from ..context.replies import BadCall, Toolbox
from ..decisions import RunHooks
from ..events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    Event,
    HookExecutionEvent,
    HookRun,
    MessageEvent,
    ObservationEvent,
    UserRejectObservation,
)
from ..hooks import HookFunction, HookInput, HookResult, combined, run_hooks
from ..specs import HookEvent, LocalWorkspace
from ..specs.content import plain, text
from ..specs.hooks import matches
from ..state import State
from .dispatcher import Perform
from .event_log import Log


class HookActor(AbstractAsyncContextManager["HookActor"]):
    """Performs `RunHooks`."""

    def __init__(
        self, log: Log, functions: Mapping[str, HookFunction], toolbox: Toolbox, workspace: LocalWorkspace
    ) -> None:
        self._log, self._functions, self._toolbox, self._workspace = log, functions, toolbox, workspace

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Run the hooks of one event; what they come to is one batch."""
        assert isinstance(message.command, RunHooks)
        command, state = message.command, self._log.state
        given = await self._given(command, state)
        outcome, event = await self.run(given, command.target)
        action = next((p.action for p in state.branch.pending if p.action.id == command.target), None)
        events = (event, *self._told(outcome, event))
        if action is not None and command.event is HookEvent.BEFORE_TOOL:
            events = self._before_tool(action, outcome, event)
        elif command.event is HookEvent.STOP and outcome.verdict == "deny":
            events = (*events, _message(outcome.reason, event))
        await self._log.append(*events, command=command.id)

    async def run(self, given: HookInput, target: str = "") -> tuple[HookResult, HookExecutionEvent]:
        """What the hooks of an event come to, and the event that says so."""
        hooks = [
            hook
            for hook in self._log.state.spec.hooks
            if hook.event is given.event_type and matches(hook, given.tool_name)
        ]
        results = await run_hooks(hooks, given, self._functions)
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
        """What the hooks of an event are told."""
        created = self._log.state.created
        assert created is not None
        return HookInput(event_type=event, session_id=created.conversation_id, working_dir=self._workspace.path, **more)

    async def _given(self, command: RunHooks, state: State) -> HookInput:
        event, here = command.event, state.branch
        match event:
            case HookEvent.BEFORE_TOOL:
                action = next(p.action for p in here.pending if p.action.id == command.target)
                return self.given(event, tool_name=action.tool_name, tool_input=action.arguments)
            case HookEvent.AFTER_TOOL:
                wanted = [seen for seen in here.view if command.target in (seen.id, seen.action_id)]
                called, *results = await self._log.load(wanted)
                assert isinstance(called, ActionEvent)
                response = msgspec.Raw(msgspec.json.encode(_response(results[0]) if results else None))
                return self.given(
                    event, tool_name=called.tool_name, tool_input=called.arguments, tool_response=response
                )
            case HookEvent.USER_MESSAGE | HookEvent.STOP:
                said = [seen for seen in (*here.view, *here.queued) if seen.id == command.target]
                return self.given(event, message="\n".join(_words(each) for each in await self._log.load(said)))
            case _:
                return self.given(event)

    def _before_tool(self, action: ActionEvent, outcome: HookResult, event: HookExecutionEvent) -> tuple[Event, ...]:
        revised: ActionRevised | None = None
        if outcome.arguments is not None and outcome.verdict != "deny":
            try:
                resources = self._toolbox.resources(action.tool_name, outcome.arguments)
            except BadCall as bad:
                reason = f"a hook rewrote the call into one that cannot run: {bad}"
                event = msgspec.structs.replace(event, verdict="deny", reason=reason)
            else:
                revised = ActionRevised(
                    action_id=action.id, arguments=outcome.arguments, resources=resources, caused_by=event.id
                )
        told = self._told(outcome, event)
        if event.verdict == "deny":
            return (event, _rejected(action, event), *told)
        return (event, revised, *told) if revised is not None else (event, *told)

    def _told(self, outcome: HookResult, event: HookExecutionEvent) -> tuple[Event, ...]:
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
            return {"content": plain(result.content), "is_error": result.is_error, "details": result.details}
        case AgentErrorEvent():
            return {"content": result.error, "is_error": True}
        case _:
            return {}


def _words(event: Event) -> str:
    return plain(event.content) if isinstance(event, (MessageEvent, ObservationEvent)) else ""

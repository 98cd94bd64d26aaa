"""`Oracle`: what must never happen, said a second time: from the events alone, and without the code that decides."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from agentrt.decisions import AssessRisk, CallModel, Condense, Delegate, ExecuteAction, Judge, RunHooks, Task
from agentrt.decisions.condensing import condensation_due
from agentrt.events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    Condensation,
    ConfirmationGiven,
    ConfirmationRequested,
    CriticAssessed,
    Event,
    ExecutionLost,
    ExecutionStarted,
    ExecutionStatus,
    HeadMoved,
    HookExecutionEvent,
    InputGiven,
    InputRequested,
    MessageEvent,
    ModelCallStarted,
    ObservationEvent,
    RiskAssessed,
    RuleAdded,
    RuleRemoved,
    RunEnded,
    ToolResultRequested,
    ToolResultsAwaited,
    UserRejectObservation,
)
from agentrt.specs import (
    Agent,
    AlwaysConfirm,
    CondensationReason,
    ConfirmRisky,
    HookEvent,
    NeverConfirm,
    PermissionRule,
    SecurityRisk,
)
from agentrt.state import Seen, State, apply

HARMLESS = ("think", "finish")
_LEVEL = {SecurityRisk.LOW: 1, SecurityRisk.MEDIUM: 2, SecurityRisk.HIGH: 3}


class Asked(msgspec.Struct):
    """What is known of one call."""

    action: ActionEvent
    untrusted: frozenset[str]
    """What the agent had seen when it asked for it."""
    risk: SecurityRisk | None = None
    sinks: tuple[str, ...] = ()
    hook: str = ""
    requested: bool = False
    approved: bool = False
    began: bool = False
    """Whether it was begun before, and lost to a crash."""
    running: bool = False
    results: int = 0


class Oracle:
    """Sees every event of a conversation and raises `AssertionError` for what must not be."""

    def __init__(self) -> None:
        self.calls: dict[str, Asked] = {}
        self.rules: list[PermissionRule] = []
        self.labels: dict[str, frozenset[str]] = {}
        """Of each observation, what it holds that nobody vouches for."""
        self.last_words: set[str] = set()
        """The answers in words, and the results of `finish`, by their ids."""
        self.unjudged = False
        """Whether actions have run that a critic of all actions has to judge."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Oracle:
        """One that has seen these events."""
        oracle = cls()
        oracle.see(State(), events)
        return oracle

    def see(self, before: State, batch: Iterable[Event]) -> None:
        """Look at a batch, each event with the state before it."""
        state = before
        for event in batch:
            after = apply(state, event)
            self._see(state, event, after)
            state = after

    def hold(self, before: State, command: Task, view: tuple[Seen, ...]) -> None:
        """Hold an outcome that was taken against what is so now: it must be of just that, and not of what was before.

        `view` is what the model saw when the command was handed out.
        """
        agent, goal = before.spec, before.ledger.goal
        match command:
            case AssessRisk():
                self._same_arguments(command.action)
                assert command.analyzers == agent.analyzers, "a rating is of the analyzers that there are"
            case RunHooks():
                names = ("*", "", command.action.tool_name) if command.action is not None else None
                hooks = [hook for hook in agent.hooks if hook.event is command.event]
                assert list(command.hooks) == [hook for hook in hooks if names is None or hook.matcher in names]
                if command.action is not None:
                    self._same_arguments(command.action)
                if command.event is HookEvent.STOP:
                    assert view == tuple(before.branch.view), "hooks allow the end that they have seen"
            case Judge():
                assert command.by == (goal.set if command.critic == "goal" and goal is not None else agent.critic)
                assert view == tuple(before.branch.view), "a verdict is of what there is to judge"
            case Condense():
                assert view == tuple(before.branch.view), "a condensation is of the view that it makes shorter"
            case CallModel() | ExecuteAction() | Delegate():
                assert command.id in before.in_flight, "what was begun has its outcome once"

    def _may_condense(self, before: State, after: State, event: Condensation) -> None:
        """It keeps what must stay together, and does not go round in a circle."""
        view, left = before.branch.view, after.branch.view
        gone = {*event.forgotten_event_ids}
        for seen in view:
            if seen.action_id and any(other.id == seen.action_id for other in view):
                assert (seen.id in gone) is (seen.action_id in gone), "a call stays with its result"
        assert sum(seen.type == "CondensationSummaryEvent" for seen in left) <= 1
        assert after.branch.tokens == sum(seen.tokens for seen in left)
        if event.reason in (CondensationReason.EVENTS, CondensationReason.TOKENS):
            again = condensation_due(after)
            assert again in (None, CondensationReason.REQUEST), "the view grows before it is condensed again"

    def _same_arguments(self, action: ActionEvent) -> None:
        assert action.arguments == self.calls[action.id].action.arguments, "an outcome is of the present arguments"

    def _see(self, before: State, event: Event, after: State) -> None:
        match event:
            case ActionEvent():
                seen = (self.labels.get(seen.id, frozenset()) for seen in before.branch.view)
                self.calls[event.id] = Asked(event, frozenset().union(*seen))
            case ObservationEvent() | AgentErrorEvent() | UserRejectObservation():
                call = self.calls[event.action_id]
                call.results += 1
                assert call.results == 1, "never two results for one call"
                self.unjudged |= call.running and _judges_all(before.spec)
                if isinstance(event, ObservationEvent):
                    self.labels[event.id] = frozenset(event.labels)
                    if event.tool_name == "finish" and not event.is_error:
                        self.last_words.add(event.id)
                if not after.branch.pending and self._has_ended(after):
                    self.unjudged = False
            case MessageEvent(source="agent", partial=False):
                self.last_words.add(event.id)
            case HeadMoved():
                self.unjudged = False
            case Condensation():
                self._may_condense(before, after, event)
            case ModelCallStarted():
                here = before.branch
                sent = here.tokens + sum(seen.tokens for seen in here.queued)
                assert not here.refused or sent < here.refused, "nothing is sent that is as long as what was refused"
            case CriticAssessed(midway=True):
                self._may_judge_midway(before, after)
                self.unjudged = False
            case CriticAssessed() | HookExecutionEvent(hook_event=HookEvent.STOP):
                assert self._has_ended(before), "nobody judges an end that is none"
            case RiskAssessed():
                call = self.calls[event.action_id]
                call.risk, call.sinks = event.risk, event.sinks
            case ActionRevised():
                call = self.calls[event.action_id]
                call.action = replace(call.action, arguments_json=event.arguments_json)
                call.risk, call.sinks, call.requested, call.approved = None, (), False, False
            case HookExecutionEvent(hook_event=HookEvent.BEFORE_TOOL) if event.target in self.calls:
                call = self.calls[event.target]
                call.hook = "ask" if call.hook == "ask" else event.verdict
            case RuleAdded():
                self.rules.append(event.rule)
            case RuleRemoved():
                self.rules = [rule for rule in self.rules if rule != event.rule]
            case ConfirmationRequested():
                for action_id in event.action_ids:
                    self.calls[action_id].requested = True
            case ConfirmationGiven():
                for action_id in event.action_ids:
                    waits = before.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
                    if waits and action_id in self.calls and self.calls[action_id].requested:
                        self.calls[action_id].approved = True
            case ExecutionLost():
                self.calls[event.action_id].began = True
                self.calls[event.action_id].running = False
            case ExecutionStarted():
                self._may_begin(before)
                self._may_run(self.calls[event.action_id], before.spec)
                self.calls[event.action_id].running = True
            case ToolResultRequested():
                self._may_begin(before)
                call = self.calls[event.action_id]
                self._may_run(call, before.spec)
                assert not call.running, "a client is asked once"
                call.running = True
            case InputRequested():
                assert self.calls[event.action_id].running, "only what runs asks a person"
            case InputGiven():
                assert any(one.id == event.request_id for one in before.branch.inputs), "one answer to a question"
            case ToolResultsAwaited():
                assert any(p.awaited for p in before.branch.pending), "only a client's result is waited for"
                assert not before.in_flight, "nothing else is left to be done"
            case ModelCallStarted():
                self._may_begin(before)
                self._may_call(after)
                assert not (self.unjudged and _judges_all(before.spec)), (
                    "a critic of all actions speaks before each call"
                )
                self.unjudged = False
            case RunEnded():
                assert before.status is ExecutionStatus.RUNNING, "only what runs ends"
                assert not before.in_flight, "nothing is open at the end"
                assert not any(seen.type == "MessageEvent" for seen in before.branch.queued), "nobody is left unheard"
            case _:
                pass
        if after.status is ExecutionStatus.FINISHED is not before.status:
            assert self._has_ended(after) or len(after.branch.view) <= 1, "it ends with the agent's last word"
            assert not after.branch.pending
        for held, budget in ((_cost, _money), (_tokens, _tokens_in_all)):
            assert held(after) <= max(budget(after), held(before)) + 1e-9, "never more than the budget"

    def _has_ended(self, state: State) -> bool:
        """Whether the agent has had its last word: nothing follows on that but other results of the same batch."""
        for seen in reversed(state.branch.view):
            if seen.id in self.last_words or not seen.action_id:
                return seen.id in self.last_words
        return False

    def _may_judge_midway(self, before: State, after: State) -> None:
        assert _judges_all(before.spec), "only a critic of all actions judges midway"
        assert not before.in_flight, "nobody judges what still runs"
        assert not before.branch.pending, "nobody judges half of a batch"
        assert not self._has_ended(before), "the end is judged as the end"
        assert after.status is before.status, "nothing follows from a verdict midway"
        assert after.branch.judged == before.branch.judged, "it sends nobody back"

    def _may_begin(self, before: State) -> None:
        assert before.status is ExecutionStatus.RUNNING, f"nothing begins while {before.status}"
        assert not before.branch.cut, "nothing begins before what was cut has ended"

    def _may_call(self, after: State) -> None:
        view = [seen for seen in after.branch.view if seen.type not in ("ResourceLost", "SecretsChanged")]
        assert len(view) > 1, "never a call with nothing to answer"
        last = max((place for place, seen in enumerate(view) if seen.id in self.last_words), default=None)
        heard = last is None or any(_said(seen) for seen in view[last + 1 :])
        assert heard, "never a call after finish, or the agent's last word, unless something was said since"
        results = [seen.action_id for seen in view if seen.action_id]
        assert len(results) == len(set(results)), "each call has one result in the view"
        open_calls = {seen.id for seen in view if seen.type == "ActionEvent"} ^ set(results)
        assert not open_calls, "each call that the model sees has its result"

    def _may_run(self, call: Asked, agent: Agent) -> None:
        action = call.action
        assert call.results == 0, "nothing runs that has a result"
        rules = [rule for rule in (*agent.rules, *self.rules) if _about(rule, action)]
        assert all(rule.verdict != "deny" for rule in rules), "what a rule denies never runs"
        hooks = [hook for hook in agent.hooks if hook.event is HookEvent.BEFORE_TOOL]
        if any(hook.matcher in ("*", action.tool_name) for hook in hooks):
            assert call.hook, "hooks see an action before it runs"
        assert call.hook != "deny", "what a hook denies never runs"
        assert call.risk is not None or not agent.analyzers, "what is rated is rated before it runs"
        assert call.approved or call.began or not self._asks(call, agent, rules), "never without the word it needed"

    def _asks(self, call: Asked, agent: Agent, rules: list[PermissionRule]) -> bool:
        """Whether a person has to be asked."""
        harmless = call.action.tool_name in HARMLESS
        flow = agent.flow
        if flow is not None and call.untrusted & set(flow.labels):
            nobody_knows = call.risk is SecurityRisk.UNKNOWN and not harmless
            if nobody_knows or set(call.sinks) & set(flow.sinks):
                return True
        if call.hook == "ask" or any(rule.verdict == "ask" for rule in rules):
            return True
        if any(rule.verdict == "allow" for rule in rules) or harmless or not agent.analyzers:
            return False
        match agent.confirmation:
            case NeverConfirm():
                return False
            case AlwaysConfirm():
                return True
            case ConfirmRisky(threshold, confirm_unknown):
                assert call.risk is not None
                if call.risk is SecurityRisk.UNKNOWN:
                    return confirm_unknown
                return _LEVEL[call.risk] >= _LEVEL[threshold]


def _said(seen: Seen) -> bool:
    """Whether somebody else than the agent said it."""
    return seen.type == "CondensationSummaryEvent" or (seen.type == "MessageEvent" and not seen.answer)


def _judges_all(agent: Agent) -> bool:
    return agent.critic is not None and agent.critic.mode == "all_actions"


def _about(rule: PermissionRule, action: ActionEvent) -> bool:
    """Whether a rule is about an action: enough for patterns that are "*", a text, or a beginning and "*"."""
    if rule.tool not in ("*", action.tool_name):
        return False
    if rule.pattern == "*":
        return True
    given = msgspec.json.decode(action.arguments_json)
    text: str = msgspec.json.encode(given, order="sorted").decode() if rule.argument == "{}" else given["command"]
    if not rule.pattern.endswith("*"):
        return text == rule.pattern
    plain = rule.verdict != "allow" or not set(text) & set(";&|\n$`")
    return text.startswith(rule.pattern[:-1]) and plain


def _money(state: State) -> float:
    limits = state.agent.limits if state.agent is not None else None
    return float("inf") if limits is None or limits.max_cost is None else limits.max_cost + state.ledger.granted


def _tokens_in_all(state: State) -> float:
    limits = state.agent.limits if state.agent is not None else None
    return float("inf") if limits is None or limits.max_tokens is None else limits.max_tokens


def _cost(state: State) -> float:
    """What was spent, reserved and granted."""
    ledger = state.ledger
    spent = sum(each.cost for each in ledger.spending.values())
    grants = sum(child.grant.cost or 0.0 for child in ledger.children.values() if child.open)
    return spent + sum(each.cost for each in ledger.reserved.values()) + grants


def _tokens(state: State) -> float:
    ledger = state.ledger
    spent = sum(each.usage.total for each in ledger.spending.values())
    grants = sum(child.grant.tokens or 0 for child in ledger.children.values() if child.open)
    return spent + sum(each.tokens for each in ledger.reserved.values()) + grants

"""`World`: a conversation played with the log's own logic: its performers, people, crashes and forks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeVar

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.context.condensing import cut, maskable, reset, room_after
from agentrt.decisions import (
    Activate,
    AssessRisk,
    Attend,
    CallModel,
    Condense,
    Delegate,
    ExecuteAction,
    Judge,
    RunHooks,
    Task,
    action_error,
    check,
    complete,
    decide,
    failed,
    forked,
    lost,
    recovery,
    refusal,
    wanted,
)
from agentrt.events import (
    ActionEvent,
    ActionRevised,
    BudgetReserved,
    ChildAction,
    ChildFinished,
    ChildWaiting,
    Condensation,
    CondensationRequest,
    ConversationCreated,
    ConversationErrorEvent,
    CriticAssessed,
    Event,
    ExecutionStatus,
    HookExecutionEvent,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
    ObservationEvent,
    RiskAssessed,
    SkillActivated,
    UserRejectObservation,
)
from agentrt.ledger import allowance
from agentrt.specs import Agent, CondensationReason, HookEvent, ObservationMaskingCondenser, OnCrash, SecurityRisk
from agentrt.specs.condensers import stages
from agentrt.specs.content import text
from agentrt.specs.flow import Label, Sink
from agentrt.specs.rules import Verdict
from agentrt.state import Seen, State
from agentrt.state.seeing import condensed
from agentrt.usage import Spending, Usage
from tests import samples

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]

COMMANDS = ("ls", "rm x", "ls; rm x", "cat x")
TOOLS = ("look", "press", "terminal", "once", "delegate", "delegate", "think", "finish")
LABELS: tuple[tuple[Label, ...], ...] = ((), (), ("web",), ("outside",))
SINKS: tuple[tuple[Sink, ...], ...] = ((), (), ("network",), ("secrets", "push"))
VERDICTS: tuple[Verdict, ...] = ("allow", "allow", "deny", "ask")
RESOURCES: tuple[tuple[str, ...], ...] = ((), ("x",), ("y",), ("*",))


class Given(NamedTuple):
    """A command as its performer got it, and what the model saw then."""

    command: Task
    view: tuple[Seen, ...]


class World:
    """What is known is in `state` and `events`; `at_work` are the commands that performers have, by their ids.

    `saw` is told of each batch, and of the command whose outcome it is, before anything else happens. `draw` draws what
    is random.
    """

    def __init__(self, agent: Agent, draw: Draw, saw: Callable[[State, Sequence[Event], Given | None], None]) -> None:
        self.draw, self.saw = draw, saw
        self.events: list[Event] = []
        self.state = State()
        self.before: list[tuple[int, State]] = []
        """Where each batch began, and the state there."""
        self.at_work: dict[str, Task] = {}
        self.cancelled: set[str] = set()
        self.given: dict[str, Given] = {}
        """Every command as its performer got it, by its id."""
        self.next: dict[str, Given] = {}
        self.aside: dict[str, BudgetReserved] = {}
        """Calls besides the conversation, in flight."""
        self.calm = False
        """Whether everyone does what brings the conversation to its end."""
        self._handed: frozenset[str] = frozenset()
        self._ids = count(1)
        tools = (
            samples.definition("terminal", holds_resource=True),
            samples.definition("look", OnCrash.RETRY),
            samples.definition("once", OnCrash.FAIL),
            replace(samples.definition("press"), client=True),
            samples.definition("delegate", OnCrash.RETRY),
            samples.definition("finish"),
        )
        created, prompt = samples.beginning(agent)
        self.append(created, replace(prompt, tools=tools))

    def pick(self, values: Sequence[T]) -> T:
        """One of them."""
        chosen: T = self.draw(st.sampled_from(values))
        return chosen

    def new(self, kind: str) -> str:
        """An id that the world has not seen."""
        return f"{kind}{next(self._ids)}"

    # The log

    def append(self, *events: Event, command: str | None = None) -> bool:
        """Append as the log does; whether it was taken."""
        if refusal(self.state, events, command) is not None:
            return False
        self.commit(wanted(self.state, events), command)
        return True

    def commit(self, events: Sequence[Event], command: str | None = None) -> None:
        """Commit a batch, perhaps as the outcome of a command, and hand out what it makes due."""
        if not events:
            return
        check(self.state, events)
        before = self.state
        batch, self.state, due = complete(before, events)
        self.before.append((len(self.events), before))
        self.events += batch
        self.saw(before, batch, self.given.get(command or ""))
        cuts = [event for event in batch if isinstance(event, InterruptEvent)]
        cut, goes_on = bool(cuts), all(event.goes_on for event in cuts)
        handed = frozenset() if cut else self._handed
        self._handed = frozenset(task.id for task in due)
        if cut:
            self.next.clear()
            stay = {name for name, task in self.at_work.items() if goes_on and isinstance(task, Attend)}
            self.cancelled |= self.at_work.keys() - stay
        for task in due:
            if task.id in handed:
                continue
            given = Given(task, tuple(self.state.branch.view))
            if isinstance(task, Attend) and task.id in self.at_work and task.id not in self.cancelled:
                continue
            if task.id in self.at_work:
                self.next[task.id] = given
            else:
                self._hand_out(given)

    def _hand_out(self, given: Given) -> None:
        self.given[given.command.id] = given
        self.at_work[given.command.id] = given.command

    # Crashes and forks

    def crash(self, *, lose: bool) -> None:
        """The process dies, perhaps before its last batch was durable, and another one opens the log."""
        if lose and len(self.before) > 1:
            place, self.state = self.before.pop()
            del self.events[place:]
        self._forget()
        self.commit(recovery(self.state))

    def fork(self) -> None:
        """Go on with a fork: the performers stay with the other one."""
        created = ConversationCreated(
            conversation_id=self.new("c"), agent=self.state.spec, workspace=samples.WORKSPACE, parent="c"
        )
        self._forget()
        self.commit(forked(self.state, created))

    def _forget(self) -> None:
        self.at_work.clear()
        self.cancelled.clear()
        self.next.clear()
        self.aside.clear()
        self._handed = frozenset()

    # Performers

    def perform(self, command: Task, *, fails: bool = False) -> None:
        """A performer goes on, or fails: in the end its outcome is in the log, or refused."""
        if command.id in self.cancelled:
            self._close(command, self._cut(command), None)
        elif fails:
            self._close(command, (), "crashed")
        elif isinstance(command, CallModel) and self._reserves(command):
            return
        elif isinstance(command, Delegate | Attend) and not self.calm and self.pick((True, True, False)):
            self.child_asks(command, self.pick((1, 1, 2, 0)))
        else:
            self._close(command, self._outcome(command), None)

    def _close(self, command: Task, outcome: Sequence[Event], problem: str | None) -> None:
        """As the dispatcher does: what was begun does not stay open."""
        if outcome and not self.append(*outcome, command=command.id) and isinstance(command, CallModel):
            self.append(*(event for event in outcome if isinstance(event, ModelCalled)), command=command.id)
        if isinstance(command, Attend):
            if problem is not None and command.child_id in self.state.background and command.id not in self.cancelled:
                self.append(*failed(self.state, command, None, "", problem), command=command.id)
        elif command.id in self.state.in_flight or problem is not None:
            events: tuple[Event, ...] = lost(self.state, command.id, problem or "it did not finish")
            if not self.state.branch.cut:
                match command:
                    case AssessRisk(_, action):
                        events = (RiskAssessed(action_id=action.id, risk=SecurityRisk.HIGH),)
                    case CallModel() | Condense() | RunHooks() | Judge():
                        events = (*events, ConversationErrorEvent(code="internal", detail="it failed"))
                    case _:
                        pass
            self.append(*events, command=command.id)
        del self.at_work[command.id]
        self.cancelled.discard(command.id)
        if (again := self.next.pop(command.id, None)) is not None:
            self._hand_out(again)

    def _cut(self, command: Task) -> Sequence[Event]:
        """What a performer that was cancelled says; some say nothing, and some had ended just before."""
        match command:
            case CallModel(id):
                match self.pick(("so far", "so far", "reply", "nothing")):
                    case "so far":
                        return (*self._called(id, "interrupted"), samples.answer(partial=True))
                    case "reply":
                        return self._reply(id)
                    case _:
                        return ()
            case ExecuteAction(_, action):
                return (self.pick((self._observed(action), action_error(action, "cut"))),) if self.pick((1, 0)) else ()
            case Delegate(_, action, _, child_id):
                return (self._child_finished(child_id), action_error(action, "cut")) if self.pick((1, 0)) else ()
            case Attend(_, child_id) if self.pick((1, 1, 0)) and child_id in self.state.background:
                return (self._child_finished(child_id), MessageEvent(content=text("It was cut.")))
            case _:
                return ()

    def _outcome(self, command: Task) -> Sequence[Event]:
        match command:
            case CallModel(id):
                return self._reply(id)
            case AssessRisk(_, action):
                risk = SecurityRisk.LOW if self.calm else self.pick(tuple(SecurityRisk))
                return (RiskAssessed(action_id=action.id, risk=risk, sinks=self.pick(SINKS), labels=self.pick(LABELS)),)
            case ExecuteAction(_, action):
                failed = not self.calm and self.pick((False, False, True))
                return (action_error(action, "failed") if failed else self._observed(action),)
            case Delegate(_, action, _, child_id):
                return (self._child_finished(child_id), self._observed(action))
            case Activate(_, due, action):
                told = SkillActivated(skill=due.skill, cause=due.cause, content=text("Do it."))
                return (told,) if action is None else (self._observed(action), told)
            case Condense():
                return self._condensed(command)
            case RunHooks(_, event, target):
                return self._hooks(event, target)
            case Judge(_, _, midway):
                return self._judged_midway() if midway else self._judged(command.critic)
            case Attend(_, child_id):
                return (self._child_finished(child_id), MessageEvent(content=text("It has ended.")))

    def _condensed(self, command: Condense) -> Sequence[Event]:
        """What a condenser makes of the view: less, all of it summed up, nothing, or that it cannot be less."""
        here, event = self.state.branch, self._made_less(command)
        must = here.condense == "needed" or (command.reason is CondensationReason.REQUEST and not here.condense)
        if must and sum(seen.tokens for seen in condensed(here.view, event)) >= here.tokens:
            return (ConversationErrorEvent(code="context_window", detail="too small"),)
        return (event,)

    def _made_less(self, command: Condense) -> Condensation:
        event = Condensation(reason=command.reason)
        view = list(self.state.branch.view)
        for one in stages(self.state.spec.condenser):
            if isinstance(one, ObservationMaskingCondenser):
                event = replace(event, masked_event_ids=tuple(s.id for s in maskable(view, one.attention_window)))
                continue
            room = room_after(self.state, one, command.reason, view)
            if room.events is None and room.tokens is None:
                continue
            at = cut(view, one.keep_first, room, one.minimum_progress)
            if at is None and room.must:
                at = reset(view, one.keep_first, room)
            if at is not None:
                gone = tuple(seen.id for seen in view[at.first : at.end])
                masked = tuple(name for name in event.masked_event_ids if name not in gone)
                return replace(event, forgotten_event_ids=gone, masked_event_ids=masked, summary="It went on.")
        return event

    def _reserves(self, command: CallModel) -> bool:
        """Whether the call has to reserve a part of the budget now, or end since none is left."""
        limits, ledger = self.state.spec.limits, self.state.ledger
        if (limits.max_cost is None and limits.max_tokens is None) or command.id in ledger.reserved:
            return False
        reserved = self._reservation(command.id)
        if reserved is None:
            error = ConversationErrorEvent(code="max_cost", detail="nothing is left")
            self._close(command, (*self._called(command.id, "max_cost"), error), None)
        else:
            self.append(reserved)
        return True

    def _reservation(self, command: str) -> BudgetReserved | None:
        left = allowance(self.state.ledger, self.state.spec.limits, besides=command)
        cost = 0.0 if left.cost is None else left.cost * self.pick((0.05, 0.25))
        tokens = 20 if left.tokens is None else min(left.tokens, 20)
        if (left.cost is not None and cost <= 0) or tokens <= 0:
            return None
        return BudgetReserved(command=command, tokens=tokens, cost=cost)

    def _called(self, command: str, error: str | None = None) -> tuple[Event, ...]:
        held, limits = self.state.ledger.reserved.get(command), self.state.spec.limits
        if held is None and (limits.max_cost is not None or limits.max_tokens is not None):
            return (ModelCalled(command=command, model="m", error=error),)
        tokens = self.pick((0, 1, 5)) if held is None else self.pick((0, held.tokens // 4, held.tokens // 2))
        cost = self.pick((None, 0.1)) if held is None else self.pick((0.0, held.cost))
        usage = Usage(tokens // 2, tokens - tokens // 2)
        return (ModelCalled(command=command, model="m", usage=usage, cost=cost, error=error),)

    def retry(self, command: CallModel) -> None:
        """A try of a call fails, having used something."""
        held = self.state.ledger.reserved.get(command.id)
        if command.id in self.state.in_flight and held is not None:
            usage = Usage(held.tokens // 2, 0)
            self.append(
                ModelCallRetried(
                    command=command.id,
                    attempt=1,
                    model="m",
                    next_model="m",
                    code="timeout",
                    detail="slow",
                    usage=usage,
                    cost=held.cost / 2,
                )
            )

    def _reply(self, command: str) -> Sequence[Event]:
        called = self._called(command)
        kind = (
            "finish"
            if self.calm
            else self.pick(("calls",) * 8 + ("words", "words", "finish", "nothing", "long", "error"))
        )
        match kind:
            case "words":
                return (*called, samples.answer())
            case "nothing":
                return (*called, MessageEvent(content=text("Your reply was empty.")))
            case "long":
                return (*called, CondensationRequest())
            case "error":
                return (*called, ConversationErrorEvent(code="timeout", detail="try again"))
            case "finish":
                return (*called, self.call("finish"))
            case _:
                calls = [self.call(self.pick(TOOLS)) for _ in range(self.pick((1, 1, 2, 3)))]
                bad = [action for action in calls if self.pick((False, False, False, True))]
                return (*called, *calls, *(action_error(action, "no such argument") for action in bad))

    def call(self, name: str) -> ActionEvent:
        """A call of a tool, with one of a few commands."""
        return ActionEvent(
            id=self.new("a"),
            tool_name=name,
            tool_call_id="call_1",
            arguments_json=msgspec.Raw(msgspec.json.encode(self._arguments(name))),
            llm_response_id=f"r{self.state.seq}",
            resources=("*",) if name == "finish" else self.pick(RESOURCES),
        )

    def _arguments(self, name: str) -> dict[str, object]:
        if name != "delegate":
            return {"command": self.pick(COMMANDS)}
        known = self.pick((False, False, True)) and [*self.state.ledger.children, "nobody"]
        resumed = {"resume": self.pick(known)} if known else {}
        background = self.pick((False, True))
        return {"command": self.pick(COMMANDS), "task": "t", "run_in_background": background, **resumed}

    def _observed(self, action: ActionEvent) -> ObservationEvent:
        return ObservationEvent(
            action_id=action.id,
            tool_name=action.tool_name,
            tool_call_id=action.tool_call_id,
            content=text("ok"),
            labels=self.pick(LABELS),
            fingerprint=self.pick((0, 1, 1, 2)),
            is_error=not self.calm and self.pick((False, False, False, True)),
        )

    def _hooks(self, event: HookEvent, target: str) -> Sequence[Event]:
        verdict: Verdict = "allow" if self.calm else self.pick(VERDICTS)
        ran = HookExecutionEvent(hook_event=event, target=target, verdict=verdict)
        told = () if self.calm or self.pick((True, True, False)) else (_said("hook"),)
        action = next((p.action for p in self.state.branch.pending if p.action.id == target), None)
        match event:
            case HookEvent.BEFORE_TOOL if action is not None and verdict == "deny":
                return (ran, _rejected(action, "hook"), *told)
            case HookEvent.BEFORE_TOOL if action is not None and not self.calm and self.pick((True, False, False)):
                made = msgspec.Raw(msgspec.json.encode({"command": self.pick(COMMANDS)}))
                return (
                    ran,
                    ActionRevised(action_id=target, arguments_json=made, resources=self.pick(RESOURCES)),
                    *told,
                )
            case HookEvent.STOP if verdict == "deny":
                return (ran, *told, _said("hook"))
            case _:
                return (ran, *told)

    def _judged(self, critic: str) -> Sequence[Event]:
        success = self.calm or self.pick((True, False))
        assessed = CriticAssessed(critic=critic, score=float(success), success=success)
        spec, goal = self.state.spec.critic, self.state.ledger.goal
        due = any(isinstance(c, Judge) and (c.critic, c.midway) == (critic, False) for c in decide(self.state))
        if critic == "goal":
            assert goal is not None or not due, "nobody holds an end against a goal that there is not"
            again = goal is not None and goal.iterations + 1 < goal.set.max_iterations
        else:
            assert spec is not None or not due, "nobody asks a critic that there is not"
            again = spec is not None and self.state.branch.judged < spec.max_iterations
        return (assessed, _said("environment")) if again and not success else (assessed,)

    def _judged_midway(self) -> Sequence[Event]:
        success = self.pick((True, False))
        error = "" if success or self.calm else self.pick(("", "OSError: the disk is gone"))
        return (CriticAssessed(critic="pass", score=float(success), success=success, midway=True, error=error),)

    def child_asks(self, command: Delegate | Attend, actions: int) -> None:
        """A child waits for a person, or does not any more."""
        child = self.state.ledger.children[command.child_id]
        asked = tuple(ChildAction(self.new("b"), "terminal", "{}", SecurityRisk.HIGH, "risk") for _ in range(actions))
        at_work = command.id in self.state.in_flight or isinstance(command, Attend)
        if child.open and at_work and command.id not in self.cancelled:
            self.append(ChildWaiting(child_id=command.child_id, actions=asked))

    def _child_finished(self, child_id: str) -> ChildFinished:
        child = self.state.ledger.children[child_id]
        grant, before = child.grant, child.counted.spending.get("default", Spending())
        part = self.pick((0.0, 0.5, 1.0))
        cost = (grant.cost or 0.0) * part
        tokens, steps = int((grant.tokens or 0) * part), int((grant.steps or 0) * part)
        spent = dict(child.counted.spending) | {"default": before + Spending(usage=Usage(tokens), cost=cost)}
        ended = self.pick((ExecutionStatus.FINISHED, ExecutionStatus.ERROR))
        taken, heard = child.counted.steps + min(steps, 3), len(child.messages)
        return ChildFinished(child_id=child_id, status=ended, cost=cost, spending=spent, steps=taken, heard=heard)

    def begin_aside(self) -> None:
        """Something is asked besides the conversation."""
        reserved = self._reservation(name) if (name := self.new("ask-agent-")) else None
        if reserved is not None:
            self.aside[name] = reserved
            self.append(reserved)

    def end_aside(self, name: str) -> None:
        """It was answered."""
        self.append(*self._called(name))
        del self.aside[name]


def _said(source: Any) -> MessageEvent:
    return MessageEvent(source=source, content=text("By the way."))


def _rejected(action: ActionEvent, source: Any) -> UserRejectObservation:
    return UserRejectObservation(
        source=source, action_id=action.id, tool_name=action.tool_name, tool_call_id=action.tool_call_id
    )

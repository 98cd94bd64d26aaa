"""`decide`: the commands that are due now: all rules of the agent loop, as a pure function of the state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..events import ActionEvent, ExecutionStatus
from ..ledger import allowance
from ..specs import CondensationReason, HookEvent, OnCrash, PermissionRule
from ..specs.hooks import hooks_for
from ..specs.stuck import judges_all
from ..state import Activation, Ended, Ending, Pending, State, Working, beginnable
from .allowing import allowed, granted, invoked
from .commands import (
    Activate,
    AssessRisk,
    Attend,
    AwaitChildren,
    AwaitResults,
    CallModel,
    Command,
    Condense,
    Delegate,
    End,
    ExecuteAction,
    Execution,
    Judge,
    Launch,
    Refuse,
    RequestConfirmation,
    RequestResult,
    RunHooks,
    Stop,
    Tell,
    Warn,
)
from .condensing import condensation_due
from .ending import has_ended, left, waits_below
from .naming import (
    activating_id,
    attending_id,
    condensing_id,
    counted_id,
    execution_id,
    hooks_id,
    judging_id,
    rating_id,
)
from .permissions import asked, heard, ruling
from .repetition import repetition
from .sharing import child_id, delegated, grant, used_steps

SIDE_BY_SIDE = 16
"""Maximum number of actions of a batch that are rated, or given to hooks, side by side; also of background tasks."""


def decide(state: State) -> tuple[Command, ...]:
    """Return the commands that are due, in order; none while a conversation does not run."""
    if state.status is not ExecutionStatus.RUNNING or state.branch.cut:
        return ()
    attended = tuple(Attend(attending_id(child), name) for name, child in state.background.items())
    return (*attended, *_next(state)) if attended else _next(state)


def _next(state: State) -> tuple[Command, ...]:
    """Return the commands that are due besides those for background conversations."""
    here = state.branch
    if here.pending:
        return _for_pending(state)
    if here.call is not None:
        return ()
    if commands := _before_going_on(state):
        return commands
    if state.background and has_ended(state):
        return (AwaitChildren(f"await-{state.seq}"),) if waits_below(state) else ()
    if here.condense:
        return (Condense(condensing_id(state), CondensationReason.REQUEST),)
    if (reached := _limit(state)) is not None:
        return (Stop(counted_id("stop", state), *reached),)
    if (stuck := _stuck(state)) is not None:
        return (stuck,)
    if (reason := condensation_due(state)) is not None:
        return (Condense(condensing_id(state), reason),)
    if unheard_servers(state):
        return ()
    return (CallModel(counted_id("call", state)),)


def unheard_servers(state: State) -> list[str]:
    """Return the enabled MCP servers whose tools are not known yet; the next model call waits until they are."""
    return [name for name, one in state.spec.mcp_servers.items() if not one.disabled and name not in state.servers]


def _before_going_on(state: State) -> tuple[Command, ...]:
    """Return the commands that come before the next model call: hooks, the end of the run, critics and skills."""
    here = state.branch
    if here.done:
        return tuple(_hooks(state, HookEvent.AFTER_TOOL, action_id) for action_id in here.done[:SIDE_BY_SIDE])
    if commands := _at_the_end(state):
        return commands
    critic = state.spec.critic
    if isinstance(here.phase, Working) and here.phase.unjudged and critic is not None and judges_all(critic):
        return (Judge(judging_id(state, critic, midway=True), critic, midway=True),)
    if not state.ledger.started and hooks_for(state.spec.hooks, HookEvent.START):
        return (_hooks(state, HookEvent.START),)
    if here.unheard:
        return tuple(_hooks(state, HookEvent.USER_MESSAGE, message_id) for message_id in here.unheard[:SIDE_BY_SIDE])
    return tuple(Activate(activating_id(state, due), due) for due in here.activating[:SIDE_BY_SIDE])


def _at_the_end(state: State) -> tuple[Command, ...]:
    """Return the next final check, or the end of the run; nothing if the agent has something to do."""
    here = state.branch
    if state.background or not has_ended(state):
        return ()
    critic, goal = state.spec.critic, state.ledger.goal
    match left(state):
        case "critic" if critic is not None:
            return (Judge(judging_id(state, critic), critic),)
        case "goal" if goal is not None:
            return (Judge(judging_id(state, goal.set), goal.set),)
        case "stop":
            return (_hooks(state, HookEvent.STOP, here.view[-1].id),)
        case _:
            word = isinstance(here.phase, Ending | Ended)
            return (End(f"end-{state.seq}", "answered" if word else "nothing_to_do"),)


def _hooks(state: State, event: HookEvent, target: str = "") -> RunHooks:
    hooks = tuple(hook for hook in state.spec.hooks if hook.event is event)
    return RunHooks(hooks_id(state, event, target, 0, hooks), event, target, hooks)


def _hooks_before(state: State, p: Pending) -> RunHooks:
    event, action = HookEvent.BEFORE_TOOL, p.action
    hooks = hooks_for(state.spec.hooks, event, action.tool_name)
    return RunHooks(hooks_id(state, event, action.id, p.revised, hooks), event, action.id, hooks, action)


def _limit(state: State) -> tuple[str, str] | None:
    """Return the code of the limit that prevents the next model call, and what to do about it; None if none does."""
    limits = state.spec.limits
    if used_steps(state) >= limits.max_steps:
        taken = f"the run took {limits.max_steps} model calls, its limit"
        return "max_steps", f"{taken}: run again to go on, or raise Limits.max_steps"
    if limits.max_cost is None and limits.max_tokens is None:
        return None
    left = allowance(state.ledger, limits)
    if left.cost is not None and left.cost <= 0:
        spent = f"${state.ledger.cost:.4f} of ${(limits.max_cost or 0) + state.ledger.granted:.4f} are spent"
        return "max_cost", f"{spent}: grant more with conversation.grant(), or raise Limits.max_cost"
    if left.tokens is not None and left.tokens <= 0:
        return "max_tokens", f"{limits.max_tokens:,} tokens are used, the limit: raise Limits.max_tokens to go on"
    return None


def _stuck(state: State) -> Warn | None:
    """Return the stop of an agent that goes round in circles, or its warning one repetition before; else None."""
    here, limits = state.branch, state.spec.stuck
    if limits is None or any(queued.user for queued in here.queued):
        return None
    found = repetition(here.view, limits, here.queued, here.nudged, here.rearmed)
    if found is None:
        return None
    told = not limits.nudge or here.nudged >= found.since
    stop = told and found.times >= found.limit
    return Warn(f"stuck-{state.seq}", found.pattern, found.detail, stop) if stop or not told else None


def _for_pending(state: State) -> tuple[Command, ...]:
    waiting = [p for p in state.branch.pending if p.command is None and not p.awaited]
    if hooked := [p for p in waiting if not heard(state, p)]:
        return tuple(_hooks_before(state, p) for p in hooked[:SIDE_BY_SIDE])
    if outside := tuple(_outside(state, p.action) for p in waiting if not allowed(state, p.action)):
        return outside
    ruled = [(p, ruling(state, p.action) or granted(state, p.action)) for p in waiting]
    if refused := tuple(_refusal(p.action, rule) for p, rule in ruled if rule is not None and rule.verdict == "deny"):
        return refused
    analyzers = state.spec.analyzers
    if (unrated := [p for p in waiting if p.risk is None]) and analyzers:
        return tuple(AssessRisk(rating_id(p, analyzers), p.action, analyzers) for p in unrated[:SIDE_BY_SIDE])
    if held := tuple((p.action.id, code) for p, rule in ruled if (code := asked(state, p, rule)) is not None):
        return (RequestConfirmation(f"confirm-{held[0][0]}", held),)
    begin = beginnable(state.branch.pending, state.spec.limits.tool_concurrency)
    if due := tuple(_execution(state, p) for p in _one_each(state, begin)):
        return due
    if waits_below(state):
        return (AwaitChildren(f"await-{state.seq}"),)
    cells = {p.action.within for p in state.branch.pending if p.awaited}
    at_work = any(p.command is not None and p.action.id not in cells for p in state.branch.pending)
    awaited = any(p.awaited for p in state.branch.pending) and not at_work
    return (AwaitResults(f"await-{state.seq}"),) if awaited else ()


def _refusal(action: ActionEvent, rule: PermissionRule) -> Refuse:
    about = "" if rule.pattern == "*" else f" with {rule.argument or 'arguments'} like {rule.pattern}"
    reason = f"A rule denies {rule.tool}{about}. Find another way, or say what you would have done."
    return Refuse(f"refuse-{action.id}", action, reason)


def _outside(state: State, action: ActionEvent) -> Refuse:
    here = state.branch
    limits = [f"leaves only {', '.join(entries)}" for entries in here.allowed]
    limits += [f"forbids {', '.join(here.disallowed)}"] if here.disallowed else []
    reason = (
        f"The skill that you follow {' and '.join(limits)} until this task ends. So this call of {action.tool_name} was"
        " not made. Go on without it, or say what you would have done."
    )
    return Refuse(f"refuse-{action.id}", action, reason)


def _one_each(state: State, begin: Sequence[Pending]) -> Iterator[Pending]:
    """Yield the actions that begin now. Of several that resume the same task, only the first begins, and only if none
    of them is at work; of those that begin a background task, only the first. The others are decided afterwards.
    """
    at_work = {p.action.id for p in state.branch.pending if p.command is not None}
    children = state.ledger.children.items()
    tasks = {name for name, one in children if one.open and not one.background and one.action_id in at_work}
    launched = False
    for p in begin:
        if state.definition(p.action.tool_name).delegates:
            in_background = delegated(p.action.arguments_json).background
            if child_id(p) in tasks or (in_background and launched):
                continue
            tasks.add(child_id(p))
            launched = launched or in_background
        yield p


def _delegation(state: State, p: Pending, name: str, attempt: int) -> Delegate | Launch | Tell | Refuse:
    """Return the command for a delegated action: to begin a conversation, to go on with one, to send a message to one
    that already works, or to refuse the action.
    """
    wanted, child = delegated(p.action.arguments_json), child_id(p)
    known = state.ledger.children.get(child)
    if wanted.resume and (known is None or not known.action_id):
        there = ", ".join(name for name, one in state.ledger.children.items() if one.action_id) or "none"
        reason = f"Unknown task {wanted.resume!r}; tasks to resume: {there}"
        return Refuse(f"refuse-{p.action.id}", p.action, reason)
    if known is not None and known.open and known.action_id != p.action.id:
        if known.background:
            return Tell(name, p.action, attempt, child)
        return Refuse(f"refuse-{p.action.id}", p.action, f"Task {child!r} is at work: wait for its report.")
    if not wanted.background:
        return Delegate(name, p.action, attempt, child, grant(state, p))
    if len(state.background) >= SIDE_BY_SIDE:
        reason = f"{SIDE_BY_SIDE} tasks work in the background, the most: wait until one of them has ended."
        return Refuse(f"refuse-{p.action.id}", p.action, reason)
    return Launch(name, p.action, attempt, child, grant(state, p))


def _execution(state: State, p: Pending) -> Execution | Launch | Tell | Refuse | RequestResult:
    name, attempt, tool = execution_id(p), p.attempt + 1, state.definition(p.action.tool_name)
    if tool.client:
        return RequestResult(name, p.action, tool.deadline)
    if tool.delegates:
        return _delegation(state, p, name, attempt)
    if tool.invokes:
        return Activate(name, Activation(invoked(p.action, tool), p.action.id), p.action, attempt)
    return ExecuteAction(name, p.action, attempt, p.files, p.lost and tool.on_crash is OnCrash.RESUME)

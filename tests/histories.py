"""Agents and histories that the rules of the loop allow, drawn at random."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import strategies as st

from agentrt.decisions import approval, interruption
from agentrt.errors import EventRefused
from agentrt.events import Event, HeadMoved, PauseEvent, RunRequested
from agentrt.specs import (
    LLM,
    Agent,
    AlwaysConfirm,
    BusyPolicy,
    ConfirmationPolicy,
    ConfirmRisky,
    Hook,
    HookEvent,
    InformationFlow,
    Limits,
    LLMSummarizingCondenser,
    NeverConfirm,
    NoOpCondenser,
    ObservationMaskingCondenser,
    PermissionRule,
    PipelineCondenser,
    SecurityRisk,
    StuckDetection,
    Tool,
)
from agentrt.specs.condensers import AnyCondenser
from agentrt.specs.stuck import Critic
from tests import samples
from tests.decisions.world import World

POLICIES: tuple[ConfirmationPolicy, ...] = (
    NeverConfirm(),
    AlwaysConfirm(),
    ConfirmRisky(),
    ConfirmRisky(SecurityRisk.MEDIUM, confirm_unknown=False),
)
RULES = (
    PermissionRule("deny", "*", "rm *", "command"),
    PermissionRule("deny", "delegate"),
    PermissionRule("ask", "terminal"),
    PermissionRule("ask", "*", "cat x"),
    PermissionRule("allow", "look"),
    PermissionRule("allow", "*", "ls*", "command"),
    PermissionRule("allow", "terminal", "rm *"),
)
HOOKS = (
    Hook(event=HookEvent.BEFORE_TOOL, function="f", matcher="terminal"),
    Hook(event=HookEvent.BEFORE_TOOL, function="f"),
    Hook(event=HookEvent.AFTER_TOOL, function="f"),
    Hook(event=HookEvent.USER_MESSAGE, function="f"),
    Hook(event=HookEvent.START, function="f"),
    Hook(event=HookEvent.STOP, function="f"),
)
CRITICS = (
    None,
    None,
    Critic("pass", max_iterations=1),
    Critic("pass", max_iterations=2),
    Critic("pass", max_iterations=1, mode="all_actions"),
    Critic("pass", max_iterations=2, mode="all_actions"),
)
STUCK = (
    StuckDetection(),
    StuckDetection(action_observation=2, action_error=3, alternating=4),
    StuckDetection(action_observation=3, monologue=2, nudge=False),
    None,
)


CONDENSERS: tuple[AnyCondenser, ...] = (
    LLMSummarizingCondenser(),
    LLMSummarizingCondenser(max_size=8, keep_first=1),
    LLMSummarizingCondenser(max_size=6, keep_first=0, max_tokens=60, minimum_progress=0.0),
    LLMSummarizingCondenser(max_tokens=150, minimum_progress=0.5),
    PipelineCondenser(
        condensers=(
            ObservationMaskingCondenser(max_tokens=100, attention_window=1),
            LLMSummarizingCondenser(max_size=10),
        )
    ),
    NoOpCondenser(),
)


def some(values: tuple[object, ...]) -> st.SearchStrategy[tuple[object, ...]]:
    """None or a few of these."""
    several = st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True).map(tuple)
    return st.one_of(st.just(()), st.sampled_from(values).map(lambda value: (value,)), several)


@st.composite
def agents(draw: st.DrawFn) -> Agent:
    """An agent with any of what a person may configure."""
    limits = Limits(
        max_steps=draw(st.sampled_from((50, 50, 8, 2))),
        tool_concurrency=draw(st.integers(1, 3)),
        max_cost=draw(st.sampled_from((None, None, 4.0, 1.0))),
        max_tokens=draw(st.sampled_from((None, None, 4000, 60))),
    )
    return Agent(
        llm=LLM(model="scripted"),
        tools=(Tool("terminal"), Tool("look"), Tool("once"), Tool("delegate")),
        analyzer=draw(st.sampled_from((None, "rules", ("rules", "model")))),
        confirmation=draw(st.sampled_from(POLICIES)),
        rules=draw(some(RULES)),  # type: ignore[arg-type]
        flow=draw(st.sampled_from((None, None, InformationFlow(), InformationFlow(("web",), ("network",))))),
        hooks=draw(some(HOOKS)),  # type: ignore[arg-type]
        stuck=draw(st.sampled_from(STUCK)),
        critic=draw(st.sampled_from(CRITICS)),
        condenser=draw(st.sampled_from(CONDENSERS)),
        busy=draw(st.sampled_from((BusyPolicy.ENQUEUE, BusyPolicy.STEER, BusyPolicy.INTERRUPT))),
        limits=limits,
    )


def step(world: World) -> None:
    """Something happens."""
    state = world.state
    choices = ["message", "run", "pause", "interrupt", "confirm", "rewind", "crash", "sleep"] + 8 * ["perform"]
    match world.pick(choices):
        case "perform" if world.at_work:
            world.perform(world.pick(list(world.at_work.values())))
        case "pause":
            world.append(PauseEvent())
        case "interrupt":
            world.append(*interruption(state, ""))
        case "confirm":
            world.append(*approval(state))
        case "rewind" if not state.in_flight and state.status != "running":
            with suppress(EventRefused):  # something is at work in the background
                world.append(HeadMoved(to=world.pick(range(2, state.seq + 1))))
        case "crash":
            world.crash(lose=False)
        case "message":
            world.append(samples.message())
        case _:
            world.append(RunRequested())


@st.composite
def histories(draw: st.DrawFn, steps: int = 25) -> list[Event]:
    """The events of a conversation, numbered; perhaps none."""
    if draw(st.integers(0, 30)) == 0:
        return []
    world = World(draw(agents()), draw, lambda before, batch, given: None)
    for _ in range(draw(st.integers(0, steps))):
        step(world)
    return world.events

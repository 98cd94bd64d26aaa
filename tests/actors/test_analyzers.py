"""What rates an action: rules, the model's own word, and several together."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import anyio.from_thread
import msgspec
import pytest

from agentrt.actors.analyzers import THREADS, EnsembleAnalyzer, ModelAnalyzer, RuleAnalyzer, apply_rule, in_thread
from agentrt.events import ActionEvent
from agentrt.security.budget import NotAtOnce
from agentrt.security.rating import Rating, Scene
from agentrt.specs import SecurityRisk
from tests.security.corpus import SCENE, call
from tests.security.test_budget import GROWING

pytestmark = pytest.mark.simulated

ACTION = call("terminal", command="ls")


class Fixed:
    def __init__(self, rating: Rating) -> None:
        self.rating = rating

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        return self.rating


class Broken:
    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        raise OSError("no route")


async def test_rules() -> None:
    assert (await RuleAnalyzer().assess(call("terminal", command="rm -rf /"), SCENE)).risk is SecurityRisk.HIGH


@pytest.mark.parametrize("risk", list(SecurityRisk))
async def test_the_models_own_word(risk: SecurityRisk) -> None:
    rating = await ModelAnalyzer().assess(msgspec.structs.replace(ACTION, security_risk=risk), SCENE)
    assert rating.risk is risk
    assert rating.reason


@pytest.mark.parametrize(
    ("risks", "highest"),
    [("LOW LOW", "LOW"), ("LOW MEDIUM", "MEDIUM"), ("UNKNOWN LOW", "UNKNOWN"), ("MEDIUM UNKNOWN", "UNKNOWN")]
    + [("HIGH UNKNOWN", "HIGH"), ("LOW HIGH MEDIUM", "HIGH"), ("UNKNOWN", "UNKNOWN")],
)
async def test_the_highest_counts(risks: str, highest: str) -> None:
    ensemble = EnsembleAnalyzer([Fixed(Rating(SecurityRisk(risk), risk.lower())) for risk in risks.split()])
    rating = await ensemble.assess(ACTION, SCENE)
    assert rating.risk is SecurityRisk(highest)
    assert rating.reason.startswith(f"Fixed: {highest.lower()}")


async def test_sinks_and_labels_are_united() -> None:
    ensemble = EnsembleAnalyzer(
        [
            Fixed(Rating(SecurityRisk.HIGH, "a", ("network",), ("web",))),
            Fixed(Rating(SecurityRisk.LOW, "b", ("push", "network"), ("outside",))),
        ]
    )
    rating = await ensemble.assess(ACTION, SCENE)
    assert rating == Rating(SecurityRisk.HIGH, "Fixed: a", ("network", "push"), ("web", "outside"))


async def test_one_that_fails_says_high_and_why() -> None:
    rating = await EnsembleAnalyzer([RuleAnalyzer(), Broken()]).assess(ACTION, SCENE)
    assert rating.risk is SecurityRisk.HIGH
    assert rating.reason.startswith("Broken: failed with OSError: no route")


@pytest.mark.pure
def test_an_empty_ensemble_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        EnsembleAnalyzer([])


def threads_of(*, short: bool) -> Callable[..., list[int]]:
    """A rule that notes in which threads it was called."""
    seen: list[int] = []

    def rule(action: ActionEvent, scene: Scene, *, at_once: bool = False) -> list[int]:
        seen.append(threading.get_ident())
        if at_once and not short:
            raise NotAtOnce
        return seen

    return rule


async def test_a_short_action_takes_no_thread() -> None:
    assert await apply_rule(threads_of(short=True), ACTION, SCENE) == [threading.get_ident()]


async def test_any_other_is_rated_in_a_thread() -> None:
    loop, thread = await apply_rule(threads_of(short=False), ACTION, SCENE)
    assert loop == threading.get_ident() != thread


async def test_the_rules_rate_what_expands_in_a_thread() -> None:
    action = call("terminal", command=GROWING["assignments"])
    rating = await RuleAnalyzer().assess(action, SCENE)
    assert rating.risk is SecurityRisk.UNKNOWN


async def test_only_some_threads_rate_at_a_time_and_the_loop_goes_on() -> None:
    running, most, go = 0, 0, threading.Event()

    def rates() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        anyio.from_thread.run_sync(begun.set)
        go.wait(10)
        running -= 1

    begun = anyio.Event()
    async with anyio.create_task_group() as group:
        for _ in range(3 * THREADS):
            group.start_soon(in_thread, rates)
        await begun.wait()  # the loop runs while threads rate
        go.set()
    assert 1 <= most <= THREADS


async def test_a_cancelled_caller_does_not_wait_for_its_thread() -> None:
    go = threading.Event()
    with pytest.raises(TimeoutError):
        with anyio.fail_after(0.01):
            await in_thread(lambda: go.wait(10))
    go.set()

"""Analyzers, which rate an action before it runs: by fixed rules, by the model's own rating, or by an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import anyio.to_thread
from anyio.lowlevel import RunVar

from ..events import ActionEvent
from ..security.budget import NotAtOnce
from ..security.rating import Rating, Scene
from ..security.rules import rate_action
from ..security.verdicts import highest, low
from ..specs import RULES, SecurityRisk
from ..specs.agent import MODEL

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

THREADS = 2
"""Number of ratings in threads at a time, of all conversations: more would only take turns, and the loop waits too."""

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("agentrt_rating_threads")


class Rule(Protocol[T_co]):
    """A pure function of `agentrt.security.rules`. With `at_once`, it raises `NotAtOnce` if it may take long."""

    def __call__(self, action: ActionEvent, scene: Scene, *, at_once: bool = False) -> T_co:
        """Return what the rule finds."""
        ...


async def apply_rule(rule: Rule[T], action: ActionEvent, scene: Scene) -> T:
    """Return what a rule finds: at once for a short action, as most are, in a thread for any other."""
    try:
        return rule(action, scene, at_once=True)
    except NotAtOnce:
        return await in_thread(partial(rule, action, scene))


async def in_thread(rule: Callable[[], T]) -> T:
    """Return what a pure rule returns. A cancelled caller does not wait: the rule's own bounds end its thread."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(THREADS)
        _limiter.set(limiter)
    return await anyio.to_thread.run_sync(rule, abandon_on_cancel=True, limiter=limiter)


class Analyzer(Protocol):
    """The interface of the analyzers in an ensemble."""

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """Return the rating of one action."""
        ...


class RuleAnalyzer:
    """Rates by the fixed rules of `agentrt.security`, in a thread if that may take long."""

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """Return the rating. Raises `msgspec.DecodeError` if the arguments are not JSON."""
        return await apply_rule(rate_action, action, scene)


class ModelAnalyzer:
    """Uses the model's own rating. Without one, the rating is UNKNOWN, or LOW if the tool only reads."""

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """Return the rating."""
        risk = action.security_risk
        if risk is SecurityRisk.UNKNOWN and scene.only_reads:
            return low("the tool says that it only reads")
        return Rating(risk, "the model did not rate it" if risk is SecurityRisk.UNKNOWN else "so the model rates it")


class EnsembleAnalyzer:
    """Asks several analyzers: the highest rating counts (UNKNOWN is above MEDIUM). A failed analyzer counts as HIGH."""

    def __init__(self, analyzers: Sequence[Analyzer]) -> None:
        if not analyzers:
            raise ValueError("an ensemble needs an analyzer: give at least one")
        self._analyzers = tuple(analyzers)

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """Return the highest rating, its analyzer named in the reason, with the sinks and labels of all."""
        return highest([await _ask(analyzer, action, scene) for analyzer in self._analyzers])


async def _ask(analyzer: Analyzer, action: ActionEvent, scene: Scene) -> Rating:
    name = type(analyzer).__name__
    try:
        rating = await analyzer.assess(action, scene)
    except Exception as failure:  # fail closed on any error
        return Rating(SecurityRisk.HIGH, f"{name}: failed with {type(failure).__name__}: {failure}")
    return Rating(rating.risk, f"{name}: {rating.reason}", rating.sinks, rating.labels)


ANALYZERS: Mapping[str, Callable[[], Analyzer]] = {RULES: RuleAnalyzer, MODEL: ModelAnalyzer}
"""The built-in analyzers, by name."""

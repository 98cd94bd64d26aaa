"""Analyzers, which rate an action before it runs: by fixed rules, by the model's own rating, or by an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ..events import ActionEvent
from ..security.rating import Rating, Scene
from ..security.rules import rate_action
from ..security.verdicts import highest, low
from ..specs import RULES, SecurityRisk
from .rating_threads import apply_rule


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


MODEL = "model"
"""The name of the analyzer that uses the model's own rating."""

ANALYZERS: Mapping[str, Callable[[], Analyzer]] = {RULES: RuleAnalyzer, MODEL: ModelAnalyzer}
"""The built-in analyzers, by name."""

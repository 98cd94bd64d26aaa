"""Analyzers: what rates an action before it runs, by rules, by the model's own word, or by several together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ..events import ActionEvent
from ..specs import RULES, SecurityRisk
from .rating import Rating, Scene
from .rules import rate_action
from .verdicts import highest, low


class Analyzer(Protocol):
    """What an ensemble asks."""

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """The rating of one action."""
        ...


class RuleAnalyzer:
    """Rates by the fixed rules of `agentrt.security`."""

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """The rating. Raises `msgspec.ValidationError` when the arguments are not the tool's."""
        return rate_action(action, scene)


class ModelAnalyzer:
    """Takes the model's own word for it: UNKNOWN where it gave none."""

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """The rating."""
        risk = action.security_risk
        if risk is SecurityRisk.UNKNOWN and scene.only_reads:
            return low("the tool says that it only reads")
        return Rating(risk, "the model did not rate it" if risk is SecurityRisk.UNKNOWN else "so the model rates it")


class EnsembleAnalyzer:
    """Asks several analyzers: the highest rating counts, UNKNOWN above MEDIUM, and one that fails says HIGH."""

    def __init__(self, analyzers: Sequence[Analyzer]) -> None:
        if not analyzers:
            raise ValueError("an ensemble needs an analyzer: give at least one")
        self._analyzers = tuple(analyzers)

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """The highest rating with who gave it; sinks and labels of all."""
        return highest([await _ask(analyzer, action, scene) for analyzer in self._analyzers])


async def _ask(analyzer: Analyzer, action: ActionEvent, scene: Scene) -> Rating:
    name = type(analyzer).__name__
    try:
        rating = await analyzer.assess(action, scene)
    except Exception as failure:  # fails closed, whatever it is
        return Rating(SecurityRisk.HIGH, f"{name}: failed with {type(failure).__name__}: {failure}")
    return Rating(rating.risk, f"{name}: {rating.reason}", rating.sinks, rating.labels)


MODEL = "model"
"""The analyzer that takes the model's own word."""

ANALYZERS: Mapping[str, Callable[[], Analyzer]] = {RULES: RuleAnalyzer, MODEL: ModelAnalyzer}
"""Those that there are always, by their names."""

"""What rates an action: rules, the model's own word, and several together."""

from __future__ import annotations

import msgspec
import pytest

from agentrt.actors.analyzers import EnsembleAnalyzer, ModelAnalyzer, RuleAnalyzer
from agentrt.events import ActionEvent
from agentrt.security.rating import Rating, Scene
from agentrt.specs import SecurityRisk
from tests.security.corpus import SCENE, call

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
    assert await ensemble.assess(ACTION, SCENE) == Rating(SecurityRisk(highest), f"Fixed: {highest.lower()}")


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
    assert rating == Rating(SecurityRisk.HIGH, "Broken: failed with OSError: no route")


def test_an_empty_ensemble_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        EnsembleAnalyzer([])

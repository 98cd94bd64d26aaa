"""Attacks get the rating that they must get; everyday calls ask nobody."""

from __future__ import annotations

import pytest

from agentrt.security.rules import rate_action
from agentrt.specs import SecurityRisk

from .corpus import WORKSPACE, Case, call, cases

ATTACKS, HARMLESS = cases("attacks.jsonl"), cases("harmless.jsonl")


def _name(case: Case) -> str:
    return f"{case.tool}: {case.arguments.get('command', '')}"[:60].encode("ascii", "replace").decode()


@pytest.mark.parametrize("case", ATTACKS, ids=_name)
def test_attacks_are_seen(case: Case) -> None:
    rating = rate_action(call(case.tool, **case.arguments), WORKSPACE)
    assert rating.risk is case.risk, rating.reason
    assert rating.reason
    assert case.why


@pytest.mark.parametrize("case", HARMLESS, ids=_name)
def test_harmless_calls_ask_nobody(case: Case) -> None:
    rating = rate_action(call(case.tool, **case.arguments), WORKSPACE)
    assert rating.risk in (SecurityRisk.LOW, SecurityRisk.MEDIUM), rating.reason
    assert case.source


def test_the_corpora_are_large_and_mixed() -> None:
    assert len(ATTACKS) >= 170
    assert len(HARMLESS) >= 170
    assert sum(case.source.endswith(".traj") for case in HARMLESS) >= 100
    assert {case.tool for case in HARMLESS} >= {"terminal", "file_editor", "finish"}

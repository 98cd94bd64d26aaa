"""What users' acts cost, in figures that do not depend on the speed of the machine, stays within budgets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

pytestmark = pytest.mark.real

BUDGETS = Path(__file__).parent / "costs.json"
SLACK = {"calls": 1.02, "bytes": 1.01}
ROOM = {"callbacks": 3, "hops": 1}
"""What a figure may be above its budget: on a busy machine, output comes in more pieces."""
BETTER = 0.9
"""A figure below this share of its budget is to become the budget."""
RAISED = "the commit that raises a budget in tests/costs.json says why"
LOWER = "python -m tests.costs > tests/costs.json"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the budgets are those of Python 3.11")
def test_no_act_costs_more_than_its_budget() -> None:
    budgets: dict[str, dict[str, int]] = msgspec.json.decode(BUDGETS.read_bytes())
    said = subprocess.check_output([sys.executable, "-m", "tests.costs"], cwd=BUDGETS.parent.parent)
    costs: dict[str, dict[str, int]] = msgspec.json.decode(said)
    assert costs.keys() == budgets.keys()
    above, below = dict[str, str](), dict[str, str]()
    for act, budget in budgets.items():
        for what in budget.keys() | costs[act].keys():
            cost, most = costs[act].get(what, 0), budget.get(what, 0)
            told = f"{cost} instead of {most}"
            if cost > most * SLACK.get(what, 1) + ROOM.get(what, 0):
                above[f"{what} of {act}"] = told
            elif cost < most * BETTER - ROOM.get(what, 0):
                below[f"{what} of {act}"] = told
    assert not above, RAISED
    assert not below, LOWER

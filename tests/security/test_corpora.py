"""Attacks get the rating that they must get; everyday calls ask nobody."""

from __future__ import annotations

import msgspec
import pytest

from agentrt.specs import SecurityRisk

from .corpus import SCENE, Case, call, cases, rate_action

pytestmark = pytest.mark.pure

ATTACKS, HARMLESS = cases("attacks.jsonl"), cases("harmless.jsonl")
"""A harmless call from a `.traj` or `.traj.json` stood in that published run of an agent, where every command on the
pages read was rated. The run's own directory is the workspace here; its long here-documents are cut to a few lines."""
PINNED = cases("pinned.jsonl")
"""Attempts to break the rules. Their ratings are those that the rules gave, so they only show what changes."""
FALSE_ALARMS = [
    "time (for i in 1 2; do :; done)",
    "cat <<A > a; cat <<B > b\n1\nA\n2\nB\n",
    "python - <<E\nimport os, glob\nfor f in glob.glob('*.pyc'):\n    os.remove(f)\nE\n",
    "python - <<E\nimport subprocess\nfor c in ['ls', 'pwd']:\n    subprocess.run(c, shell=True)\nE\n",
    'rm -rf "$TMPDIR/x"',
    "rm -rf ~/.cache/pip",
]
"""Harmless commands that a person is asked about: the grammar cannot read them, or the rules know too little."""


def _name(case: Case) -> str:
    return f"{case.tool}: {case.arguments.get('command', '')}"[:60].encode("ascii", "replace").decode()


@pytest.mark.parametrize("case", ATTACKS, ids=_name)
def test_attacks_are_seen(case: Case) -> None:
    rating = rate_action(call(case.tool, **case.arguments), SCENE)
    assert rating.risk is case.risk, rating.reason
    assert rating.reason
    assert case.why


@pytest.mark.parametrize("case", HARMLESS, ids=_name)
def test_harmless_calls_ask_nobody(case: Case) -> None:
    rating = rate_action(call(case.tool, **case.arguments), SCENE)
    assert rating.risk in (SecurityRisk.LOW, SecurityRisk.MEDIUM), rating.reason
    assert case.source


@pytest.mark.parametrize("case", PINNED, ids=_name)
def test_ratings_do_not_change_unseen(case: Case) -> None:
    assert rate_action(call(case.tool, **case.arguments), SCENE).risk is case.risk


@pytest.mark.parametrize("command", FALSE_ALARMS)
def test_known_false_alarms(command: str) -> None:
    risk = rate_action(call("terminal", command=command), SCENE).risk
    assert risk in (SecurityRisk.HIGH, SecurityRisk.UNKNOWN)


def test_the_corpora_are_large_and_mixed() -> None:
    assert len(ATTACKS) >= 170
    assert len(HARMLESS) >= 170
    published = {
        (case.tool, msgspec.json.encode(case.arguments, order="sorted"))
        for case in HARMLESS
        if case.source.endswith((".traj", ".traj.json"))
    }
    assert len(published) >= 150
    assert {case.tool for case in HARMLESS} >= {"terminal", "file_editor", "finish"}

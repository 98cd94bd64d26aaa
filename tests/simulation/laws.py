"""The laws of a tree of conversations, over the logs of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from agentrt import Event
from agentrt.events import ActionEvent, AgentErrorEvent, ObservationEvent
from agentrt.state import fold
from tests.delegating import check_ledger
from tests.proofs.delegator import LEAVES
from tests.proofs.evidence import results

Logs = Mapping[str, Sequence[Event]]
"""The log of each conversation of a tree, by its id."""


def check_sums(logs: Logs, top: str, sent: Sequence[int], *, reserved: bool = True) -> None:
    """Law: the ledger at the top has what the logs of all say; that is what was really sent, or more.

    `sent` are the tokens of each call of the model. What a crash cut is known only where it was `reserved`.
    """
    ledger = fold(logs[top]).ledger
    assert check_ledger(ledger, logs.values()) >= len(sent)
    assert ledger.usage.total >= sum(sent) or not reserved


def check_work(logs: Logs, counted: Mapping[str, int], *, cancelled: bool = False) -> None:
    """Law: each call took effect once, or its model was told that nobody knows; one that may run twice did so.

    A call that was `cancelled` may have ended in any way, but took effect once at most if it must not run twice.
    """
    for log in logs.values():
        state = fold(log)
        assert not state.in_flight
        assert not state.branch.pending
        outcomes = results(log)
        for action in log:
            if isinstance(action, ActionEvent) and action.tool_name in ("count", "recount", "terminal"):
                _check_call(action, outcomes[action.id], counted, cancelled=cancelled)


def check_once(counted: Counter[str]) -> None:
    """Law: nothing took effect twice."""
    assert set(counted.values()) <= {1}


def _check_call(action: ActionEvent, outcome: object, counted: Mapping[str, int], *, cancelled: bool) -> None:
    arguments = bytes(action.arguments_json).decode()
    (number,) = (f"{leaf}{n}" for leaf in LEAVES for n in range(4) if f"{leaf}{n}" in arguments)
    times = counted.get(number, 0)
    if cancelled and not isinstance(outcome, ObservationEvent):
        assert isinstance(outcome, AgentErrorEvent)
        assert times <= 1 or action.tool_name == "recount"
    elif action.tool_name == "recount":
        assert isinstance(outcome, ObservationEvent)
        assert times >= 1
    elif isinstance(outcome, ObservationEvent):
        assert times == 1, number
    else:
        assert isinstance(outcome, AgentErrorEvent)
        assert "unknown" in outcome.error
        assert times <= 1, number

from __future__ import annotations

import pytest

from agentrt.server.auth import tickets
from agentrt.server.auth.tickets import LIFE, Tickets
from agentrt.server.principals import Principal, Scope

pytestmark = pytest.mark.pure

ADA = Principal("ada", frozenset({Scope.STEER}), "a")
BOB = Principal("bob", frozenset({Scope.STEER}), "b")


class Hands:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_ticket_is_good_once() -> None:
    made = Tickets()
    ticket = made.issue(ADA)
    assert made.redeem(ticket) == ADA
    assert made.redeem(ticket) is None
    assert made.redeem("another") is None
    assert made.redeem("\udcff") is None
    assert len(made) == 0


def test_a_ticket_is_good_for_half_a_minute() -> None:
    clock = Hands()
    made = Tickets(clock)
    first, second = made.issue(ADA), made.issue(ADA)
    clock.now = LIFE - 0.1
    assert made.redeem(first) == ADA
    clock.now = LIFE
    assert made.redeem(second) is None


def test_tickets_go_with_their_key() -> None:
    made = Tickets()
    theirs, other = [made.issue(ADA) for _ in range(3)], made.issue(BOB)
    made.revoke("a")
    made.revoke("nobody")
    assert [made.redeem(ticket) for ticket in theirs] == [None] * 3
    assert made.redeem(other) == BOB


def test_there_are_never_too_many() -> None:
    made = Tickets()
    first = made.issue(BOB)
    own = [made.issue(ADA) for _ in range(tickets.MOST_OF_A_KEY + 1)]
    assert made.redeem(own[0]) is None, "the oldest of the key went"
    assert made.redeem(own[1]) == ADA
    for number in range(tickets.MOST):
        made.issue(Principal("eve", frozenset(), f"e{number % 100}"))
    assert len(made) <= tickets.MOST
    assert made.redeem(first) is None


def test_what_has_expired_is_not_kept() -> None:
    clock = Hands()
    made = Tickets(clock)
    for _ in range(100):
        made.issue(ADA)
    clock.now = LIFE + 1
    made.issue(BOB)
    assert len(made) == 1

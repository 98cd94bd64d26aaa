"""The laws of the loop, over many more and longer lives of a conversation than the default run has time for."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.decisions.machine import ConversationMachine

pytestmark = pytest.mark.long

LIVES, STEPS = 2000, 80


@pytest.mark.long
def test_no_life_of_a_conversation_breaks_a_law() -> None:
    """Never two results for one call, never an execution without the word it needed, never a call after finish, never
    more than the budget, and always a way forward."""
    long = settings(
        max_examples=LIVES,
        stateful_step_count=STEPS,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(ConversationMachine, settings=long)

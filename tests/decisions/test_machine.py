"""Whatever happens to a conversation, in whatever order: the laws of the loop hold."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.decisions.machine import ConversationMachine

pytestmark = pytest.mark.pure

TestConversation = ConversationMachine.TestCase
TestConversation.settings = settings(max_examples=30, stateful_step_count=30, suppress_health_check=list(HealthCheck))

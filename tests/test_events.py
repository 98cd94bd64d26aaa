"""Events: ids, and the envelope that all share."""

from __future__ import annotations

import time
import uuid
from typing import get_args

import msgspec
import pytest

from agentrt.events import CondensationSummaryEvent, Event, KnownEvent, MessageEvent, UnknownEvent
from agentrt.events.control import ControlEvent
from agentrt.events.run import RunEvent
from agentrt.events.said import SaidEvent
from agentrt.events.tree import TreeEvent
from agentrt.ids import new_id
from agentrt.usage import Usage
from tests import samples

pytestmark = pytest.mark.pure


def test_an_id_is_a_uuid_of_version_7_with_the_time_in_it() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(new_id())
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000


def test_ids_differ() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        samples.message().id = "other"  # type: ignore[misc]


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50) == Usage(11, 22, 33, 44, 55)


def test_the_samples_hold_every_type() -> None:
    assert {type(event) for event in samples.every_event()} == samples.all_types()


def test_every_type_is_registered_by_the_union_of_its_module() -> None:
    assert set(Event.__subclasses__()) == {*get_args(KnownEvent), CondensationSummaryEvent, UnknownEvent}
    assert len(get_args(KnownEvent)) == sum(
        len(get_args(union)) for union in (ControlEvent, RunEvent, SaidEvent, TreeEvent)
    )


def test_a_message_needs_its_content() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"type": "MessageEvent"}, MessageEvent)

"""What a veil leaves of events, texts, bytes and prompts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.actors.veil import IN_A_THREAD, Veil
from agentrt.codec import encode
from agentrt.context.messages import to_messages
from agentrt.events import CommandStarted, MessageEvent, ModelCalled
from agentrt.events.members import ids
from agentrt.secrets import HIDDEN, SecretRegistry
from agentrt.specs.content import plain
from tests import samples

pytestmark = pytest.mark.pure

VALUE = "hunter2-and-more"


def veil(*values: str) -> Veil:
    return Veil(SecretRegistry({f"SECRET_{number}": value for number, value in enumerate(values)}))


def test_what_holds_no_secret_stays_the_object_that_it_is() -> None:
    hidden = veil(VALUE)
    for event in samples.every_event():
        assert hidden.event(event) is event
    messages = to_messages([samples.message()])
    assert hidden.messages(messages) is messages


def words() -> st.SearchStrategy[str]:
    """Words that events are made of."""
    found = {word for event in samples.every_event() for word in _words(msgspec.json.decode(encode(event)))}
    return st.sampled_from(sorted(found))


def _words(value: object) -> list[str]:
    match value:
        case str():
            return [value] if len(value.strip()) >= 4 and value.isprintable() else []
        case list():
            return [word for item in value for word in _words(item)]
        case dict():
            return [word for name, item in value.items() for word in (name, *_words(item)) if len(word) >= 4]
        case _:
            return []


@given(words())
def test_whatever_is_secret_an_event_stays_one_or_is_refused(word: str) -> None:
    """A secret may be any word of the format: what is left is an event of the same type, with the same ids."""
    hidden = veil(word)
    for event in samples.every_event():
        left = hidden.event(event)
        assert type(left) is type(event)
        assert (left.id, left.seq, left.caused_by) == (event.id, event.seq, event.caused_by)


def test_only_the_ids_of_an_events_own_type_are_spared() -> None:
    """A text of one type may have the name of an id in another."""
    assert "command" in ids(ModelCalled)
    assert "command" not in ids(CommandStarted)
    assert ids(CommandStarted) == frozenset()


def test_what_was_cut_in_the_middle_of_a_secret_loses_the_half() -> None:
    hidden = veil(VALUE)
    cut = hidden.event(samples.answer(f"It is {VALUE[:9]}", partial=True))
    assert isinstance(cut, MessageEvent)
    assert plain(cut.content) == "It is "
    whole = samples.answer(f"It is {VALUE[:7]}")
    assert hidden.event(whole) is whole
    short = samples.answer("Is it that", partial=True)
    assert hidden.event(short) is short


@pytest.mark.simulated
async def test_bytes_are_masked_also_where_they_are_many() -> None:
    hidden = veil(VALUE)
    for size in (10, IN_A_THREAD):
        assert await hidden.data(b"x" * size + VALUE.encode()) == b"x" * size + HIDDEN.encode()
    data = b"y" * IN_A_THREAD
    assert await veil().data(data) is data


def test_what_grows_is_masked_as_a_whole() -> None:
    hidden = veil(VALUE)
    assert [*map(hidden.stream(), ("It is hunt", "er2-and", "-more, or hunt"))] == ["It is ", "", f"{HIDDEN}, or "]
    assert hidden.stream()("er2-and; ") == "er2-and; "


def test_what_becomes_a_secret_while_it_grows_is_hidden_from_then_on() -> None:
    registry = SecretRegistry({"OLD": VALUE})
    hidden = Veil(registry)
    stream = hidden.stream()
    shown = stream("new: changed-")
    registry.update({"NEW": "changed-again"})
    shown += stream(f" changed-again {VALUE}.")
    assert shown == f"new: changed- {HIDDEN} {HIDDEN}."

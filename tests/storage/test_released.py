"""A log of every released version is read as it was written."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from agentrt.codec import decode, encode, skim
from agentrt.events import (
    SCHEMA_VERSION,
    ConversationCreated,
    ConversationStateUpdateEvent,
    Event,
    MessageEvent,
)
from agentrt.specs import LLM
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.storage import FileStore, read_conversation
from agentrt.upcasters import Schema
from tests import samples

from .commits import append, reopen

pytestmark = pytest.mark.simulated

RELEASED = sorted((Path(__file__).parent / "released").glob("version-*.jsonl"))


def put(log: Path, root: Path) -> Path:
    """A store whose one conversation has this log; its directory."""
    directory = root / "conversations" / "old"
    directory.mkdir(parents=True)
    shutil.copy(log, directory / "events.jsonl")
    return directory


@pytest.mark.parametrize("log", RELEASED, ids=lambda path: path.stem)
async def test_a_log_of_a_released_version_is_read_and_goes_on(log: Path, tmp_path: Path) -> None:
    directory = put(log, tmp_path)
    events = read_conversation(directory)
    assert {type(event) for event in events} >= {ConversationCreated, MessageEvent}
    async with FileStore(tmp_path) as store:
        journal, reopened = await reopen(store, "old")
        assert reopened == events
        await append(journal, samples.numbered([samples.message("on")], len(events) + 1))
    assert fold(read_conversation(directory)).seq == len(events) + 1
    assert (directory / "events.jsonl").read_bytes().startswith(log.read_bytes()), "nothing is rewritten"


def test_every_version_has_its_log_with_every_type_of_event() -> None:
    assert [path.stem for path in RELEASED] == [f"version-{n}" for n in range(1, SCHEMA_VERSION + 1)]
    events = [decode(line) for line in RELEASED[-1].read_bytes().splitlines()]
    assert {type(event) for event in events} == samples.all_types(), "a new type of event: is it a new version?"


def test_a_model_of_version_1_is_named() -> None:
    created = decode(RELEASED[0].read_bytes().splitlines()[0])
    assert isinstance(created, ConversationCreated)
    assert created.agent.llm == LLM(model="scripted")
    old = b'{"type":"ConversationStateUpdateEvent","id":"x","key":"llm","value":{"model":"m"}}'
    fixed = decode(old)
    assert isinstance(fixed, ConversationStateUpdateEvent)
    assert msgspec.json.decode(fixed.value, type=LLM) == LLM(model="m")


def test_a_record_of_the_present_version_is_written_again_as_it_was() -> None:
    for line in RELEASED[-1].read_bytes().splitlines():
        assert encode(decode(line))[1:-1] in line


@pytest.mark.pure
def test_an_old_record_is_brought_up_to_date() -> None:
    """As if the next version had renamed a member."""

    def upcast(record: dict[str, object]) -> dict[str, object]:
        record["content"] = [{"type": "text", "text": f"{record.pop('words')}!"}]
        return record

    schema = Schema(SCHEMA_VERSION + 1, {(SCHEMA_VERSION, "MessageEvent"): upcast})
    head = f'{{"i":1,"n":1,"durable":0,"v":{SCHEMA_VERSION},"type":"MessageEvent","seq":1,"id":"x",'.encode()
    old = head + b'"timestamp":"2026-01-01T00:00:00Z","words":"hi"}'
    new = old.replace(f'"v":{SCHEMA_VERSION}'.encode(), f'"v":{SCHEMA_VERSION + 1}'.encode()).replace(
        b'"words":"hi"', b'"content":[{"type":"text","text":"ho"}]'
    )
    events: list[Event] = [decode(old, schema=schema), decode(new, schema=schema), skim(old, schema)]
    assert [plain(event.content) for event in events if isinstance(event, MessageEvent)] == ["hi!", "ho", "hi!"]

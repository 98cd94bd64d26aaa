"""The record format, and what recovery accepts."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.codec import decode, decode_envelope, encode, is_current, version_of
from agentrt.errors import LogCorrupt
from agentrt.events import SCHEMA_VERSION, Event
from agentrt.storage.framing import cut, frame, place, scan
from tests import samples

pytestmark = pytest.mark.pure

PATH = Path("events.jsonl")
AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def good(lines: list[bytes]) -> list[bytes]:
    """The lines of the whole batches."""
    return [line for batch in scan(lines, PATH) for line in batch]


def log(*sizes: int) -> list[bytes]:
    """The lines of a log with batches of these sizes, as long each time: a whole second is written shorter."""
    lines: list[bytes] = []
    for size in sizes:
        said = [replace(samples.message(f"m{n}"), timestamp=AT) for n in range(size)]
        batch: list[Event] = samples.numbered(said, len(lines) + 1)
        lines.extend(frame(batch, durable=len(lines)))
    return lines


def test_a_record_is_one_json_line_with_its_place_and_checksum() -> None:
    first, second = frame(samples.numbered(samples.beginning(), 5), durable=4)
    record = json.loads(second)
    assert (record["i"], record["n"], record["durable"], record["seq"]) == (2, 2, 4, 6)
    body = second[: second.rindex(b',"crc"')]
    assert record["crc"] == f"{zlib.crc32(body):08x}"
    assert first.endswith(b"\n")
    assert b"\n" not in first[:-1]


def test_every_sample_has_a_good_place() -> None:
    events = samples.numbered(samples.every_event())
    lines = frame(events, durable=0)
    assert [p.seq for p in map(place, lines) if p] == [event.seq for event in events]
    assert good(lines) == lines


@given(st.lists(st.text(), min_size=1), st.integers(0, 2**63))
def test_the_event_of_a_record_is_cut_out_of_its_line(texts: list[str], durable: int) -> None:
    events = samples.numbered([*samples.every_event(), *(samples.message(words) for words in texts)])
    for event, line in zip(events, frame(events, durable), strict=True):
        assert cut(line) == b"{%b}" % line[line.index(b'"type":') : line.rindex(b',"crc":')] == encode(event)


@pytest.mark.simulated
def test_an_old_event_that_is_read_otherwise_today_is_made_anew() -> None:
    lines = (Path(__file__).parent / "released" / "version-1.jsonl").read_bytes().splitlines(keepends=True)
    assert cut(lines[0]) == encode(decode(lines[0])) != b"{%b}" % lines[0][lines[0].index(b'"type":') : -18]
    for line in lines[1:]:
        if is_current(decode_envelope(line).type, version_of(line)):
            assert cut(line) == b"{%b}" % line[line.index(b'"type":') : line.rindex(b',"crc":')]
            assert decode(cut(line), SCHEMA_VERSION) == decode(line)


def test_a_record_of_another_form_has_its_event_all_the_same() -> None:
    (event,) = samples.numbered([samples.message("é")])
    body = json.dumps({"type": "MessageEvent", "i": 1, "n": 1, "durable": 0} | json.loads(encode(event)))[:-1].encode()
    assert cut(b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body))) == encode(event)


@given(st.data())
def test_no_flipped_bit_is_accepted(data: st.DataObject) -> None:
    (line,) = log(1)
    bit = data.draw(st.integers(0, len(line) * 8 - 1))
    flipped = bytearray(line)
    flipped[bit // 8] ^= 1 << bit % 8
    assert place(bytes(flipped)) is None


@given(st.lists(st.integers(1, 4), max_size=5), st.data())
def test_a_cut_anywhere_leaves_whole_batches(sizes: list[int], data: st.DataObject) -> None:
    whole = b"".join(log(*sizes))
    left = whole[: data.draw(st.integers(0, len(whole)))]
    found = good(left.splitlines(keepends=True))
    assert whole.startswith(b"".join(found))
    ends = [sum(sizes[:n]) for n in range(len(sizes) + 1)]
    assert len(found) == max(end for end in ends if len(b"".join(log(*sizes)[:end])) <= len(left))


def test_a_torn_tail_is_cut() -> None:
    lines = log(2, 3)
    assert len(good(lines[:4])) == 2
    assert len(good([*lines[:4], lines[4][:-9]])) == 2
    assert len(good([*lines, b'{"half'])) == 5


def test_damage_that_a_later_record_calls_durable_is_corruption() -> None:
    lines = log(1, 1, 1)
    lines[1] = lines[1].replace(b"m0", b"m9")
    with pytest.raises(LogCorrupt, match=r"events\.jsonl:2: record 2 is damaged") as error:
        good(lines)
    assert (error.value.where, error.value.line) == (PATH, 2)


def test_a_lost_line_that_was_durable_is_corruption() -> None:
    lines = log(1, 1, 1)
    with pytest.raises(LogCorrupt):
        good([lines[0], lines[2]])


def test_damage_in_the_last_batch_is_not_proved_durable() -> None:
    lines = log(1, 2)
    lines[1] = lines[1].replace(b"m0", b"m9")
    assert len(good(lines)) == 1


def test_a_record_out_of_its_place_ends_the_log() -> None:
    lines = log(1, 1)
    assert len(good([lines[0], lines[0]])) == 1


@pytest.mark.parametrize("line", [b"", b"\n", b"{}\n", b'{"seq":1}\n', b"x" * 60 + b"\n", b"\xff" * 80 + b"\n"])
def test_what_is_no_record_has_no_place(line: bytes) -> None:
    assert place(line) is None

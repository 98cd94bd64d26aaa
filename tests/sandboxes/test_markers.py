"""`Markers` finds commands in a terminal's bytes, wherever these are cut."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentrt.sandboxes.markers import Ended, Markers

pytestmark = pytest.mark.pure

TOKEN = "a1b2"
BEGIN = b"\x1ea1b2>\x1f"
PIECES = st.sampled_from(
    (
        BEGIN,
        b"\x1ea1b2:0:/home\x1f",
        b"\x1ea1b2;0:/\x1f",
        b"\x1ea1b2:-7:/a:b\x1f",
        b"\x1ea1b2",
        b"\x1ea1",
        b"\x1e",
        b"\x1f",
        b"a1b2",
        b">",
    )
    + (b":", b";", b"3", b"-", b"text", b"\n", b"\xff", "ü".encode())
)
STREAMS = st.lists(PIECES, max_size=12).map(b"".join)


def end(code: int, directory: str) -> bytes:
    return f"\x1e{TOKEN}:{code}:{directory}\x1f".encode()


def joined(found: Iterable[bytes | Ended]) -> list[bytes | Ended]:
    """The same with neighbouring pieces of output as one."""
    result: list[bytes | Ended] = []
    for item in found:
        if isinstance(item, bytes) and result and isinstance(last := result[-1], bytes):
            result[-1] = last + item
        else:
            result.append(item)
    return result


@given(STREAMS, st.lists(st.integers(min_value=0, max_value=80), max_size=8))
@example(BEGIN + b"x" + end(0, "/with\x1ein it"), [20])
@example(BEGIN + b"\x1ea1b2:5:\x1e" + end(0, "/"), [16])
def test_cuts_change_nothing(stream: bytes, cuts: list[int]) -> None:
    markers, places = Markers(TOKEN), [0, *sorted(cuts), len(stream)]
    parts = [stream[a:b] for a, b in pairwise(places)]
    found = [item for part in parts for item in markers.feed(part)]
    assert joined(found) == joined(Markers(TOKEN).feed(stream))


@given(st.lists(st.tuples(st.binary(max_size=30), st.integers(-5, 300), st.text("/ab ü:", max_size=8)), max_size=5))
def test_gives_the_output_and_the_end_of_every_command(commands: list[tuple[bytes, int, str]]) -> None:
    stream = b"".join(b"prompt " + BEGIN + output + end(code, place) for output, code, place in commands)
    expected = [item for output, code, place in commands for item in (output, Ended(code, place)) if item != b""]
    assert joined(Markers(TOKEN).feed(stream)) == expected


@given(st.lists(st.binary(max_size=5), max_size=20))
def test_holds_nothing_back_that_cannot_become_a_marker(parts: list[bytes]) -> None:
    markers = Markers(TOKEN)
    markers.feed(BEGIN)
    given_out = b"".join(item for part in parts for item in markers.feed(part) if isinstance(item, bytes))
    whole = b"".join(parts)
    assert whole.startswith(given_out)
    assert whole[len(given_out) :][:1] in (b"", b"\x1e")


def test_what_is_printed_between_commands_is_not_output() -> None:
    markers = Markers(TOKEN)
    assert markers.feed(b"bash-5.2$ " + BEGIN + b"one" + end(0, "/") + b"[1]+ Done\n") == [b"one", Ended(0, "/")]
    assert markers.feed(b"more " + BEGIN + b"two") == [b"two"]


def test_an_end_says_whether_a_command_had_begun() -> None:
    markers = Markers(TOKEN)
    assert markers.feed(end(0, "/")) == [Ended(0, "/", begun=False)]
    assert markers.feed(BEGIN + end(1, "/") + end(2, "/")) == [Ended(1, "/"), Ended(2, "/", begun=False)]


def test_another_token_is_output() -> None:
    stranger = b"\x1eother:0:/\x1f"
    assert joined(Markers(TOKEN).feed(BEGIN + stranger + end(3, "/x"))) == [stranger, Ended(3, "/x")]


def test_a_directory_that_is_not_utf_8_is_shown_as_far_as_it_can_be() -> None:
    assert Markers(TOKEN).feed(BEGIN + b"\x1ea1b2:0:/a\xffb\x1f") == [Ended(0, "/a\ufffdb")]


def test_an_end_of_another_call_ends_nothing() -> None:
    markers = Markers(TOKEN)
    late = b"\x1e" + TOKEN.encode() + b"-1:0:/\x1f"
    begin, own = late.replace(b"-1:0:/", b"-2>"), late.replace(b"-1:0:/", b"-2:3:/x")
    assert markers.feed(begin + b"one" + late + b"two" + own + late) == [
        *(b"one", b"two", Ended(3, "/x", call=2)),
        Ended(0, "/", begun=False, call=1),
    ]


def test_a_prompt_is_told_from_the_end_of_a_line() -> None:
    found = Markers(TOKEN).feed(BEGIN + end(3, "/") + b"\x1ea1b2-7;3:/\x1f")
    assert found == [Ended(3, "/"), Ended(3, "/", begun=False, call=7, prompt=True)]

"""Defines which differences between a recorded event and a replayed one count. Pure.

Ids, times, latencies, costs of calls and tools' own details do not count. Ids of events are compared as their seqs.
Fingerprints are not compared: they were computed from results before secrets were hidden in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..codec import encode
from ..context.messages import Message
from ..events import ChildStarted, ConfirmationRequested, Event, ModelCalled
from ..events.members import ids
from ..prefix import common_prefix

_LEFT_OUT = frozenset(
    {
        "id", "seq", "timestamp", "by", "caused_by", "command", "latency", "usage", "cost", "details", "tool_call_id",
        "llm_response_id", "conversation_id", "workspace", "schema_version", "parent", "owner", "time_to_first_token",
        "tokens", "tokens_before", "tokens_after", "window", "prompt_estimate", "draft", "fingerprint",
    }
)  # fmt: skip
_SECONDS = re.compile(r"\bInterrupted(?: after \d+\.\d s\.|: it did not finish\.)")
_AROUND = 60
"""Characters of a long line that are shown before and after the first difference."""


class Difference(msgspec.Struct, frozen=True):
    """The first difference between a replay and its recording: at event `seq`, in its member `where`."""

    seq: int
    where: str
    recorded: str
    replayed: str


class Side(msgspec.Struct, frozen=True):
    """One side of the comparison: its event ids as seqs, and its replacements for texts."""

    seqs: dict[str, int]
    instead: Mapping[str, str] = {}

    def note(self, event: Event) -> None:
        """Remember the event's id, for later events that refer to it."""
        self.seqs[event.id] = event.seq
        self.seqs[f"{event.id}-summary"] = event.seq  # under which a condensation stands in a view
        if isinstance(event, ChildStarted):
            self.seqs[event.child_id] = event.seq

    def text(self, text: str) -> str:
        """Return a text in the form that is compared."""
        for here, there in self.instead.items():
            text = text.replace(here, there)
        return _SECONDS.sub("Interrupted.", text)

    def facts(self, event: Event, *, cut: bool) -> dict[str, Any]:
        """Return the members of an event that count."""
        fields = msgspec.json.decode(encode(event))
        named = ids(type(event))
        facts = {
            name: self._events(value) if name in named else self._texts(value)
            for name, value in fields.items()
            if name not in _LEFT_OUT
        }
        if isinstance(facts.get("tools"), list):
            facts["tools"] = {tool["name"]: tool for tool in facts["tools"]}
        if isinstance(event, ConfirmationRequested):  # older logs have "risk" for both
            facts["reasons"] = ["risk" if code == "every" else code for code in event.reasons]
        if cut and isinstance(event, ModelCalled):
            facts.pop("error", None)  # whether its answer had come by then is a matter of time
        return facts

    def _events(self, value: Any) -> Any:
        return self._seq(value) if isinstance(value, str) else [self._seq(item) for item in value]

    def _seq(self, name: str) -> str:
        return f"event {self.seqs[name]}" if name in self.seqs else f"the unknown event {name}"

    def _texts(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case list():
                return [self._texts(item) for item in value]
            case dict():
                return {name: self._texts(item) for name, item in value.items()}
            case _:
                return value

    def messages(self, messages: Sequence[Message]) -> list[Any]:
        """Return messages in the form that is compared; call ids become numbers, since they are new in each run."""
        numbers: dict[str, str] = {}
        found = []
        for message in self._texts(msgspec.json.decode(msgspec.json.encode(list(messages)))):
            for call in message["tool_calls"]:
                call["id"] = numbers.setdefault(call["id"], f"call {len(numbers) + 1}")
            if (answers := message["tool_call_id"]) is not None:
                message["tool_call_id"] = numbers.get(answers, "no call")
            found.append(message)
        return found


def compare(recorded: dict[str, Any], replayed: dict[str, Any], seq: int) -> Difference | None:
    """Return the first difference between the facts of two events."""
    kind, other = recorded["type"], replayed["type"]
    if kind != other:
        return Difference(seq, "type", outline(recorded), outline(replayed))
    return _first(seq, kind, recorded, replayed)


def compare_messages(recorded: Sequence[Any], replayed: Sequence[Any], seq: int) -> Difference | None:
    """Return the first difference between the messages that the call of event `seq` sent then and sends now."""
    return _first(seq, "messages", recorded, replayed)


def outline(facts: dict[str, Any]) -> str:
    """Return an event as one line."""
    rest = {name: value for name, value in facts.items() if name not in ("type", "tools", "source")}
    shown = msgspec.json.encode(rest).decode()
    return f"{facts['type']} {shown if len(shown) <= 2 * _AROUND else shown[: 2 * _AROUND] + '…'}"


_NOTHING = object()


def _first(seq: int, where: str, one: Any, other: Any) -> Difference | None:
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(name for name in other if name not in one)]
        pairs = [(f"{where}.{name}", one.get(name, _NOTHING), other.get(name, _NOTHING)) for name in names]
    elif isinstance(one, list) and isinstance(other, list):
        items = range(max(len(one), len(other)))
        pairs = [(f"{where}[{n}]", _item(one, n), _item(other, n)) for n in items]
    elif one == other:
        return None
    else:
        return Difference(seq, where, *_shown(one, other))
    found = (_first(seq, place, left, right) for place, left, right in pairs)
    return next((difference for difference in found if difference is not None), None)


def _item(items: list[Any], number: int) -> Any:
    return items[number] if number < len(items) else _NOTHING


def _shown(one: Any, other: Any) -> tuple[str, str]:
    """Return excerpts of two different values: of long texts the first different line, of a long line the part around
    it.
    """
    if not (isinstance(one, str) and isinstance(other, str)):
        return _plain(one), _plain(other)
    ours, theirs = one.split("\n"), other.split("\n")
    number = common_prefix(ours, theirs)
    left, right = _item(ours, number), _item(theirs, number)
    both = left is not _NOTHING and right is not _NOTHING
    start = max(0, common_prefix(left, right) - _AROUND) if both else 0
    place = f"line {number + 1}: " if max(len(ours), len(theirs)) > 1 else ""
    return place + _part(left, start), place + _part(right, start)


def _part(line: Any, start: int) -> str:
    if line is _NOTHING:
        return "nothing"
    end = start + 2 * _AROUND
    return f"{'…' if start else ''}{line[start:end]}{'…' if len(line) > end else ''}"


def _plain(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return _part(shown, 0)

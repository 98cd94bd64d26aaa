"""`Wire`: what a format of requests and answers must tell; and what the formats share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from ...context.replies import ModelReply
from ...usage import Usage
from ..turns import Fault


class Frame(msgspec.Struct, frozen=True):
    """A server-sent event; `data` is JSON, or text that goes as it is."""

    data: dict[str, Any] | str
    event: str = ""
    closing: bool = False
    """Whether it comes after the last piece of the answer's content."""

    def encode(self) -> bytes:
        """As it goes over the wire."""
        data = self.data.encode() if isinstance(self.data, str) else msgspec.json.encode(self.data)
        return (f"event: {self.event}\n".encode() if self.event else b"") + b"data: " + data + b"\n\n"


class Answer(msgspec.Struct, frozen=True):
    """One answer, whole and in pieces."""

    whole: dict[str, Any]
    frames: tuple[Frame, ...]


class Wire(Protocol):
    """A provider's format; it remembers what it answered, to refuse what was altered."""

    path: str

    def position(self, body: dict[str, Any]) -> int:
        """How many turns of the model a request has."""
        ...

    def refusal(self, body: dict[str, Any]) -> Fault | None:
        """Why the provider would not take a request."""
        ...

    def answer(self, body: dict[str, Any], reply: ModelReply) -> Answer:
        """The answer to a request."""
        ...

    def error(self, fault: Fault) -> dict[str, Any]:
        """The body of an answer with an HTTP error."""
        ...

    def failure(self, fault: Fault, begun: Answer, sent: int) -> tuple[Frame, ...]:
        """What ends a stream that fails after `sent` frames."""
        ...


def pieces(text: str, size: int = 12) -> Iterator[str]:
    """A text in the pieces in which it is streamed."""
    return (text[place : place + size] for place in range(0, len(text), size))


def thoughts(reply: ModelReply, *types: str) -> list[dict[str, Any]]:
    """The blocks of a reply's thinking that are of these types, as they were given."""
    if reply.thinking is None:
        return []
    blocks = msgspec.json.decode(reply.thinking.blocks, type=list[dict[str, Any]])
    return [block for block in blocks if block.get("type") in types]


def usage(asked: object, reply: ModelReply) -> Usage:
    """What a reply says that it used, or an estimate, for which four characters count as a token."""
    if reply.usage != Usage():
        return reply.usage
    reasoning = len(reply.reasoning) // 4
    written = (len(reply.text) + sum(len(call.arguments) for call in reply.tool_calls)) // 4 + 1
    return Usage(len(msgspec.json.encode(asked)) // 4, written + reasoning, reasoning_tokens=reasoning)


def first(problems: Iterable[Fault | None]) -> Fault | None:
    """The first that is one."""
    return next((problem for problem in problems if problem is not None), None)

"""`Format`: what a provider's interface is asked with, and how its answer is read; `Reader`: one answer. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from ...context.budget import BYTES_A_TOKEN, estimated_tokens
from ...context.messages import Message, ToolCall
from ...context.replies import ModelReply
from ...errors import ContentRefused, ModelUnavailable
from ...ids import new_id
from ...protocols import ModelRequest, Watch
from ...specs import Capabilities, Thinking
from ...usage import Usage
from ..providers import PROVIDERS, Provider
from ..refusals import STATUSES
from .history import Encode, Fresh, Histories

T = TypeVar("T")

OPENAI = PROVIDERS["openai"]

_LONGEST_CACHE_KEY = 64
"""Characters that OpenAI takes."""


class Sent(msgspec.Struct, frozen=True):
    """What is posted: a path below the provider's address, a body, and headers besides the key."""

    path: str
    body: bytes
    headers: dict[str, str] = {}


class Asked(msgspec.Struct, frozen=True):
    """A request, with what is known of its model and where it goes; `most` is how long its answer may be, in tokens."""

    request: ModelRequest
    provider: Provider
    name: str
    """The model's, as the provider knows it."""
    known: Capabilities
    entry: dict[str, Any]
    """The model's in the catalogue."""
    most: int | None = None
    official: bool = True
    """Whether it goes to the provider's own address."""
    histories: Histories = Fresh()

    def encoded(self, messages: Sequence[Message], encode: Encode, how: str = "") -> list[bytes]:
        """The encoding of each message; `how` names what besides the message and the model it depends on."""
        request = self.request
        if not request.conversation:
            return [*map(encode, messages)]
        return self.histories.encoded(f"{request.conversation} {request.one.model} {how}", messages, encode)

    @property
    def cache_key(self) -> str | None:
        """Under which name OpenAI caches the prompts of a conversation; None for others, and for what is not cached."""
        request = self.request
        if (
            not self.official
            or not request.conversation
            or not request.one.caching_prompt
            or self.provider is not OPENAI
        ):
            return None
        return cache_key(request.conversation)


class Reader(Protocol):
    """Reads one answer."""

    @property
    def ended(self) -> bool:
        """Whether all was said, though what should end the stream may still be missing."""
        ...

    def take(self, data: bytes) -> bool:
        """The data of an event of the stream; whether it was the last one.

        Raises `WireError` for one that says that the provider failed, and `msgspec.DecodeError`.
        """
        ...

    def whole(self, data: bytes) -> None:
        """An answer that is no stream. Raises as `take`."""
        ...

    def reply(self) -> ModelReply:
        """What was answered. Raises `ModelError`."""
        ...


class Format(Protocol):
    """A provider's interface."""

    def sent(self, asked: Asked) -> Sent:
        """What is posted."""
        ...

    def reader(self, asked: Asked, watch: Watch) -> Reader:
        """What reads the answer, and shows it as it comes."""
        ...


class WireError(Exception):
    """Raised for an answer that is an error: what was said, and the HTTP status that fits, else 0."""

    def __init__(self, said: str, status: int = 0, code: str = "") -> None:
        self.said, self.status, self.code = said, status, code
        super().__init__(said)


def cache_key(conversation: str) -> str:
    """The name of a conversation, or a digest of one that is too long."""
    if len(conversation) <= _LONGEST_CACHE_KEY:
        return conversation
    return hashlib.sha256(conversation.encode()).hexdigest()[:32]


def estimated(asked: Asked, *written: str) -> Usage:
    """What an answer of these texts used, where the provider does not say."""
    request = asked.request
    size = sum(len(text.encode("utf-8", "replace")) for text in written)
    return Usage(estimated_tokens(request.messages, request.tools), -(-size // BYTES_A_TOKEN))


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of an earlier call as an object; empty for a call that was refused because they are none."""
    try:
        found = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def reply_of(
    asked: Asked,
    *,
    text: str,
    calls: Sequence[ToolCall],
    reasoning: str,
    reason: str,
    id: str,
    usage: Usage | None,
    thoughts: Sequence[dict[str, Any]] = (),
    refusal: str = "",
) -> ModelReply:
    """The reply of these parts. `reason` is OpenAI's word for why it ended; `usage` is estimated where it is None;
    `thoughts` are the blocks that the provider wants back. Raises `ContentRefused` for one that says nothing else.
    """
    model = asked.request.one.model
    if refusal or (reason == "content_filter" and not text and not calls):
        said = f" ({refusal})" if refusal else ""
        raise ContentRefused(f"{model!r} refused to answer, or its provider held back the answer{said}")
    return ModelReply(
        text=text,
        tool_calls=tuple(calls),
        reasoning=reasoning,
        thinking=Thinking(model, msgspec.Raw(msgspec.json.encode(thoughts))) if thoughts else None,
        response_id=id or new_id(),
        usage=usage or estimated(asked, text, reasoning, *(call.arguments for call in calls)),
        finish_reason="tool_calls" if calls and reason == "stop" else reason,
    )


def cut(said: str = "") -> ModelUnavailable:
    """An answer that has no end."""
    return ModelUnavailable("the model's answer was cut before its end" + (f" ({said})" if said else ""))


_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.", re.DOTALL
)
_HALF_ESCAPE = 6
"""Bytes of an escape that is half a character: whole ones, and all others, are longer or shorter."""


def read(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """JSON as a provider sent it. Half a character, which some send where two pieces of a text meet, is read as U+FFFD.

    Raises `msgspec.DecodeError`.
    """
    try:
        try:
            return decoder.decode(data)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, UnicodeDecodeError):
            whole = _ESCAPES.sub(_replaced, data.decode("utf-8", "replace").encode())
            if whole == data:
                raise
            return decoder.decode(whole)
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None


def _replaced(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if len(escape[0]) == _HALF_ESCAPE else escape[0]


class _Error(msgspec.Struct):
    message: Any = ""
    type: Any = ""
    code: Any = ""


class _Envelope(msgspec.Struct):
    error: _Error | str | None = None
    message: Any = ""
    detail: Any = ""
    code: Any = ""


_envelope = msgspec.json.Decoder(_Envelope, strict=False)
_LONGEST = 2_000


def error_in(data: bytes) -> WireError:
    """The error that a body, or an event, tells of: OpenAI's envelope, Anthropic's, FastAPI's, or any text."""
    try:
        found = read(_envelope, data)
    except msgspec.DecodeError:
        return WireError(data[:_LONGEST].decode("utf-8", "replace"))
    match found.error:
        case _Error(message=message, type=kind, code=code):
            words = " ".join(str(one) for one in (message, kind, code) if one)
            return WireError(str(message or words or "it failed"), _status(kind, code), words)
        case str(said):
            return WireError(said)
        case _:
            said = str(found.message or found.detail or data[:_LONGEST].decode("utf-8", "replace"))
            return WireError(said, _status("", found.code), str(found.code or ""))


def _status(kind: Any, code: Any) -> int:
    """The HTTP status that an error names, or that fits to its kind, else 0."""
    number = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()) else 0
    if 400 <= number < 600:
        return number
    return STATUSES.get(str(code)) or STATUSES.get(str(kind), 0)

"""`Format`: makes the requests to a provider's interface; `Reader`: reads one answer. Pure."""

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
"""Maximum number of characters that OpenAI accepts."""


class Sent(msgspec.Struct, frozen=True):
    """A request to post: a path below the provider's address, a body, and headers in addition to the key's."""

    path: str
    body: bytes
    headers: dict[str, str] = {}


class Asked(msgspec.Struct, frozen=True):
    """A request, with the facts about its model and provider; `most` is the maximum number of tokens of the answer."""

    request: ModelRequest
    provider: Provider
    name: str
    """The model's name at the provider."""
    known: Capabilities
    entry: dict[str, Any]
    """The model's entry in the catalogue."""
    most: int | None = None
    official: bool = True
    """Whether the request goes to the provider's own address."""
    histories: Histories = Fresh()

    def encoded(self, messages: Sequence[Message], encode: Encode, how: str = "") -> list[bytes]:
        """Return the encoding of each message; `how` names what it depends on besides the message and the model."""
        request = self.request
        if not request.conversation:
            return [*map(encode, messages)]
        return self.histories.encoded(f"{request.conversation} {request.one.model} {how}", messages, encode)

    @property
    def cache_key(self) -> str | None:
        """The name under which OpenAI caches a conversation's prompts; None for other providers, or without caching."""
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
        """Whether the answer is complete, even if the end of the stream is still missing."""
        ...

    def take(self, data: bytes) -> bool:
        """Take the data of an event of the stream; return whether it was the last one.

        Raises `WireError` for an event that reports a failure of the provider, and `msgspec.DecodeError`.
        """
        ...

    def whole(self, data: bytes) -> None:
        """Take an answer that is not a stream. Raises the same errors as `take`."""
        ...

    def reply(self) -> ModelReply:
        """Return the reply. Raises `ModelError`."""
        ...


class Format(Protocol):
    """A provider's interface."""

    def sent(self, asked: Asked) -> Sent:
        """Return the request to post."""
        ...

    def reader(self, asked: Asked, watch: Watch) -> Reader:
        """Return a reader of the answer, which shows it as it arrives."""
        ...


class WireError(Exception):
    """Raised for an answer that is an error, with its message, and the HTTP status that fits, else 0."""

    def __init__(self, said: str, status: int = 0, code: str = "") -> None:
        self.said, self.status, self.code = said, status, code
        super().__init__(said)


def cache_key(conversation: str) -> str:
    """Return the name of a conversation, or a digest if the name is too long."""
    if len(conversation) <= _LONGEST_CACHE_KEY:
        return conversation
    return hashlib.sha256(conversation.encode()).hexdigest()[:32]


def estimated(asked: Asked, *written: str) -> Usage:
    """Return the estimated usage of an answer with these texts, if the provider does not report it."""
    request = asked.request
    size = sum(len(text.encode("utf-8", "replace")) for text in written)
    return Usage(estimated_tokens(request.messages, request.tools), -(-size // BYTES_A_TOKEN))


def arguments_of(text: str) -> dict[str, Any]:
    """Return the arguments of an earlier call; empty for a call that was refused because they are not a JSON object."""
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
    """Return the reply with these parts. `reason` is OpenAI's word for why it ended; `usage` is estimated if it is
    None; `thoughts` are the blocks that the provider wants back. Raises `ContentRefused` for a refusal, and for an
    answer of which nothing passed a content filter.
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
    """Return the error for an answer without its end."""
    return ModelUnavailable("the model's answer was cut before its end" + (f" ({said})" if said else ""))


_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.", re.DOTALL
)
_HALF_ESCAPE = 6
"""Number of bytes of an escape that is half a character; those of whole pairs are longer, all others shorter."""


def read(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """Decode a provider's JSON. Half a character, which some send where two pieces of a text meet, is read as U+FFFD.

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
    """Return the error in a body or an event: in the envelope of OpenAI, Anthropic or FastAPI, or any text."""
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
    """Return the HTTP status that an error names, or that fits its kind, else 0."""
    number = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()) else 0
    if 400 <= number < 600:
        return number
    return STATUSES.get(str(code)) or STATUSES.get(str(kind), 0)

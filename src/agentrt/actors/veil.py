"""`Veil`: masks secrets in everything that leaves a conversation: events, deltas, blobs and prompts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..codec import decode, encode
from ..context.messages import Message
from ..errors import EventRefused
from ..events import SCHEMA_VERSION, Event, MessageEvent, SystemPromptEvent
from ..events.members import envelope, ids, words
from ..secrets import CurrentMask, Mask, SecretRegistry
from ..specs import ToolDefinition
from ..specs.content import plain, text

IN_A_THREAD = 64 * 1024
"""Minimum size, in bytes, of data that is masked in a thread."""

_SHORTEST_HALF = 4
"""Minimum length, in bytes, of the beginning of a secret that is cut off a message."""

_WORD = re.compile(r"\w{1,32}")


T = TypeVar("T")
_Hide: TypeAlias = Callable[[Any, str], Any]
"""Masks the secrets in a JSON value, given the name of its member."""


class Veil:
    """Applies a registry's mask to events, texts and prompts. An object without secrets is returned as it is."""

    def __init__(self, secrets: SecretRegistry) -> None:
        self._secrets = secrets

    @property
    def version(self) -> int:
        """A number that grows when there is more to mask."""
        return self._secrets.version

    def event(self, event: Event) -> Event:
        """Return an event as it may be logged. Raise `EventRefused` if masking makes it invalid."""
        mask = self._secrets.mask
        if not mask:
            return event
        if isinstance(event, MessageEvent) and event.partial:
            event = _without_half(event, mask)
        raw = encode(event)
        if not mask.found_in(raw):
            return event
        fields = msgspec.json.decode(raw)
        kept = (envelope() - {"by"}) | ids(type(event))  # no secret stands in these members

        def clean(hide: _Hide) -> Event:
            hidden = {name: value if name in kept else hide(value, name) for name, value in fields.items()}
            return decode(msgspec.json.encode(hidden), SCHEMA_VERSION)

        try:
            return _masked(mask, clean)
        except msgspec.MsgspecError as error:
            raise EventRefused(f"a {type(event).__name__} cannot be logged without a secret in it") from error

    def text(self, text: str) -> str:
        """Return a text as it may be shown."""
        return self._secrets.mask.text(text)

    async def data(self, data: bytes) -> bytes:
        """Return bytes as they may be stored."""
        mask = self._secrets.mask
        if not mask or len(data) < IN_A_THREAD:
            return mask.data(data)
        return await anyio.to_thread.run_sync(mask.data, data)

    def messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return a prompt as it may be sent. Values that became secrets after they were logged are masked, too."""
        mask = self._secrets.mask
        if not mask or not mask.found_in(raw := msgspec.json.encode(list(messages))):
            return messages
        given = msgspec.json.decode(raw)
        return _masked(mask, lambda hide: msgspec.convert(hide(given, ""), list[Message]))

    def tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        """Return tools as they may be offered; the same objects if they hold no secret."""
        hidden = self.event(SystemPromptEvent(system_prompt="", tools=tools))
        assert isinstance(hidden, SystemPromptEvent)
        return hidden.tools

    def stream(self) -> Callable[[str], str]:
        """Return a function that masks a growing text: it takes each piece and returns what may be shown.

        It holds back the possible beginning of a secret until later pieces show that it is none, or until the event
        with the whole text comes.
        """
        return CurrentMask(lambda: self._secrets.mask).feed


def _masked(mask: Mask, made: Callable[[_Hide], T]) -> T:
    """Return what `made` makes of masked JSON. If that is invalid, mask again, but spare the words of the format."""
    try:
        return made(lambda value, name: mask.json(value))
    except msgspec.MsgspecError:
        return made(lambda value, name: _spared(mask, value, name))


def _spared(mask: Mask, value: Any, name: str) -> Any:
    """Return JSON masked as by `Mask.json`, but keep numbers, names that are one word, and words from a small set.

    A secret may be equal to one of these.
    """
    match value:
        case str():
            return value if name in words(Message) and _WORD.fullmatch(value) else mask.text(value)
        case list():
            return [_spared(mask, item, name) for item in value]
        case dict():
            return {
                key if _WORD.fullmatch(key) else mask.text(key): _spared(mask, item, key) for key, item in value.items()
            }
        case _:
            return value


def _without_half(event: MessageEvent, mask: Mask) -> MessageEvent:
    """Return a message that was cut without the possible beginning of a secret at its end."""
    said = plain(event.content)
    data = said.encode("utf-8", "surrogatepass")
    end = mask.unfinished(data)
    if len(data) - end < _SHORTEST_HALF:
        return event
    return replace(event, content=text(data[:end].decode("utf-8", "surrogatepass")))

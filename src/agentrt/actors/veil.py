"""`Veil`: takes what is secret out of all that leaves a conversation: events, deltas, blobs and prompts."""

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
"""Bytes from which on data is masked in a thread."""

_SHORTEST_HALF = 4
"""Characters of the beginning of a secret that are worth hiding."""

_WORD = re.compile(r"\w{1,32}")


T = TypeVar("T")
_Hide: TypeAlias = Callable[[Any, str], Any]
"""Takes what is secret out of JSON, given the name of the member that it is."""


class Veil:
    """What a registry's mask does to each; what holds no secret stays the object that it is."""

    def __init__(self, secrets: SecretRegistry) -> None:
        self._secrets = secrets

    @property
    def version(self) -> int:
        """Rises when there is more to hide."""
        return self._secrets.version

    def event(self, event: Event) -> Event:
        """An event as it may be logged. Raises `EventRefused` for one that nothing would be left of."""
        mask = self._secrets.mask
        if not mask:
            return event
        if isinstance(event, MessageEvent) and event.partial:
            event = _without_half(event, mask)
        raw = encode(event)
        if not mask.found_in(raw):
            return event
        fields, kept = msgspec.json.decode(raw), (envelope() - {"by"}) | ids()  # no value has a place there

        def clean(hide: _Hide) -> Event:
            hidden = {name: value if name in kept else hide(value, name) for name, value in fields.items()}
            return decode(msgspec.json.encode(hidden), SCHEMA_VERSION)

        try:
            return _masked(mask, clean)
        except msgspec.MsgspecError as error:
            raise EventRefused(f"a {type(event).__name__} cannot be logged without a secret in it") from error

    def text(self, text: str) -> str:
        """A text as it may be shown."""
        return self._secrets.mask.text(text)

    async def data(self, data: bytes) -> bytes:
        """Bytes as they may be stored."""
        mask = self._secrets.mask
        if not mask or len(data) < IN_A_THREAD:
            return mask.data(data)
        return await anyio.to_thread.run_sync(mask.data, data)

    def messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """A prompt as it may be sent: what became a secret after it was said is hidden as well."""
        mask = self._secrets.mask
        if not mask or not mask.found_in(raw := msgspec.json.encode(list(messages))):
            return messages
        given = msgspec.json.decode(raw)
        return _masked(mask, lambda hide: msgspec.convert(hide(given, ""), list[Message]))

    def tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        """Tools as they may be offered; the same ones where they hold no secret."""
        hidden = self.event(SystemPromptEvent(system_prompt="", tools=tools))
        assert isinstance(hidden, SystemPromptEvent)
        return hidden.tools

    def stream(self) -> Callable[[str], str]:
        """What takes the secrets out of something that grows, of which it is given piece after piece.

        The beginning of a secret is held back until it is none, or until the event has come that has the whole.
        """
        return CurrentMask(lambda: self._secrets.mask).feed


def _masked(mask: Mask, made: Callable[[_Hide], T]) -> T:
    """What `made` makes of JSON without secrets: spared is what the format needs, and only where it needs that."""
    try:
        return made(lambda value, name: mask.json(value))
    except msgspec.MsgspecError:
        return made(lambda value, name: _spared(mask, value, name))


def _spared(mask: Mask, value: Any, name: str) -> Any:
    """As `Mask.json`, but for names, and for words where one of a few stands: a secret may be one of them."""
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
    """A message that was cut, without what may be the beginning of a secret at its end."""
    said = plain(event.content)
    data = said.encode("utf-8", "surrogatepass")
    end = mask.unfinished(data)
    if len(data) - end < _SHORTEST_HALF:
        return event
    return replace(event, content=text(data[:end].decode("utf-8", "surrogatepass")))

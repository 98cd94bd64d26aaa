"""`Histories`: the encoded messages of each conversation's last request.

The next request of a conversation usually begins with the same messages, so only the new ones are encoded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from ...context.messages import Message
from ...prefix import common_prefix

MOST_KEPT = 32 << 20
"""Maximum number of bytes kept for all conversations; the least recently used are dropped."""

Encode = Callable[[Message], bytes]


class _Kept:
    """The messages of one conversation, each with its encoding."""

    __slots__ = ("messages", "parts", "size")

    def __init__(self, messages: Sequence[Message], parts: list[bytes]) -> None:
        self.messages, self.parts = messages, parts
        self.size = sum(map(len, parts))


class Histories:
    """Encodings by a name that stands for the conversation, its model, and all else that they depend on."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def encoded(self, name: str, messages: Sequence[Message], encode: Encode) -> list[bytes]:
        """Return the encoding of each message; those of messages with which the last request began are reused."""
        kept = self._kept.pop(name, None)
        parts = list[bytes]()
        if kept is not None:
            self._size -= kept.size
            parts = kept.parts[: common_prefix(kept.messages, messages)]
        parts += map(encode, messages[len(parts) :])
        self._keep(name, _Kept(messages, parts))
        return parts

    def _keep(self, name: str, kept: _Kept) -> None:
        if kept.size > self._most // 2:
            return
        self._kept[name] = kept
        self._size += kept.size
        while self._size > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size


class Fresh(Histories):
    """A `Histories` that keeps nothing."""

    def encoded(self, name: str, messages: Sequence[Message], encode: Encode) -> list[bytes]:
        """Return the encoding of each message."""
        return [*map(encode, messages)]

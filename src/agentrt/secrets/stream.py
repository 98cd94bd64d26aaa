"""`StreamMask`: masks a text that arrives in pieces. Pure."""

from __future__ import annotations

from collections.abc import Callable

from .mask import HIDDEN, Mask, merged


class StreamMask:
    """Masks the pieces of a text as they arrive: joined, the results are the masked text.

    It holds back only the end of a piece that may be the beginning of a secret, so ordinary text is shown at once.
    `mask` may be replaced while the text arrives: the new one masks the text that was held back, and all that follows.
    """

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self._held = b""
        self._covered = 0
        """Number of bytes at the beginning of `_held` that belong to a secret whose mark was already shown."""

    def feed(self, piece: str) -> str:
        """Take a piece; return the text that may be shown now."""
        if not self.mask and not self._held:
            return piece
        data = self._held + piece.encode("utf-8", "surrogatepass")
        return self._shown(data, self.mask.unfinished(data))

    def flush(self) -> str:
        """Return the text that was held back, when the text ends or pauses. A secret that is cut here is not masked."""
        return self._shown(self._held, len(self._held))

    def _shown(self, data: bytes, upto: int) -> str:
        """Return the masked text before `upto`, where each secret that begins is complete, and hold the rest."""
        spans = self.mask.spans(data)
        if not spans and not self._covered and upto == len(data):
            self._held = b""
            return data.decode("utf-8", "surrogatepass")
        pieces, place = list[str](), 0
        for start, end in merged([(0, self._covered), *spans] if self._covered else spans):
            marked = start == 0 and self._covered > 0
            if start >= upto and not marked:
                break
            pieces.append(data[place:start].decode("utf-8", "surrogatepass"))
            pieces.append("" if marked else HIDDEN)
            place = end
        pieces.append(data[place:upto].decode("utf-8", "surrogatepass"))
        self._covered = max(place - upto, 0)
        self._held = data[upto:]
        return "".join(pieces)


class CurrentMask:
    """Masks a text that arrives in pieces, each with the secrets that are known when it arrives."""

    def __init__(self, current: Callable[[], Mask]) -> None:
        self._current, self._stream = current, StreamMask(current())

    def feed(self, piece: str) -> str:
        """Take a piece; return the text that may be shown now."""
        self._stream.mask = self._current()
        return self._stream.feed(piece)

    def flush(self) -> str:
        """Return the text that was held back, when the text has ended."""
        self._stream.mask = self._current()
        return self._stream.flush()

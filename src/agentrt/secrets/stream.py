"""`StreamMask`: masks a text that comes in pieces. Pure."""

from __future__ import annotations

from collections.abc import Callable

from .mask import HIDDEN, Mask, merged


class StreamMask:
    """Masks pieces of a text as they come: what they give together is the whole text masked.

    Of a piece only the end is held back that may be the beginning of a secret, so ordinary text is shown at once.
    `mask` may be replaced while the text comes: what was held back, and all that follows, is masked by the new one.
    """

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self._held = b""
        self._covered = 0
        """How many bytes at the beginning of what is held belong to a secret whose mark was shown already."""

    def feed(self, piece: str) -> str:
        """Take a piece; what may be shown now."""
        if not self.mask and not self._held:
            return piece
        data = self._held + piece.encode("utf-8", "surrogatepass")
        return self._shown(data, self.mask.unfinished(data))

    def flush(self) -> str:
        """The text has ended, or waits: what was held back. A secret that began there is not seen as one any more."""
        return self._shown(self._held, len(self._held))

    def _shown(self, data: bytes, upto: int) -> str:
        """What stands before `upto`, where every secret that begins is there as a whole; the rest is held."""
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
    """Masks a text that comes in pieces by the secrets that are known when each comes."""

    def __init__(self, current: Callable[[], Mask]) -> None:
        self._current, self._stream = current, StreamMask(current())

    def feed(self, piece: str) -> str:
        """Take a piece; what may be shown now."""
        self._stream.mask = self._current()
        return self._stream.feed(piece)

    def flush(self) -> str:
        """The text has ended: what was held back."""
        self._stream.mask = self._current()
        return self._stream.flush()

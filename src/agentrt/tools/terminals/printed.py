"""`Printed`: what a command prints as a model sees it, from call to call what is new. Pure."""

from __future__ import annotations

import codecs

from ...protocols import Masking
from .escapes import Unescaping
from .overwriting import last_states


class Printed:
    """Bytes as text without escapes, without secrets, and with lines in their last state.

    Of what a call brings, the beginning of a character, an escape or a secret is held back for the next.
    """

    def __init__(self, masking: Masking) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._plain, self._masking = Unescaping(), masking

    def more(self, data: bytes, *, last: bool) -> str:
        """What the next bytes show; of the `last` ones all."""
        text = self._plain.feed(self._decoder.decode(data, last))
        shown = self._masking.feed(last_states(text + self._plain.flush() if last else text))
        return shown + self._masking.flush() if last else shown

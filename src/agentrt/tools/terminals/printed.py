"""`Printed`: a command's output as a model sees it, in the new pieces of each call. Pure."""

from __future__ import annotations

import codecs

from ...protocols import Masking
from .escapes import Unescaping
from .overwriting import last_states


class Printed:
    """Output bytes as text without escapes or secrets, and with lines in their last state.

    An incomplete character or escape, or a possible beginning of a secret, is held back for the next call.
    """

    def __init__(self, masking: Masking) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._plain, self._masking = Unescaping(), masking

    def more(self, data: bytes, *, last: bool) -> str:
        """Return the text of the next bytes. With the `last` ones nothing is held back."""
        text = self._plain.feed(self._decoder.decode(data, last))
        shown = self._masking.feed(last_states(text + self._plain.flush() if last else text))
        return shown + self._masking.flush() if last else shown

"""`Patience`: for how long a call waits until the files of its workspace are kept."""

from __future__ import annotations

import msgspec


class Patience(msgspec.Struct, frozen=True):
    """For how many seconds a call waits for the trees before and after it."""

    first: float = 2.0
    """For the first tree. After that, it may have changes of the first call."""
    before: float = 10.0
    """For a later tree before it. After that, the authors of the changes in it are unknown."""
    after: float = 0.2
    """Its result, for the tree after it: what people change from then on is known to be theirs."""

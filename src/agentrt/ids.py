"""Ids of events, conversations and drafts."""

from __future__ import annotations

import os
import time
from random import Random


def new_id() -> str:
    """Return a UUID of version 7: 48 bits of Unix milliseconds, then random bits (RFC 9562, section 5.7); no secret."""
    stamp, noise = time.time_ns() // 1_000_000, _noise.getrandbits(76) & 0x0FFF_3FFF_FFFF_FFFF_FFFF
    digits = f"{stamp << 80 | 0x7000_8000_0000_0000_0000 | noise:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


_noise = Random()  # its own: a program that seeds the global one must not make ids repeat
os.register_at_fork(after_in_child=_noise.seed)

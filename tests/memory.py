"""How much more memory this process took while something was done: what the kernel saw of it at most."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS = Path("/proc/self/status")


class Growth:
    """In bytes; known once the body has ended."""

    bytes = 0


@contextmanager
def growth() -> Iterator[Growth]:
    """Watches the peak of resident memory, which does not count the pages of files (proc(5), clear_refs)."""
    found = Growth()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak()
    yield found
    found.bytes = _peak() - before


def _peak() -> int:
    match = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
    assert match is not None
    return int(match[1]) * 1024

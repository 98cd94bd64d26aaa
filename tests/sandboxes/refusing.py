"""Run a command where the system refuses what makes a wall: `python -m tests.sandboxes.refusing WHAT... -- COMMAND...`.

"namespaces" refuses new ones, as a container's profile does, and "landlock" Landlock. A filter of system calls does it,
for the command and all that it starts.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_NUMBERS = {"unshare": 272, "clone": 56, "clone3": 435, "landlock": 444}
"""Of x86-64 (asm/unistd.h)."""

_SPACES = 0x7E020000
"""The flags of clone(2) for new namespaces."""


def filter_of(what: set[str]) -> bytes:
    """Return the filter, as `struct sock_filter`s."""
    refuse, allow, missing = 0x50000 | errno.EPERM, 0x7FFF0000, 0x50000 | errno.ENOSYS
    steps = [(0x20, 0, 0, 0)]
    if "landlock" in what:
        steps += [(0x15, 0, 1, _NUMBERS["landlock"]), (0x06, 0, 0, missing)]
    if "namespaces" in what:
        steps += [(0x15, 0, 1, _NUMBERS["unshare"]), (0x06, 0, 0, refuse)]
        steps += [(0x15, 0, 1, _NUMBERS["clone3"]), (0x06, 0, 0, missing)]
        steps += [(0x15, 0, 3, _NUMBERS["clone"]), (0x20, 0, 0, 16), (0x45, 0, 1, _SPACES), (0x06, 0, 0, refuse)]
    return b"".join(struct.pack("HBBI", *step) for step in [*steps, (0x06, 0, 0, allow)])


def main() -> None:
    """Run the command."""
    at = sys.argv.index("--")
    given = filter_of(set(sys.argv[1:at]))
    library = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(given, len(given))
    program = (ctypes.c_uint64 * 2)(len(given) // 8, ctypes.addressof(code))
    assert library.prctl(38, 1, 0, 0, 0) == 0
    assert library.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
    os.execvp(sys.argv[at + 1], sys.argv[at + 1 :])


if __name__ == "__main__":
    main()

"""The filter of system calls behind the wall: seccomp(2) refuses those with which a program could leave it.

`PROGRAM` is classic BPF, as `prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER)` takes it. It refuses typing into a terminal
(TIOCSTI, TIOCLINUX), the keyring, bpf, performance counters, userfaultfd and io_uring, and every call in the way of
another architecture, whose numbers differ.
"""

from __future__ import annotations

import errno
import struct
from functools import cache

CALLS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "x86_64": (
        0xC000003E,
        16,
        (248, 249, 250, 298, 321, 323, 425, 426, 427),
    ),
    "aarch64": (
        0xC00000B7,
        29,
        (217, 218, 219, 241, 280, 282, 425, 426, 427),
    ),
}
"""By `uname -m`: the architecture in a filter, the number of ioctl, and those of add_key, request_key, keyctl,
perf_event_open, bpf, userfaultfd and the three of io_uring (asm/unistd.h).
"""

TYPING = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, see ioctl_tty(2)."""

_X32 = 0x40000000
"""The bit of the calls of x86-64 with short pointers."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
"""Codes of the instructions: load a word, jump if equal, jump if at least, return."""

_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`: the call, the architecture, the low halves of its first two arguments."""

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM


SOCKET = {"x86_64": 41, "aarch64": 198}
"""The number of socket by `uname -m`."""

_UNIX = 1
"""The family of Unix sockets."""


@cache
def filter_program(machine: str, sockets: str = "all") -> bytes:
    """Return the filter for a machine as `struct sock_filter`s; b"" if its numbers are not known here.

    `sockets` says which can be made: "all", "network" for all but Unix sockets, or "none". Pairs always can.
    """
    if machine not in CALLS:
        return b""
    architecture, ioctl, refused = CALLS[machine]
    if sockets == "none":
        refused += (SOCKET[machine],)
    checks_family = sockets == "network"
    end = len(refused) + len(TYPING) + 7 + 3 * checks_family  # the instruction that refuses; the one before it allows
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, end - 2, architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, end - 4, 0, _X32),
        *((_EQUAL, end - 5 - at, 0, number) for at, number in enumerate(refused)),
    ]
    if checks_family:
        steps += [
            (_EQUAL, 0, 2, SOCKET[machine]),
            (_LOAD, 0, 0, _FIRST),
            (_EQUAL, end - len(steps) - 3, end - len(steps) - 4, _UNIX),
        ]
    at = len(steps)
    steps += [
        (_EQUAL, 0, len(TYPING) + 1, ioctl),
        (_LOAD, 0, 0, _SECOND),
        *((_EQUAL, end - at - 3 - more, 0, request) for more, request in enumerate(TYPING)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)

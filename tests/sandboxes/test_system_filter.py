"""The filter of system calls does what it says, call by call: it is run here as the kernel runs it."""

from __future__ import annotations

import errno
import struct

import pytest

from agentrt.sandboxes.system_filter import CALLS, TYPING, filter_program

pytestmark = pytest.mark.pure

ALLOWED, REFUSED = 0x7FFF0000, 0x00050000 | errno.EPERM


def answer(program: bytes, number: int, architecture: int, second: int = 0) -> int:
    """What a filter says of a call (seccomp(2)): loads, jumps and returns are all that it has."""
    data = struct.pack("IIQ6Q", number, architecture, 0, 0, second, 0, 0, 0, 0)
    steps, at, value = list(struct.iter_unpack("HBBI", program)), 0, 0
    for _ in range(len(steps)):
        code, true, false, given = steps[at]
        match code:
            case 0x20:
                (value,) = struct.unpack_from("I", data, given)
                at += 1
            case 0x15:
                at += 1 + (true if value == given else false)
            case 0x35:
                at += 1 + (true if value >= given else false)
            case _:
                return int(given)
    raise AssertionError


@pytest.mark.parametrize("machine", list(CALLS))
def test_each_call_is_let_through_or_refused(machine: str) -> None:
    architecture, ioctl, refused = CALLS[machine]
    program = filter_program(machine)
    for number in range(500):
        expected = REFUSED if number in refused else ALLOWED
        assert answer(program, number, architecture) == expected, number
        assert answer(program, number, architecture ^ 1) == REFUSED, "another architecture has other numbers"
    for request in (*range(0x5401, 0x5470), 0x5412 | 1 << 32):
        typing = request & 0xFFFFFFFF in TYPING
        assert answer(program, ioctl, architecture, request) == (REFUSED if typing else ALLOWED), request
    assert answer(program, 0x40000000, architecture) == REFUSED


def test_an_unknown_machine_has_no_filter() -> None:
    assert filter_program("vax") == b""

"""Run a module as `python -m` does, forked from the process of `warm.py`: `python -IS start.py SOCKET MODULE ...`.

The module has the streams, the environment and the directory of this process, which ends as the module ends.
"""

from __future__ import annotations

import os
import signal
import socket
import sys


def run(path: str, words: list[str]) -> int:
    """Have a module run, and return its exit code, negative for a signal."""
    given = [os.getcwd(), *words, "", *(f"{name}={value}" for name, value in os.environ.items())]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(path)
        socket.send_fds(connection, ["\0".join(given).encode(errors="surrogateescape")], [0, 1, 2])
        os.close(0)
        os.close(1)  # the module alone holds its pipes
        return int(connection.recv(10) or b"1")


if __name__ == "__main__":
    code = run(sys.argv[1], sys.argv[2:])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)

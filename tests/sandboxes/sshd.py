"""`sshd`: a real server of OpenSSH on the loopback of this machine, for one key."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS = 20.0

SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {place}/host
AuthorizedKeysFile {place}/client.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
MaxStartups 100
"""

CLIENT = """\
Host there
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {place}/client
  IdentitiesOnly yes
  UserKnownHostsFile {place}/known
  StrictHostKeyChecking accept-new
  LogLevel ERROR
"""


@dataclass(frozen=True)
class Sshd:
    """A server: `options` of `ssh` with which the host `there` is it."""

    options: tuple[str, ...]
    process: subprocess.Popen[bytes]


@contextmanager
def sshd() -> Iterator[Sshd]:
    """Run a server."""
    program = shutil.which("sshd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
    assert program is not None, "install openssh-server"
    with tempfile.TemporaryDirectory() as place:
        for name in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{place}/{name}"], check=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        Path(place, "server").write_text(SERVER.format(port=port, place=place))
        Path(place, "config").write_text(CLIENT.format(port=port, place=place, user=getpass.getuser()))
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", 0o755, exist_ok=True)
        with Path(place, "log").open("wb") as log:
            process = subprocess.Popen([program, "-D", "-e", "-f", f"{place}/server"], stderr=log)
        try:
            until = time.monotonic() + SECONDS
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert process.poll() is None, Path(place, "log").read_text()
                    assert time.monotonic() < until, Path(place, "log").read_text()
            yield Sshd(("-F", f"{place}/config"), process)
        finally:
            process.terminate()
            process.wait()

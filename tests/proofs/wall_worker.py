"""Tries ways out of a box, by their effect on canaries, and prints what was touched.

`wall_worker.py DIRECTORY CONFINE` is a program of its own, so that it can be run as another user.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import anyio
import msgspec

from agentrt.errors import ToolError
from agentrt.placing import DEVNULL, PIPE, Setting
from agentrt.sandboxes.here import Here
from agentrt.specs.workspace import Confine, LocalWorkspace

CANARY = "tweet-7c1e"
"""What nothing inside may print."""

SECONDS = 20.0

_PY = "python3 -I -c "

READS = {
    "key by path": "cat {base}/secret.key",
    "key above the workspace": "cat ../secret.key",
    "key by a link": "ln -sf {base}/secret.key l1; cat l1",
    "key by a relative link": "ln -sf ../secret.key l2; cat l2",
    "key by a hard link": "ln {base}/secret.key l3; cat l3",
    "key by a linked directory": "ln -sfn {base} l4; cat l4/secret.key",
    "key by root of a process": "cat /proc/1/root{base}/secret.key",
    "key by root of this process": "cat /proc/self/root{base}/secret.key",
    "key by the runtime's root": "cat /proc/{pid}/root{base}/secret.key",
    "key by the runtime's directory": "cat /proc/{pid}/cwd/secret.key",
    "key by tar": "tar cf - {base}/secret.key",
    "key by python": _PY + "\"print(open('{base}/secret.key').read())\"",
    "key by a compiled name": "f=sec; cat {base}/${{f}}ret.key",
    "key by find": "find {base} -name secret.key -exec cat {{}} +",
    "key by a new script": "printf 'cat {base}/secret.key' > s.sh; sh s.sh",
    "key by an alias": "shopt -s expand_aliases; alias x='cat {base}/secret.key'; eval x",
    "key by PATH": "mkdir -p b; printf '#!/bin/sh\\ncat {base}/secret.key\\n' > b/ls; chmod +x b/ls; PATH=$PWD/b:$PATH"
    "; ls",
    "key by a module": "echo \"print(open('{base}/secret.key').read())\" > shadow.py; python3 -c 'import shadow'",
    "key by make": "printf 'all:\\n\\tcat {base}/secret.key\\n' > Makefile; make -s || sh -c 'cat {base}/secret.key'",
    "key by git": "git diff --no-index /dev/null {base}/secret.key",
    "key by an include of git": "git -c include.path={base}/secret.key config -l",
    "key by dd": "dd if={base}/secret.key status=none",
    "key in the background": "(sleep 0; cat {base}/secret.key) & wait",
    "key by setsid": "setsid -w cat {base}/secret.key",
    "key by env -i": "env -i /bin/cat {base}/secret.key",
    "key by base64": "base64 -d <<< $(base64 {base}/secret.key)",
    "key by an upper directory": "cd ../../../../../../../..; cat .{base}/secret.key",
    "key of ssh": "cat {home}/.ssh/id_canary",
    "key of ssh by ~": "cat ~/.ssh/id_canary",
    "notes at home": "cat {home}/notes.txt; cat ~/notes.txt",
    "list of the home": "ls -la {home}; ls -la ~",
    "store": "cat {base}/store/events.log",
    "store by a wildcard": "cat {base}/*/events.log",
    "store in the workspace": "cat .agentrt-store/events.log; cat {work}/.agentrt-store/*",
    "another workspace": "cat {base}/other/file",
    "a file in /tmp": "cat {outside}/*; grep -r tweet {outside}",
    "environment of the runtime": "cat /proc/{pid}/environ | tr '\\0' '\\n'",
    "environment of all": "cat /proc/[0-9]*/environ | tr '\\0' '\\n'",
    "own environment": "env; set",
    "environment of the first": "cat /proc/1/environ | tr '\\0' '\\n'",
    "command lines of all": "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
    "memory of the runtime": _PY + "\"print(open('/proc/{pid}/maps').read())\" && echo tweet-7c1e",
    "descriptors of the runtime": "ls -la /proc/{pid}/fd && echo tweet-7c1e",
    "tracing the runtime": _PY
    + "\"import ctypes; l=ctypes.CDLL(None); print('tweet-7c1e' if l.ptrace(0x4206,{pid},0,0)==0 else '')\"",
    "a socket in the home": _PY + "\"import socket; s=socket.socket(1); s.connect('{home}/sock'); print(s.recv(99))\"",
    "a socket beside": _PY + "\"import socket; s=socket.socket(1); s.connect('{base}/run.sock'); print(s.recv(99))\"",
    "a socket in /tmp": _PY + "\"import socket; s=socket.socket(1); s.connect('{outside}/sock'); print(s.recv(99))\"",
    "an abstract socket": _PY + "\"import socket; s=socket.socket(1); s.connect('\\0{name}'); print(s.recv(99))\"",
    "a socket by a link": "ln -sf {base}/run.sock k; "
    + _PY
    + "\"import socket; s=socket.socket(1); s.connect('k'); print(s.recv(99))\"",
    "the keyring": _PY
    + "\"import ctypes; l=ctypes.CDLL(None); print('tweet-7c1e' if l.syscall(250,0,-3,0)>=0 else '')\"",
    "shadow": "grep -c '^root:' /etc/shadow && echo tweet-7c1e",
    "keys of the ssh server": "cat /etc/ssh/ssh_host_*_key | grep -q BEGIN && echo tweet-7c1e",
    "the kernel's log": "dmesg 2>/dev/null | grep -q . && echo tweet-7c1e",
}
"""Shell commands that read, or print the canary if they get where they must not."""

WRITES = {
    "key by path": "echo x >> {base}/secret.key",
    "key by a link": "ln -sf {base}/secret.key w1; echo x >> w1",
    "another workspace": "echo x >> {base}/other/file",
    "store": "echo x >> {base}/store/events.log",
    "profile": "echo x >> {home}/notes.txt; echo x >> ~/notes.txt",
    "hooks": "printf x > .git/hooks/pre-commit",
    "hooks by a move": "mv .git .git2 && git init -q . && printf x > .git/hooks/pre-commit",
    "hooks by a copy": "cp -r .git g; rm -rf .git; mv g .git; printf x > .git/hooks/pre-commit",
    "site-packages": "echo x >> {base}/venv/lib/module.py",
    "site-packages by a move": "mv {base}/venv {base}/v2; mkdir -p {base}/venv/lib; echo x > {base}/venv/lib/module.py",
    "removal": "rm -rf {base}/other {base}/secret.key {home}/.ssh",
    "a new file beside": "touch {base}/new",
    "a signal": "kill -9 {foreign}",
    "a signal to all": "kill -9 -1",
    "a signal to the group": "kill -9 -{foreign}",
    "priority": "renice 19 {foreign}",
    "mode": "chmod 0777 {base}/secret.key",
    "times": "touch -d 2001-01-01 {base}/secret.key",
}
"""Shell commands that change something outside."""

DANGEROUS = {
    "a new user namespace": "unshare -Ur true && echo tweet-7c1e",
    "a new mount namespace": "unshare -m true && echo tweet-7c1e",
    "a mount": "mkdir -p m; mount --bind / m && echo tweet-7c1e",
    "joining the runtime": "nsenter -t {pid} -m true && echo tweet-7c1e",
    "chroot": "chroot / true && echo tweet-7c1e",
    "a device": "mknod dev b 1 0 && echo tweet-7c1e",
    "core_pattern": "echo x > /proc/sys/kernel/core_pattern",
    "hostname": "hostname canary",
    "the system": "touch /usr/canary; touch /etc/canary; ls /usr/canary /etc/canary",
    "remount": "mount -o remount,rw /usr && touch /usr/canary; mount -o remount,rw /etc && touch /etc/canary",
    "sysrq": "echo s > /proc/sysrq-trigger && echo tweet-7c1e",
    "typing": _PY + '"import fcntl,os; m,s=os.openpty(); os.fork() and os._exit(os.wait()[1] * 0); os.setsid();'
    " fcntl.ioctl(s,0x540E,0); fcntl.ioctl(s,0x5412,b'x'); print('tweet-7c1e')\"",
    "bpf": _PY + "\"import ctypes; l=ctypes.CDLL(None); print('tweet-7c1e' if l.syscall(321,0,0,0)>=0 else '')\"",
    "capabilities": "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | grep -v 0000000000000000 && echo tweet-7c1e",
}
"""Those that are tried only behind the wall: outside, they would change this machine."""

FILES = (
    "{base}/secret.key",
    "{home}/.ssh/id_canary",
    "{base}/store/events.log",
    "{base}/other/file",
    "{work}/key-link",
)
"""Paths that file tools are asked for."""


class Canaries:
    """What nothing inside may read, change or reach, below a directory."""

    def __init__(self, base: Path) -> None:
        self.base, self.work, self.home = base, base / "work", base / "home"
        self.outside = Path("/tmp") / f"canary-{os.getpid()}"
        self.texts = {
            base / "secret.key": CANARY,
            base / "store/events.log": CANARY,
            base / "other/file": CANARY,
            self.home / ".ssh/id_canary": CANARY,
            self.home / "notes.txt": CANARY,
            self.outside / "file": CANARY,
            self.work / ".agentrt-store/events.log": CANARY,
            base / "venv/lib/module.py": "x = 1\n",
        }
        self.name = f"canary-{os.getpid()}"
        self._servers = [self._served(self.home / "sock"), self._served(base / "run.sock")]
        self._servers += [self._served(self.outside / "sock"), self._served(f"\0{self.name}")]

    def make(self) -> None:
        """Make all of them as they were."""
        for path, text in self.texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        repository = self.work / ".git"
        if not (repository / "hooks").is_dir():
            subprocess.run(["git", "init", "-q", str(self.work)], check=True)
            (repository / "hooks").mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            (repository / "hooks/pre-commit").unlink()
        with suppress(FileExistsError):
            (self.work / "key-link").symlink_to(self.base / "secret.key")
        self.foreign = subprocess.Popen(["sleep", "600"], start_new_session=True)

    def changed(self) -> bool:
        """Whether anything was changed; it is put right."""
        there = [path for path, text in self.texts.items() if not path.exists() or path.read_text() != text]
        hook = (self.work / ".git/hooks/pre-commit").exists()
        ended = self.foreign.poll() is not None or os.getpriority(os.PRIO_PROCESS, self.foreign.pid) != 0
        self.foreign.kill()
        self.foreign.wait()
        new = (self.base / "new").exists()
        status = (self.base / "secret.key").stat() if not there else None
        if status is not None and (status.st_mode & 0o777 == 0o777 or status.st_mtime < 1e9):
            there.append(self.base / "secret.key")
            (self.base / "secret.key").unlink()
        (self.base / "new").unlink(missing_ok=True)
        self.make()
        return bool(there) or hook or ended or new

    def close(self) -> None:
        """Remove what is not in the directory."""
        self.foreign.kill()
        self.foreign.wait()
        for server in self._servers:
            server.close()
        for path in (self.outside / "sock", self.outside / "file"):
            path.unlink(missing_ok=True)
        self.outside.rmdir()

    def _served(self, path: Path | str) -> socket.socket:
        if isinstance(path, Path):
            path.parent.mkdir(parents=True, exist_ok=True)
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            with suppress(OSError):
                while True:
                    with server.accept()[0] as one, suppress(OSError):
                        one.sendall(CANARY.encode())

        threading.Thread(target=serve, daemon=True).start()
        return server


def ways(confine: Confine) -> Iterator[tuple[str, str]]:
    """Yield the name and the command of each way."""
    yield from ((f"read: {name}", command) for name, command in READS.items())
    yield from (
        (f"write: {name}", command) for name, command in WRITES.items() if confine != "off" or name != "a signal to all"
    )
    if confine != "off":
        yield from ((f"system: {name}", command) for name, command in DANGEROUS.items())


async def main(base: Path, confine: Confine) -> None:
    """Try all ways, and print those by which something was touched."""
    os.environ |= {"MYAPP_CFG": CANARY, "HOME": str(base / "home"), "VIRTUAL_ENV": str(base / "venv")}
    canaries = Canaries(base)
    canaries.make()
    names = {"base": base, "home": canaries.home, "work": canaries.work, "outside": canaries.outside}
    known = {**names, "pid": os.getpid(), "foreign": "{foreign}", "name": canaries.name}
    inner = () if confine == "auto" else (str(canaries.work / ".agentrt-store"),)  # a fence around it ends most ways
    hidden = (str(base / "store"), *inner)
    workspace = LocalWorkspace(str(canaries.work), confine=confine)
    place = Here(workspace, Setting(lambda function: None, hidden=hidden))
    touched, said = list[str](), dict[str, str]()
    try:
        for name, command in ways(confine):
            given = command.format(**known).replace("{foreign}", str(canaries.foreign.pid))
            text = await output(place, given, str(canaries.work))
            said[name] = text[:300]
            if CANARY in text or canaries.changed():
                touched.append(name)
        for path in FILES:
            given = path.format(**known)
            with suppress(ToolError):
                if CANARY.encode() in await place.files.read(given):
                    touched.append(f"file tool reads {path}")
            with suppress(ToolError):
                await place.files.write(given, b"x")
            if canaries.changed():
                touched.append(f"file tool writes {path}")
        count = len(said) + 2 * len(FILES)
    finally:
        await place.close()
        canaries.close()
    sys.stdout.write(msgspec.json.encode({"tried": count, "touched": touched, "said": said}).decode())


async def output(place: Here, command: str, directory: str) -> str:
    """What a command says, in a bash of its own."""
    process = await place.run(["bash", "-c", f"exec 2>&1; {command}"], cwd=directory, stdin=DEVNULL, stderr=PIPE)
    text = bytearray()
    with anyio.move_on_after(SECONDS):
        assert process.stdout is not None
        async for piece in process.stdout:
            text += piece
    await process.end()
    await process.wait()
    process.close_pipes()
    return text.decode(errors="replace")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), cast(Confine, sys.argv[2]))

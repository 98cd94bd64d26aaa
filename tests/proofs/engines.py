"""A real Docker engine, and an image made of this machine's own programs: no registry is asked."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from aiodocker import Docker

IMAGE = "agentrt-proofs:latest"
_PROGRAMS = (
    "bash",
    "sh",
    "cat",
    "chmod",
    "cp",
    "echo",
    "env",
    "id",
    "ln",
    "ls",
    "mkdir",
    "nohup",
    "printf",
    "seq",
    "setsid",
    "sleep",
    "stty",
    "true",
    "wc",
)
_SECONDS = 30.0


class NoEngine(Exception):
    """There is no engine on this machine, and none can be started."""


@contextmanager
def engine(place: Path) -> Iterator[str]:
    """The address of an engine that has `IMAGE`: that of this machine, or one of our own below `place`.

    Raises `NoEngine`.
    """
    if _answers(None):
        _make_image(None)
        yield os.environ.get("DOCKER_HOST", "")
        return
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        raise NoEngine("no Docker engine answers, and none can be started: dockerd and root are needed")
    place.mkdir()
    address, output = f"unix://{place}/socket", place / "output"
    with output.open("wb") as said:
        daemon = subprocess.Popen(
            ["dockerd", "--host", address, "--data-root", f"{place}/data", "--exec-root", f"{place}/run"]
            + ["--pidfile", f"{place}/pid", "--bridge", "none", "--iptables=false"],
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + _SECONDS
        while not _answers(address):
            if daemon.poll() is not None or time.monotonic() > until:
                raise NoEngine(f"dockerd did not start:\n{output.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        _make_image(address)
        yield address
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _answers(address: str | None) -> bool:
    async def ask() -> bool:
        try:
            docker = Docker(address)
        except (ValueError, AssertionError):
            return False
        try:
            await docker.version()
        except Exception:  # whatever is not there says it in its own way
            return False
        finally:
            await docker.close()
        return True

    return anyio.run(ask)


def _make_image(address: str | None) -> None:
    async def make() -> None:
        docker = Docker(address)
        try:
            context = io.BytesIO(_context())
            await docker.images.build(fileobj=context, encoding="identity", tag=IMAGE, rm=True)
        finally:
            await docker.close()

    anyio.run(make)


def _context() -> bytes:
    """What an image is built from (Docker Engine API, ImageBuild): a Dockerfile, and a root as an archive."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        _add(archive, "Dockerfile", b"FROM scratch\nADD root.tar /\nENV PATH=/usr/bin\n")
        _add(archive, "root.tar", _root())
    return whole.getvalue()


def _root() -> bytes:
    """The programs and their libraries (ldd(1)), under the paths that they have here."""
    root = io.BytesIO()
    programs = {name: shutil.which(name) for name in _PROGRAMS}
    listed = subprocess.run(["ldd", *filter(None, programs.values())], capture_output=True, text=True, check=True)
    libraries = {word for word in listed.stdout.split() if word.startswith("/") and not word.endswith(":")}
    with tarfile.open(fileobj=root, mode="w", dereference=True) as archive:
        for name, path in programs.items():
            if path is not None:
                archive.add(path, f"usr/bin/{name}")
        for library in sorted(libraries):
            archive.add(library, library.lstrip("/"))
        for directory in ("tmp", "etc"):
            made = tarfile.TarInfo(directory)
            made.type, made.mode = tarfile.DIRTYPE, 0o1777
            archive.addfile(made)
        _add(archive, "etc/passwd", b"root:x:0:0:root:/root:/bin/bash\n")
        link = tarfile.TarInfo("bin")
        link.type, link.linkname = tarfile.SYMTYPE, "usr/bin"
        archive.addfile(link)
    return root.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))

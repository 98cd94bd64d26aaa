"""`Kit`: this Python as a directory that containers mount, so that it runs there whatever their image has."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from ..errors import ToolError
from ..scratch import runtime_directory

TARGET = "/run/agentrt"
"""Where a container has it."""

PYTHON, PACKAGE = f"{TARGET}/bin/python3", f"{TARGET}/own/agentrt"
"""The program that starts Python there, and the directory of this package."""

_LIBRARIES = ("c", "m", "pthread", "dl", "rt", "util", "gcc_s", "stdc++", "z", "ffi", "crypt", "ssl", "crypto")
"""The libraries of the system that Python and its packages are linked with, as far as they are there."""

_PACKAGES = ("msgspec", "anyio", "psutil", "regex")
"""Packages whose directories are mounted, with all that stands beside them."""


class Kits:
    """The kit of this process: all containers share it, and it is removed with the last one. All is for a thread."""

    def __init__(self) -> None:
        self._alone = threading.Lock()
        self._mounts: dict[str, str] | None = None
        self._users = 0

    def take(self) -> Mapping[str, str]:
        """Return what is mounted where, to be given back; the first user has it made.

        Raises `ToolError` on a system whose Python cannot be taken along.
        """
        with self._alone:
            if self._mounts is None:
                self._mounts = _made()
            self._users += 1
            return self._mounts

    def give_back(self) -> None:
        """End one use; the last one removes the kit."""
        with self._alone:
            self._users -= 1
            if not self._users and self._mounts is not None:
                runtime_directory.remove(self._mounts[TARGET])
                self._mounts = None


kits = Kits()
"""That of this process."""


def _made() -> dict[str, str]:
    """Make a new kit in a directory of its own, and return what is mounted, from where. Raises `ToolError`.

    It is a virtual environment beside its base, so that programs there need no variables, and pass on none.
    """
    loader = next((Path(path) for path in _loaders() if os.path.exists(path)), None)
    if loader is None:
        raise ToolError(f"tools cannot run in a container here: there is no glibc for {platform.machine()}")
    made = Path(runtime_directory.directory("kit-"))
    python, version = Path(os.path.realpath(sys.executable)), f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = f"env/lib/{version}/site-packages"
    for name in ("lib", "bin", f"base/lib/{version}", "base/bin", "env/bin", packages, "own/agentrt"):
        (made / name).mkdir(parents=True)
    for library in (loader, *_libraries(loader, python)):
        shutil.copy(library, made / "lib" / library.name)
    shutil.copy(python, made / "env/bin/python3")
    (made / "env/pyvenv.cfg").write_text(f"home = {TARGET}/base/bin\n")
    mounts = {TARGET: str(made), f"{TARGET}/base/lib/{version}": sysconfig.get_path("stdlib")}
    mounts[PACKAGE] = str(_place(__name__.partition(".")[0]))
    for number, site in enumerate(dict.fromkeys(str(_place(name).parent) for name in _PACKAGES)):
        (made / f"site{number}").mkdir()
        mounts[f"{TARGET}/site{number}"] = site
    shown = (f"{TARGET}/own", *(target for target in mounts if target.startswith(f"{TARGET}/site")))
    (made / packages / "agentrt.pth").write_text("\n".join((f"import sys; sys.executable = {PYTHON!r}", *shown, "")))
    start = made / PYTHON.removeprefix(f"{TARGET}/")
    start.write_text(
        f'#!/bin/sh\nexec {TARGET}/lib/{loader.name} --library-path {TARGET}/lib {TARGET}/env/bin/python3 "$@"\n'
    )
    start.chmod(0o755)
    made.chmod(0o755)
    return mounts


def _place(package: str) -> Path:
    """Return the directory of a package."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _loaders() -> Iterator[str]:
    match platform.machine():
        case "x86_64":
            yield "/lib64/ld-linux-x86-64.so.2"
        case "aarch64":
            yield "/lib/ld-linux-aarch64.so.1"


def _libraries(loader: Path, python: Path) -> Iterator[Path]:
    """Yield the libraries of the system, and that of Python itself if it is one."""
    beside = Path(os.path.realpath(loader)).parent
    for name in _LIBRARIES:
        for found in beside.glob(f"lib{name}.so.*"):
            if found.name.rpartition(".so.")[2].isdecimal() or name in ("ssl", "crypto"):
                yield found
    library = sysconfig.get_config_var("INSTSONAME")
    own = Path(str(sysconfig.get_config_var("LIBDIR")), str(library))
    if library and own.exists() and str(library).count(".so"):
        yield own

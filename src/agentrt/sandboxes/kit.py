"""`Kit`: this Python as a directory that containers mount, so that it runs there whatever their image has."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ..errors import ToolError
from ..scratch import runtime_directory

TARGET = "/run/agentrt"
"""Where a container has it."""

_LIBRARIES = ("c", "m", "pthread", "dl", "rt", "util", "gcc_s", "stdc++", "z", "ffi", "crypt", "ssl", "crypto")
"""The libraries of the system that Python and its packages are linked with, as far as they are there."""

_PACKAGES = ("msgspec", "anyio", "psutil", "regex")
"""Packages whose directories are mounted, with all that stands beside them."""


class Kit(msgspec.Struct, frozen=True):
    """How Python is started in a container: `command` and `environment`, and what is mounted there, from where."""

    command: tuple[str, ...]
    environment: dict[str, str]
    mounts: dict[str, str]


class Kits:
    """The kit of this process: all containers share it, and it is removed with the last one. All is for a thread."""

    def __init__(self) -> None:
        self._alone = threading.Lock()
        self._kit: Kit | None = None
        self._users = 0

    def take(self) -> Kit:
        """Return the kit, to be given back; the first user has it made.

        Raises `ToolError` on a system whose Python cannot be taken along.
        """
        with self._alone:
            if self._kit is None:
                self._kit = _made()
            self._users += 1
            return self._kit

    def give_back(self) -> None:
        """End one use; the last one removes the kit."""
        with self._alone:
            self._users -= 1
            if not self._users and self._kit is not None:
                runtime_directory.remove(self._kit.mounts[TARGET])
                self._kit = None


kits = Kits()
"""That of this process."""


def _made() -> Kit:
    """Return a new kit in a directory of its own. Raises `ToolError`."""
    loader = next((Path(path) for path in _loaders() if os.path.exists(path)), None)
    if loader is None:
        raise ToolError(f"tools cannot run in a container here: there is no glibc for {platform.machine()}")
    made = Path(runtime_directory.directory("kit-"))
    python, version = Path(os.path.realpath(sys.executable)), f"python{sys.version_info.major}.{sys.version_info.minor}"
    (made / "lib").mkdir()
    for library in (loader, *_libraries(loader, python)):
        shutil.copy(library, made / "lib" / library.name)
    for name in (f"python/lib/{version}", "python/bin", "own/agentrt"):
        (made / name).mkdir(parents=True)
    shutil.copy(python, made / "python/bin/python3")
    mounts = {TARGET: str(made), f"{TARGET}/python/lib/{version}": sysconfig.get_path("stdlib")}
    sites = list(dict.fromkeys(str(_place(name).parent) for name in _PACKAGES))
    for number, site in enumerate(sites):
        (made / f"site{number}").mkdir()
        mounts[f"{TARGET}/site{number}"] = site
    mounts[f"{TARGET}/own/agentrt"] = str(_place(__name__.partition(".")[0]))
    made.chmod(0o755)
    return Kit(
        (f"{TARGET}/lib/{loader.name}", "--library-path", f"{TARGET}/lib", f"{TARGET}/python/bin/python3"),
        {
            "PYTHONHOME": f"{TARGET}/python",
            "PYTHONPATH": ":".join((f"{TARGET}/own", *(f"{TARGET}/site{number}" for number in range(len(sites))))),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        mounts,
    )


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

"""The four rings of the tests, by how much can differ from one run to the next, and what keeps a test in its own.

pure       no event loop and no file: the same input, the same result
simulated  one process: no other program, no network, no wait for real time
real       shells, servers, browsers, containers, providers' wires: each once in its good and its worst case
long       what is drawn often, killed at random, or measured: `nox -s proofs`

A module names its ring by `pytestmark = pytest.mark.pure`; a test in it may name another, and so may one of its
parameters. `tests/test_rings.py` shows what is refused.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Generator, Iterable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, Final

import pytest

RINGS: Final = ("pure", "simulated", "real", "long")

PROCESSES: Final = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"})
NETWORK: Final = frozenset({"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"})
FILES: Final = frozenset({"open", "os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link", "sqlite3.connect"})
FORBIDDEN: Final = {
    "pure": FILES | PROCESSES | NETWORK | {"socket.__new__"},
    "simulated": PROCESSES | NETWORK,
}
"""The audit events (https://docs.python.org/3/library/audit_events.html) that a ring excludes. An event loop makes a
pair of sockets as it starts."""

PROJECT: Final = Path(__file__).parent.parent
CODE: Final = tuple({sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(PROJECT / "src")})
"""Where code and its data are: reading these is not what makes a test differ."""


class Rings:
    """A plugin that puts each test into its ring, and fails one that does what its ring excludes."""

    def __init__(self) -> None:
        self._watched: tuple[frozenset[str], int] | None = None
        self._seen: list[str] = []
        sys.addaudithook(self._audit)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave each test the ring that is named nearest to it, so that `-m` selects by that alone; the inner rings
        come first.
        """
        rings = [(item, ring_of(item)) for item in items]
        for node in {node for item in items for node in item.listchain()}:
            node.own_markers[:] = [mark for mark in node.own_markers if mark.name not in RINGS]
        for item, ring in rings:
            item.add_marker(ring)
            item.user_properties.append(("ring", ring))
        items[:] = [item for item, ring in sorted(rings, key=lambda one: RINGS.index(one[1]))]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Make what the test asks for, within its ring."""
        return (yield from self._watch(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Run the test within its ring."""
        return (yield from self._watch(item))

    def _watch(self, item: pytest.Item) -> Generator[None, Any, Any]:
        ring = ring_of(item)
        self._seen.clear()
        self._watched = (FORBIDDEN.get(ring, frozenset()), threading.get_ident())
        try:
            result = yield
        finally:
            self._watched = None
        if self._seen:
            pytest.fail(f"not {ring}: {', '.join(self._seen)}", pytrace=False)
        return result

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._watched is None:
            return
        forbidden, thread = self._watched
        whose = thread == threading.get_ident() or event in PROCESSES  # other threads may be of an earlier test
        if event in forbidden and whose and not _is_code(event, arguments):
            self._seen.append(f"{event} {arguments[:1]}")


def ring_of(item: pytest.Item) -> str:
    """Return the ring that is named nearest to a test. Raises `pytest.UsageError` if none is, or one that it cannot be
    in.
    """
    for node in reversed(item.listchain()):
        if named := [mark.name for mark in node.own_markers if mark.name in RINGS]:
            if named[-1] == "pure" and iscoroutinefunction(getattr(item, "function", None)):
                raise pytest.UsageError(f"{item.nodeid} is a coroutine, so it is not pure: mark it simulated")
            return named[-1]
    raise pytest.UsageError(f"{item.nodeid} is in no ring: mark it, or its module, as one of {', '.join(RINGS)}")


def _is_code(event: str, arguments: Iterable[object]) -> bool:
    """Whether an event reads or compiles a module, reads its data, or keeps an example of hypothesis."""
    given = next(iter(arguments), "")
    if isinstance(given, int):
        return True  # a descriptor: how it was opened was an event of its own
    path = str(given)
    files = event in FILES and (path.startswith(CODE) or path.endswith((".py", ".pyc")) or "/.hypothesis" in path)
    return files or (event == "open" and path.startswith("<")) or path == ":memory:"

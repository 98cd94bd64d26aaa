"""`read_document`: reads a document in a process of its own, and says why one cannot be read."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import anyio
import msgspec
from anyio.lowlevel import RunVar
from msgspec.structs import replace

from ..errors import ToolError
from ..loading import missing
from ..placing import Place
from ..sandboxes.programs import Printed, printed
from ..specs.content import sound
from .document import Document, Missing, Refused, Wanted
from .job import MIB, Job, reply_of

MEMORY = 1024 * MIB
"""Limit of a reader's address space, in bytes."""

SECONDS = 30
"""Limit of its time, on the clock and of CPU, in seconds."""

MOST_ANSWERED = 32 * MIB
"""Maximum bytes of its answer."""

READERS = 4
"""Maximum number of documents that are read at once; each may take `MEMORY`."""

_readers: RunVar[anyio.CapacityLimiter] = RunVar("agentrt_readers")

_KILLED = (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGBUS)
"""Exit codes of a process whose libraries ran out of memory without an error message."""

_WORKER = Path(__file__).with_name("worker.py")


async def read_document(
    place: Place,
    data: bytes,
    name: str,
    wanted: Wanted,
    *,
    media_type: str = "",
    memory: int = MEMORY,
    seconds: int = SECONDS,
) -> Document:
    """Return the wanted parts of a document, which a process in `place` reads. If its bytes do not tell its kind, its
    name or else its media type does.

    Raises `ToolError` with one sentence. Cancelling kills the process.
    """
    if not data:
        raise ToolError(f"{name} is empty")
    name = sound(name)
    wanted = replace(wanted, pages=sound(wanted.pages), query=sound(wanted.query))
    paths = tuple(path for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))
    python = await place.python()
    job = Job(name, wanted, media_type, memory, seconds, paths if place.workspace.on_this_machine else ())
    worker = [f"{python.package}/documents/{_WORKER.name}", msgspec.json.encode(job).decode()]
    command = [python.path, "-I", "-X", "utf8", *worker]
    try:
        async with _turn():  # waiting for a turn does not count for `seconds`
            said = await printed(place, command, cwd="/", seconds=seconds, most=MOST_ANSWERED, given=data)
    except TimeoutError as error:
        raise ToolError(f"{name} takes longer than {seconds} s to read: ask for fewer pages") from error
    except OSError as error:
        raise ToolError(f"{name} cannot be read: {error.strerror or error}") from error
    if said.code or said.cut:
        raise ToolError(f"{name} {_ended(said, memory, seconds)}")
    match reply_of(said.output):
        case Document() as document:
            return document
        case Missing(library, reason):
            raise missing(library, "documents", reason)
        case Refused(reason):
            raise ToolError(f"{name} {reason}")


def _turn() -> anyio.CapacityLimiter:
    """Return the limiter of readers that run at once."""
    try:
        return _readers.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(READERS)
        _readers.set(limiter)
        return limiter


def _ended(said: Printed, memory: int, seconds: int) -> str:
    """Return why a worker died."""
    if said.cut:
        return "has too much text to be read at once: ask for fewer pages"
    if said.code in (-signal.SIGXCPU, -signal.SIGALRM):
        return f"takes longer than {seconds} s to read: ask for fewer pages"
    lines = said.errors.decode("utf-8", "replace").strip().splitlines()
    if said.code in _KILLED or lines[-1:] == ["MemoryError"]:
        return f"needs more than {memory // MIB:,} MiB of memory to be read, or is damaged: refused"
    return f"cannot be read ({lines[-1] if lines else f'the reader ended with {said.code}'})"

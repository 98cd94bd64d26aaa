"""`RecordingClient` writes model calls to a file, `ReplayingClient` answers from it."""

from __future__ import annotations

import fcntl
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..context.messages import Message
from ..context.replies import ModelReply
from ..errors import BudgetExceeded, ConfigurationError, ModelError, NothingRecorded, RecordingFailed
from ..protocols import ModelClient, ModelRequest, Watch
from ..secrets import Mask
from ..specs import LLM, AnyLLM, Capabilities, ToolDefinition
from ..specs.llm import known_of
from .around import Around
from .masking import keys_of, recorded
from .matching import Question, difference, question


class RecordedRequest(msgspec.Struct, frozen=True):
    """The request of a model call."""

    llm: AnyLLM
    messages: Sequence[Message]
    tools: tuple[ToolDefinition, ...]

    def question(self) -> Question:
        """Return the part of the request that recordings are matched by."""
        return question(self.llm, self.messages, self.tools)


class RecordedError(msgspec.Struct, frozen=True, omit_defaults=True):
    """The error of a failed call."""

    code: str
    message: str
    retry_after: float | None = None


class RecordedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the file: a request, and its reply or its error."""

    request: RecordedRequest
    reply: ModelReply | None = None
    error: RecordedError | None = None


_BEGINNING = b'{"request":'

_decoder = msgspec.json.Decoder(RecordedCall)


class RecordingClient(Around):
    """A `ModelClient` that appends each completed call to a file of JSON lines with mode 0600.

    Secrets are written as `<secret-hidden>`: those given, and the keys in `environment` (see `keys_of`). A call that
    was cancelled or never sent is not recorded. Several clients and processes may record to one file.
    """

    def __init__(
        self,
        inner: ModelClient,
        path: Path | str,
        secrets: Iterable[str] = (),
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(inner)
        self.path = Path(path)
        self._secrets, self._environment = tuple(secrets), os.environ if environment is None else environment

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Return the inner client's reply. Raises its errors, and `RecordingFailed` if the file cannot be written."""
        try:
            reply = await self._inner.complete(request, watch)
        except BudgetExceeded:  # nothing was sent
            raise
        except ModelError as error:
            await self._record(request, error=RecordedError(error.code, str(error), error.retry_after))
            raise
        await self._record(request, reply=reply)
        return reply

    async def _record(
        self, request: ModelRequest, reply: ModelReply | None = None, error: RecordedError | None = None
    ) -> None:
        asked = RecordedRequest(request.llm, list(request.messages), request.tools)
        mask = Mask([*self._secrets, *keys_of(request.llm, self._environment)])
        try:
            await anyio.to_thread.run_sync(_append, self.path, RecordedCall(asked, reply, error), mask)
        except OSError as failure:
            raise RecordingFailed(self.path, failure) from failure


class ReplayingClient:
    """A `ModelClient` that answers from a file that a `RecordingClient` wrote, without network or key.

    A request matches a recorded one with the same messages, tools, and settings that affect the answer; ids of calls do
    not count. Secrets are masked before the comparison, as they are in the file. Each recorded call is returned once,
    equal ones in the order of the file.
    """

    def __init__(
        self, path: Path | str, secrets: Iterable[str] = (), *, environment: Mapping[str, str] | None = None
    ) -> None:
        self.path = Path(path)
        self._secrets, self._environment = tuple(secrets), os.environ if environment is None else environment
        self._tape: _Tape | None = None
        self._lock = anyio.Lock()

    async def prepare(self, llm: AnyLLM) -> None:
        """Read the file. Raises `ConfigurationError` if it does not exist or is not a recording."""
        await self._load()

    def known(self, llm: LLM) -> Capabilities:
        """Return what the spec says; no other source is used."""
        return known_of(llm)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Return the recorded reply; its text is shown at once. Raises the recorded error, or `NothingRecorded`."""
        tape = await self._load()
        await watch.begin(request, known_of(request.llm))
        mask = Mask([*self._secrets, *keys_of(request.llm, self._environment)])
        asked = RecordedRequest(request.llm, list(request.messages), request.tools)
        recorded = tape.take(msgspec.json.decode(_masked(asked, mask), type=RecordedRequest).question())
        if recorded.error is not None:
            raise _raised(recorded.error)
        reply = recorded.reply or ModelReply()
        if reply.reasoning:
            watch.show("reasoning", reply.reasoning)
        if reply.text:
            watch.show("text", reply.text)
        return replace(reply, usage_id=request.llm.usage_id) if isinstance(request.llm, LLM) else reply

    async def _load(self) -> _Tape:
        async with self._lock:
            if self._tape is None:
                self._tape = await anyio.to_thread.run_sync(_read, self.path)
        return self._tape


class _Tape:
    """The recorded calls with their line numbers, and which of them are unused."""

    def __init__(self, path: Path, calls: Iterable[tuple[int, RecordedCall]]) -> None:
        self._path = path
        self._calls: defaultdict[bytes, deque[tuple[int, RecordedCall]]] = defaultdict(deque)
        self._left: dict[int, Question] = {}
        for line, call in calls:
            asked = call.request.question()
            self._calls[asked.key()].append((line, call))
            self._left[line] = asked

    def take(self, asked: Question) -> RecordedCall:
        """Return the next call with this question. Raises `NothingRecorded`."""
        same = self._calls.get(asked.key())
        if not same:
            raise NothingRecorded(self._path, self._why(asked, known=same is not None))
        line, call = same.popleft()
        del self._left[line]
        return call

    def _why(self, asked: Question, *, known: bool) -> str:
        if known:
            return "it was recorded, but each recorded call is given once, and all that are equal to it were given"
        if not self._left:
            return "all recorded calls were given already" if self._calls else "it has no calls in it"

        nearest = max(self._left, key=lambda line: self._left[line].likeness(asked))
        return f"compared with line {nearest}, the nearest that is left,\n{difference(self._left[nearest], asked)}"


def _masked(value: object, mask: Mask) -> bytes:
    return msgspec.json.encode(recorded(msgspec.json.decode(msgspec.json.encode(value)), mask))


def _append(path: Path, call: RecordedCall, mask: Mask) -> None:
    """Write a line, completely or not at all; for a thread. Raises `OSError`."""
    line = _masked(call, mask) + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.fchmod(descriptor, 0o600)
        end = _drop_torn_line(descriptor, path)
        try:
            while line:
                line = line[os.write(descriptor, line) :]
        except OSError:
            os.ftruncate(descriptor, end)
            raise
    finally:
        os.close(descriptor)


def _drop_torn_line(descriptor: int, path: Path) -> int:
    """Remove an incomplete last line that a crash left, and return the file's new end. Raises `OSError`."""
    end = os.fstat(descriptor).st_size
    if end == 0 or os.pread(descriptor, 1, end - 1) == b"\n":
        return end
    whole = path.read_bytes().rfind(b"\n") + 1
    torn = os.pread(descriptor, len(_BEGINNING), whole)
    if not _BEGINNING.startswith(torn):
        raise OSError("it does not end in a recorded call")
    os.ftruncate(descriptor, whole)
    return whole


def _read(path: Path) -> _Tape:
    """Return the calls of a file, without an incomplete last line; for a thread. Raises `ConfigurationError`."""
    try:
        *lines, _ = path.read_bytes().split(b"\n")
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(f"cannot read the recording {path}: {reason}; RecordingClient makes one") from error
    calls: list[tuple[int, RecordedCall]] = []
    for number, line in enumerate(lines, 1):
        try:
            calls.append((number, _decoder.decode(line)))
        except msgspec.MsgspecError as error:
            raise ConfigurationError(f"{path}:{number}: not a recorded call ({error}): record it again") from error
    return _Tape(path, calls)


def _raised(recorded: RecordedError) -> ModelError:
    """Return a recorded error as an instance of the class with its code."""
    kind = _kinds(ModelError).get(recorded.code, ModelError)
    error = kind.__new__(kind)
    ModelError.__init__(error, recorded.message, retry_after=recorded.retry_after)
    if kind is ModelError:
        error.code = recorded.code
    return error


def _kinds(kind: type[ModelError]) -> dict[str, type[ModelError]]:
    """Return the error classes by their codes."""
    found = {kind.code: kind} if "code" in vars(kind) else {}
    for more in kind.__subclasses__():
        found |= _kinds(more)
    return found

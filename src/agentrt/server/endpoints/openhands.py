"""The paths of the OpenHands agent server for commands, files and git, over the same functions as our own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

import anyio.to_thread
import msgspec
from msgspec import Meta
from starlette.responses import Response

from ...conversation import Workspace
from ...errors import WorkspaceError
from ...sandboxes.beneath import Beneath
from ...workspaces.asking import CommandState, OutputPiece, RunCommand
from ...workspaces.git import changes, committed
from ...workspaces.local import LocalFiles
from ...workspaces.streaming import open_file
from ..principals import Scope
from ..problems import refusal
from ..routing import Call, Endpoint
from ..sending import serve_file
from ..settings import ServerSettings
from .files import writable, written

WAIT = 2.0
"""Seconds for which the end of a command is waited for at once."""

FORM = 4096
"""Maximum bytes of an uploaded form besides its file."""

_STATUS = {"renamed": "MOVED", "added": "ADDED", "untracked": "ADDED", "deleted": "DELETED"}


class BashRequest(msgspec.Struct, frozen=True):
    """A command; `cwd` is absolute, or relative to the server's first directory."""

    command: str
    cwd: str | None = None
    timeout: Annotated[float, Meta(gt=0, le=86_400)] = 300


class BashCommand(msgspec.Struct, frozen=True, kw_only=True, tag="BashCommand", tag_field="kind"):
    """A command that was begun."""

    id: str
    timestamp: datetime
    command: str
    cwd: str | None
    timeout: float


class BashOutput(msgspec.Struct, frozen=True, kw_only=True, tag="BashOutput", tag_field="kind"):
    """A piece of its output; the last one has its exit code."""

    id: str
    timestamp: datetime
    command_id: str
    order: int
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None


class BashEvents(msgspec.Struct, frozen=True):
    """A page of commands and outputs."""

    items: tuple[BashCommand | BashOutput, ...]
    next_page_id: str | None = None


class BashQuery(msgspec.Struct, frozen=True):
    """Which commands and outputs to return."""

    kind__eq: Literal["BashCommand", "BashOutput"] | None = None
    command_id__eq: str | None = None
    timestamp__gte: Annotated[datetime, Meta(tz=True)] | None = None
    timestamp__lt: Annotated[datetime, Meta(tz=True)] | None = None
    order__gt: int = -1
    sort_order: Literal["TIMESTAMP", "TIMESTAMP_DESC"] = "TIMESTAMP"
    page_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 100


class AbsolutePath(msgspec.Struct, frozen=True):
    """An absolute path in the server's first directory."""

    path: Annotated[str, Meta(max_length=4096)]


class Uploaded(msgspec.Struct, frozen=True):
    """A file that was written."""

    file_size: int
    success: bool = True


class Change(msgspec.Struct, frozen=True):
    """A file that differs from the last commit."""

    status: str
    path: str


class Diff(msgspec.Struct, frozen=True):
    """A file as it is, and as the last commit has it."""

    modified: str | None
    original: str | None


async def _workspace(call: Call[Any, Any]) -> Workspace:
    return await call.services.held.first(call.principal)


async def start_bash_command(call: Call[BashRequest, None]) -> BashCommand:
    """Begin a command."""
    return _begun(await _start(await _workspace(call), call.body))


async def execute_bash_command(call: Call[BashRequest, None]) -> BashOutput:
    """Run a command to its end."""
    workspace = await _workspace(call)
    state, result = await _start(workspace, call.body), None
    while result is None:
        if await call.request.is_disconnected():
            await workspace.place.stop(state.id)
        result = (await workspace.place.output(state.id, 2**53, WAIT)).result
    return msgspec.structs.replace(
        _output(state, 0),
        exit_code=result.exit_code,
        stdout=result.stdout or None,
        stderr=result.stderr or None,
    )


async def search_bash_events(call: Call[None, BashQuery]) -> BashEvents:
    """Return commands and their outputs, oldest first or newest first."""
    place, query = (await _workspace(call)).place, call.query
    found: list[BashCommand | BashOutput] = []
    for state in await place.commands():
        if query.command_id__eq in (None, state.id):
            outputs = _outputs(state, (await place.output(state.id, 0, 0.0)).items)
            found += [_begun(state), *(output for output in outputs if output.order > query.order__gt)]
    found = [
        one
        for one in found
        if query.kind__eq in (None, type(one).__name__)
        and (query.timestamp__gte is None or one.timestamp >= query.timestamp__gte)
        and (query.timestamp__lt is None or one.timestamp < query.timestamp__lt)
    ]
    if query.sort_order == "TIMESTAMP_DESC":
        found.reverse()
    first = next((place for place, one in enumerate(found) if one.id == query.page_id), None)
    if first is None and query.page_id is not None:
        raise refusal(422, "No such page", "give the next_page_id of the page before", "page")
    first = first or 0
    after = found[first + query.limit : first + query.limit + 1]
    return BashEvents(tuple(found[first : first + query.limit]), after[0].id if after else None)


async def stop_bash_command(call: Call[None, None]) -> dict[str, bool]:
    """End a command; nothing happens if it has ended or is not known."""
    with suppress(WorkspaceError):
        await (await _workspace(call)).place.stop(call.path("command_id"))
    return {"success": True}


async def upload_file(call: Call[None, AbsolutePath]) -> Uploaded:
    """Write the file of a form to an absolute path."""
    request, most = call.request, call.services.settings.max_upload
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise refusal(411, "No length", "send a Content-Length", "length-required")
    if int(length) > most + FORM:
        raise WorkspaceError("file-too-large", f"the limit is {most} bytes")
    root, inner = await _inner(call)
    real = await writable(call, root, inner)
    async with request.form(max_files=1, max_fields=1) as form:
        file = form.get("file")
        if file is None or isinstance(file, str):
            raise refusal(422, "No file", "send a form with the field 'file'", "validation")

        async def pieces() -> AsyncIterator[bytes]:
            while piece := await file.read(65_536):
                yield piece

        entry, _ = await written(call, LocalFiles(root), inner, real, most, pieces())
    return Uploaded(entry.size)


async def download_file(call: Call[None, AbsolutePath]) -> Response:
    """Return a file at an absolute path."""
    root, inner = await _inner(call)
    file = await open_file(Beneath(root), inner)
    return await serve_file(file, PurePosixPath(inner).name, None, None, None)


async def git_changes_at(call: Call[None, AbsolutePath]) -> list[Change]:
    """Return the files that differ from the last commit of the repository there; none if there is none."""
    root, inner = await _inner(call)
    try:
        found = await changes(await anyio.to_thread.run_sync(Beneath(root).real, inner) if inner else root)
    except WorkspaceError as error:
        if error.code != "git-missing":
            raise
        return []
    return [Change(_STATUS.get(change.status, "UPDATED"), change.path) for change in found.items]


async def git_diff_at(call: Call[None, AbsolutePath]) -> Diff:
    """Return a file as it is, and as the last commit has it; neither without a repository."""
    root, inner = await _inner(call)
    leads_to = await anyio.to_thread.run_sync(Beneath(root).leads_to, inner)
    repository = await anyio.to_thread.run_sync(_repository, root, leads_to)
    if repository is None:
        return Diff(None, None)
    before = await committed(f"{root}/{repository}".rstrip("/"), leads_to.removeprefix(f"{repository}/"))
    now: bytes | None = None
    with suppress(WorkspaceError):
        now = await (await _workspace(call)).read_file(inner)
    return Diff(*(None if one is None else one.decode("utf-8", "replace") for one in (now, before)))


async def _start(workspace: Workspace, wanted: BashRequest) -> CommandState:
    run = RunCommand(command=wanted.command, cwd=wanted.cwd or "", timeout=wanted.timeout)
    return await workspace.place.start(run)


def _begun(state: CommandState) -> BashCommand:
    return BashCommand(
        id=state.id, timestamp=state.timestamp, command=state.command, cwd=state.cwd, timeout=state.timeout
    )


def _outputs(state: CommandState, pieces: Sequence[OutputPiece]) -> list[BashOutput]:
    """Return the outputs of a command; once it has ended, a last one has its exit code."""
    outputs = [msgspec.structs.replace(_output(state, one.order), **{one.name: one.text}) for one in pieces]
    if state.result is not None:
        said = f"Command timed out after {state.timeout:g} seconds" if state.result.timeout_occurred else None
        last = _output(state, outputs[-1].order + 1 if outputs else 1)
        outputs.append(msgspec.structs.replace(last, exit_code=state.result.exit_code, stderr=said))
    return outputs


def _output(state: CommandState, order: int) -> BashOutput:
    """Return an output without content. Its id is that of its command with the order added to the last digits."""
    name = f"{state.id[:-8]}{(int(state.id[-8:], 16) + order + 1) % 2**32:08x}"
    return BashOutput(id=name, timestamp=state.timestamp, command_id=state.id, order=order)


async def _inner(call: Call[Any, AbsolutePath]) -> tuple[str, str]:
    """Return the server's first directory, and a path relative to it. Raises `WorkspaceError` and `Refusal`."""
    root, path = (await _workspace(call)).working_dir, call.query.path
    if not path.startswith("/"):
        raise refusal(400, "Not an absolute path", "give one that begins with '/'", "path")
    if ".." in path.split("/") or not f"{path}/".startswith(f"{root}/"):
        raise WorkspaceError("path-outside", f"give a path in {root}, without '..'")
    return root, path[len(root) :].strip("/")


def _repository(root: str, path: str) -> str | None:
    """Return the nearest directory above a path that is the root of a repository, relative to `root`; None if
    there is none. For a thread.
    """
    directory = os.path.dirname(path)
    while not os.path.isdir(os.path.join(root, directory, ".git")):
        if not directory or directory.startswith(".."):
            return None
        directory = os.path.dirname(directory)
    return directory


_GROUP = "openhands"
_OPERATIONS = (
    Endpoint(
        "POST",
        "/api/bash/start_bash_command",
        start_bash_command,
        Scope.EXECUTE,
        "Begin a command",
        body=BashRequest,
        reply=BashCommand,
        group=_GROUP,
    ),
    Endpoint(
        "POST",
        "/api/bash/execute_bash_command",
        execute_bash_command,
        Scope.EXECUTE,
        "Run a command",
        body=BashRequest,
        reply=BashOutput,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        "/api/bash/bash_events/search",
        search_bash_events,
        Scope.EXECUTE,
        "Search commands",
        query=BashQuery,
        reply=BashEvents,
        group=_GROUP,
    ),
    Endpoint(
        "POST",
        "/api/bash/bash_commands/{command_id}/stop",
        stop_bash_command,
        Scope.EXECUTE,
        "End a command",
        group=_GROUP,
    ),
    Endpoint(
        "POST",
        "/api/file/upload",
        upload_file,
        Scope.STEER,
        "Write a file",
        query=AbsolutePath,
        reply=Uploaded,
        upload="multipart/form-data",
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        "/api/file/download",
        download_file,
        Scope.OBSERVE,
        "Read a file",
        query=AbsolutePath,
        media_type=None,
        group=_GROUP,
    ),
    Endpoint("GET", "/api/git/changes", git_changes_at, Scope.OBSERVE, "Changes", query=AbsolutePath, group=_GROUP),
    Endpoint("GET", "/api/git/diff", git_diff_at, Scope.OBSERVE, "How it changed", query=AbsolutePath, group=_GROUP),
)


def openhands_paths(settings: ServerSettings) -> tuple[Endpoint, ...]:
    """Return the operations, if a server has them."""
    return _OPERATIONS if settings.compat == "openhands" else ()

"""`apply_patch`: adds, changes, moves and deletes files by one patch; applies all of it or nothing."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from posixpath import normpath
from typing import Annotated, Literal

import anyio.to_thread
import msgspec
from anyio.from_thread import check_cancelled
from msgspec import Meta
from msgspec.structs import replace

from ...errors import ToolError
from ...ids import new_id
from ...protocols import Files, Observation, ToolContext
from ...specs import OnCrash, ToolAnnotations, WorkspaceSpec
from ...specs.content import sound, text
from ...specs.effects import Effects, FileText
from ..clipping import clip
from ..definition import Params, ToolType, file_key
from ..files.difference import diff
from ..files.text_file import TextFile, text_file
from .envelope import Add, Delete, Operation, Update, parsed
from .fitting import fitted, patched

MAX_FILE = 10 * 1024 * 1024
"""Maximum size of a file that is changed, in bytes."""

MAX_SHOWN = 4000
"""Maximum number of characters of the result."""


class ApplyPatchAction(msgspec.Struct, frozen=True):
    """Arguments of `apply_patch`."""

    patch: Annotated[str, Meta(description="The patch, from '*** Begin Patch' to '*** End Patch'.")]


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a file, with a unified diff without secrets; that of a deleted file is empty."""

    path: str
    kind: Literal["added", "updated", "deleted", "moved"]
    diff: str = ""
    moved_from: str | None = None


class ApplyPatchObservation(Observation, frozen=True, kw_only=True):
    """What a patch changed, and the hunks that did not fit exactly."""

    changes: tuple[Change, ...] = ()
    fuzz: tuple[str, ...] = ()


class Planned(msgspec.Struct, frozen=True):
    """The planned change of a file: its bytes before and its text after the patch; None if there is no file."""

    path: str
    was: bytes | None
    now: TextFile | None
    moved_from: str | None = None
    fuzz: tuple[str, ...] = ()


class ApplyPatch:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: ApplyPatchAction, context: ToolContext) -> ApplyPatchObservation:
        """Apply a patch. Raises `ToolError` if any part of it cannot be applied; then nothing is changed."""
        return await anyio.to_thread.run_sync(applied, action.patch, context)

    async def aclose(self) -> None: ...


def applied(patch: str, context: ToolContext) -> ApplyPatchObservation:
    """Apply a patch. Raises `ToolError` if any part of it cannot be applied; then nothing is changed. For a thread."""
    try:
        planned = plan(parsed(patch), context.files, context.workspace.path, check_cancelled)
        commit(planned, context.files)
    except ToolError as error:
        raise ToolError(f"nothing was changed: {error}") from error
    changes = tuple(_change(one, context) for one in planned)
    fuzz = tuple(context.masked(sound(said)) for one in planned for said in one.fuzz)
    letters = {"added": "A", "updated": "M", "deleted": "D", "moved": "R"}
    said = [f"{letters[c.kind]} {f'{c.moved_from} -> ' if c.moved_from else ''}{c.path}" for c in changes]
    inexact = ["Not exactly as the patch has it, so look at these again:", *fuzz] if fuzz else []
    shown = clip("\n".join(["Done:", *said, *inexact]), MAX_SHOWN)
    return ApplyPatchObservation(content=text(shown), changes=changes, fuzz=fuzz)


def plan(
    operations: Sequence[Operation], files: Files, root: str, step: Callable[[], object] = lambda: None
) -> list[Planned]:
    """Return what a patch does to the files; write nothing. Raises `ToolError`.

    `step` is called regularly; an exception from it ends the work.
    """
    planned: dict[str, Planned] = {}
    gone = set[str]()
    for operation in operations:
        step()
        path = _real(absolute(operation.path, root), operation, files)
        if path in gone:
            raise ToolError(f"{path} was deleted or moved above in the patch")
        match operation:
            case Add(text=new):
                _must_be_free(path, files, planned, gone)
                planned[path] = Planned(path, None, TextFile(new))
            case Delete():
                if path in planned:
                    raise ToolError(f"{path} was changed above in the patch: it cannot be deleted")
                planned[path] = Planned(path, _bytes(path, files), None)
                gone.add(path)
            case Update():
                updated = _updated(operation, path, planned.pop(path, None), files, step)
                target = path if operation.move_to is None else absolute(operation.move_to, root)
                if target != path:
                    _must_be_free(target, files, planned, gone)
                    gone.add(path)
                    origin = updated.moved_from or (path if updated.was is not None else None)
                    updated = replace(updated, path=target, moved_from=origin)
                planned[target] = updated
    return list(planned.values())


def _real(path: str, operation: Operation, files: Files) -> str:
    """Return the file that a path leads to. Raises `ToolError` for a link that would be moved or deleted, and for one
    that leads nowhere.
    """
    above, _, name = path.rpartition("/")
    if files.status(path) is None:
        if files.status(above or "/") is not None and any(one == name and link for one, _, link in files.names(above)):
            raise ToolError(f"{path} is a link that leads nowhere: use the terminal on it")
        return path
    real = files.real(path)
    moves = isinstance(operation, Update) and operation.move_to is not None
    if (moves or isinstance(operation, Delete)) and real != f"{files.real(above or '/').rstrip('/')}/{name}":
        raise ToolError(f"{path} is a link to {real}: name that file, or use the terminal on the link")
    return real


def _updated(update: Update, path: str, so_far: Planned | None, files: Files, step: Callable[[], object]) -> Planned:
    planned = so_far
    if planned is None:
        data = _bytes(path, files)
        planned = Planned(path, data, text_file(path, data))
    file = planned.now
    assert file is not None  # an update of a deleted file was refused before
    lines = file.text.removesuffix("\n").split("\n") if file.text else []
    fits = fitted(lines, update.hunks, update.path, step)
    left = patched(lines, fits)
    # an empty last line exists only because of its newline
    ends = "\n" if left and (not file.text or file.text.endswith("\n") or not left[-1]) else ""
    said = [f"{update.path}, line {fit.start + 1}: it fits {fit.how}" for fit in fits if fit.how]
    return replace(planned, now=replace(file, text="\n".join(left) + ends), fuzz=(*planned.fuzz, *said))


def _must_be_free(path: str, files: Files, planned: Mapping[str, Planned], gone: Set[str]) -> None:
    if path in planned or (path not in gone and files.status(path) is not None):
        raise ToolError(f"{path} exists already: update it, or choose another name")


def _bytes(path: str, files: Files) -> bytes:
    status = files.status(path)
    if status is None:
        raise ToolError(f"{path} does not exist: look for it, or add it")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{path} is not a file")
    if status.st_size > MAX_FILE:
        raise ToolError(f"{path} is larger than {MAX_FILE} bytes: use the terminal on it")
    return files.read(path)


def commit(planned: Sequence[Planned], files: Files) -> None:
    """Write all changes; if one cannot be written, undo those before it. Raises `ToolError`."""
    stored = {one.path: one.now.stored(one.path) for one in planned if one.now is not None}
    back = list[Callable[[], None]]()
    try:
        for one in planned:
            if one.moved_from is not None:
                files.move(one.moved_from, one.path)
                back.append(partial(files.move, one.path, one.moved_from))
            if one.path in stored and stored[one.path] != one.was:
                files.write(one.path, stored[one.path])
                back.append(partial(_restore, one, files))
        aside = {one.path: f"{one.path}.{new_id()[-8:]}.deleted" for one in planned if one.now is None}
        for path, other in aside.items():  # renamed first, so that they can be put back unchanged
            files.move(path, other)
            back.append(partial(files.move, other, path))
    except ToolError:
        for step in reversed(back):
            with contextlib.suppress(ToolError):
                step()
        raise
    for other in aside.values():
        with contextlib.suppress(ToolError):  # the patch is applied: a file that cannot be removed is only left over
            files.remove(other)


def _restore(one: Planned, files: Files) -> None:
    if one.was is None:
        files.remove(one.path)
    else:
        files.write(one.path, one.was)


def _change(one: Planned, context: ToolContext) -> Change:
    kind: Literal["added", "updated", "deleted", "moved"]
    kind = "deleted" if one.now is None else "added" if one.was is None else "moved" if one.moved_from else "updated"
    path = sound(one.path)  # a link may lead to a name that is not UTF-8
    if one.now is None:
        return Change(path, kind)
    old = "" if one.was is None else text_file(one.path, one.was).text
    before, after = (context.masked(each, by_line=True) for each in (old, one.now.text))
    return Change(path, kind, diff(before, after, path), one.moved_from and sound(one.moved_from))


def absolute(path: str, root: str) -> str:
    """Return the absolute form of a patch's path, which is absolute or relative to the workspace."""
    return normpath(os.path.join(root, path))


def files_of(patch: str, workspace: WorkspaceSpec) -> dict[str, str | None]:
    """Return the files that a patch names, each with its whole new text if that is known; none for an invalid patch."""
    found: dict[str, str | None] = {}
    try:
        operations = parsed(patch)
    except ToolError:
        return found
    for operation in operations:
        found[absolute(operation.path, workspace.path)] = operation.text if isinstance(operation, Add) else None
        if isinstance(operation, Update) and operation.move_to is not None:
            found[absolute(operation.move_to, workspace.path)] = None
    return found


def _touches(action: ApplyPatchAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return tuple(file_key(path, workspace) for path in files_of(action.patch, workspace))


def _effects(action: ApplyPatchAction, workspace: WorkspaceSpec) -> Effects:
    return effects_of(action.patch, workspace)


def effects_of(patch: str, workspace: WorkspaceSpec) -> Effects:
    """Return what a patch writes."""
    return Effects(writes=tuple(FileText(path, new) for path, new in files_of(patch, workspace).items()))


apply_patch = ToolType(
    name="apply_patch",
    description=(
        "Add, change, move and delete text files by one patch; all of it is applied, or nothing. Its format:\n"
        "*** Begin Patch\n*** Add File: path\n+each line of the new file\n*** Update File: path\n*** Move to: new path"
        " (if it moves)\n@@ the line of the class or function above, if the lines below are not unique\n three lines as"
        " they are\n-a line that goes\n+a line that comes\n three lines as they are\n*** Delete File: path\n"
        "*** End Patch\nPaths are from the workspace on. There are no line numbers."
    ),
    action=ApplyPatchAction,
    executor=ApplyPatch,
    annotations=ToolAnnotations(title="Apply a patch", open_world=False),
    on_crash=OnCrash.ASK,
    resources=_touches,
    effects=_effects,
    aliases=("patch", "applypatch", "apply_diff"),
    also={"input": "patch"},
)

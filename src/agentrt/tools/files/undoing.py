"""Undoes an edit from its result in the log. Pure.

The log has the texts without secrets. Each line of a file is one line there, so lines that the edit did not change stay
as they are in the file, secrets included.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from ...errors import ToolError
from ...events import ObservationEvent
from ...prefix import common_prefix
from ...secrets import HIDDEN
from .runs import Runs

AROUND = 3
"""Number of lines above and below an edit that identify its place after the file has changed elsewhere."""


class Edit(msgspec.Struct, frozen=True):
    """The fields of an edit's result (`FileEditorObservation`)."""

    path: str
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None
    undid: int | None = None
    encoding: str = ""
    newline: str = ""


def last_edit(results: Iterable[ObservationEvent], path: str) -> tuple[int, Edit] | None:
    """Return the seq of the result, and the edit, of a file's last edit that was not undone; None if there is none."""
    edits = list[tuple[int, Edit]]()
    for result in results:
        edit = msgspec.json.decode(result.details_json, type=Edit | None)
        if edit is None or edit.path != path or edit.new_content is None:
            continue  # a view
        if edit.undid is None:
            edits.append((result.seq, edit))
        else:
            edits = [other for other in edits if other[0] != edit.undid]
    return edits[-1] if edits else None


def taken_back(text: str, shown: str, edit: Edit, path: str) -> str:
    """Return `text` with an edit undone; `shown` is `text` without secrets.

    Raises `ToolError` if the place of the edit is not clear, or if the edit replaced a secret.
    """
    there, lines = shown.split("\n"), text.split("\n")
    old, new = ((content or "").split("\n") for content in (edit.old_content, edit.new_content))
    above = common_prefix(old, new)
    below = common_prefix(old[above:][::-1], new[above:][::-1])
    removed, added = old[above : len(old) - below], new[above : len(new) - below]
    start = above if there == new else _place(there, new, above, below, path)
    if any(HIDDEN in line for line in removed):
        raise ToolError(f"that edit of {path} replaced a secret, which no log keeps: edit the file itself")
    return "\n".join([*lines[:start], *removed, *lines[start + len(added) :]])


def _place(there: list[str], new: list[str], above: int, below: int, path: str) -> int:
    """Return the line index of an edit in a file that has changed since. Raises `ToolError` if it is not unique."""
    begin, end = max(0, above - AROUND), len(new) - max(0, below - AROUND)
    wanted = new[begin:end]
    places = list(islice(Runs(there).of(wanted), 2))
    if len(places) != 1:
        raise ToolError(f"{path} has changed since that edit, at the same place: edit the file itself")
    return places[0] + above - begin

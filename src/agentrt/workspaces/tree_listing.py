"""Parsers of git's output about trees: the differences of two trees, and the entries of a directory in one. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class Change(msgspec.Struct, frozen=True):
    """A change of a path. `status` is A, M, D, or T for another kind of file; `mode` and `blob` are those after the
    change, `old_mode` and `old_blob` those before it.
    """

    path: str
    status: str
    mode: str
    blob: str
    old_mode: str = ""
    old_blob: str = ""


class Stored(msgspec.Struct, frozen=True):
    """An entry of a directory in a tree; `size` in bytes, 0 for a directory."""

    name: str
    mode: str
    size: int


def parsed_changes(output: bytes) -> dict[tuple[str, str], list[Change]]:
    """Parse the output of `git diff-tree --raw -z --stdin`: each pair of trees comes before its differences."""
    found, here = dict[tuple[str, str], list[Change]](), list[Change]()
    fields = iter(_text(output).split("\0"))
    for field in fields:
        *pairs, entry = field.split("\n")
        for pair in pairs:
            before, _, after = pair.partition(" ")
            here = found.setdefault((before, after), [])
        if entry:
            old_mode, mode, old_blob, blob, status = entry.removeprefix(":").split(" ")
            here.append(Change(next(fields), status[0], mode, blob, old_mode, old_blob))
    return found


def parsed_listing(output: bytes) -> Iterator[Stored]:
    """Parse the output of `git ls-tree --long -z`."""
    for entry in _text(output).split("\0")[:-1]:
        facts, _, name = entry.partition("\t")
        mode, _, _, size = facts.split()
        yield Stored(name, mode, int(size) if size.isdigit() else 0)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")

"""What git says of trees, read: what differs between two, and what is in a directory of one. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class Change(msgspec.Struct, frozen=True):
    """What becomes of a path: A, M, D, or T for another kind of file; the mode and the blob that it has then, and those
    that it had before.
    """

    path: str
    status: str
    mode: str
    blob: str
    old_mode: str = ""
    old_blob: str = ""


class Stored(msgspec.Struct, frozen=True):
    """What stands in a directory of a tree; `size` in bytes, of a directory 0."""

    name: str
    mode: str
    size: int


def parsed_changes(output: bytes) -> dict[tuple[str, str], list[Change]]:
    """What `git diff-tree --raw -z --stdin` says of pairs of trees: those come before what differs in them."""
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
    """What `git ls-tree --long -z` says."""
    for entry in _text(output).split("\0")[:-1]:
        facts, _, name = entry.partition("\t")
        mode, _, _, size = facts.split()
        yield Stored(name, mode, int(size) if size.isdigit() else 0)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")

"""Who wrote files of a workspace through the server: a document each in the storage, where no agent writes.

Instructions, skills and agents that one owner wrote there would instruct the conversations of the others. For those
they are offers until they are agreed to.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import PurePath

import anyio.to_thread
import msgspec

from ..specs.agent_file import AgentFile
from ..specs.context import ContextProblem, Document, Gathered, Offer
from ..specs.skill import Skill
from ..storing import Shelf, replaced
from .consents import agreed_to

KIND = "written"

_SUFFIXES = ("", ".md", ".mdc", ".markdown", ".rst", ".txt")
"""Suffixes of the files that may instruct an agent; on a server no other file is imported by instructions."""


class Writing(msgspec.Struct, frozen=True):
    """The owner who last wrote a file through the server. It may have been changed in another way since then."""

    by: str


def may_instruct(path: str) -> bool:
    """Return whether a file may be read as instructions, a skill or an agent."""
    return PurePath(path).suffix.lower() in _SUFFIXES


async def writer_of(shelf: Shelf, path: str) -> str | None:
    """Return who wrote the file with an absolute path without links; None: nobody. Raises `ConfigurationError`."""
    held = await shelf.get(KIND, _name(path))
    return None if held is None else msgspec.json.decode(held[0], type=Writing).by


async def note_writer(shelf: Shelf, path: str, by: str) -> None:
    """Note who writes the file with an absolute path without links. Raises `ConfigurationError`."""
    data = msgspec.json.encode(Writing(by))
    await replaced(shelf, KIND, _name(path), lambda held: data)


async def written(shelf: Shelf) -> frozenset[str]:
    """Return the names of the files that somebody wrote, for `concerns`. Raises `ConfigurationError`."""
    return frozenset(await shelf.names(KIND))


def concerns(found: Gathered, known: frozenset[str]) -> bool:
    """Return whether somebody wrote a file that was read, or nobody knows who did; most often nobody did. For a thread:
    it blocks.
    """
    is_written = bool(known) and any(_name(os.path.realpath(path)) in known for path in found.digests)
    return is_written or bool(_unknown(found))


def _unknown(found: Gathered) -> set[str]:
    """Return the paths of instructions, skills and agents that are read from files whose writers are not noted."""
    items: tuple[Document | Skill | AgentFile, ...] = (*found.documents, *found.skills, *found.agents)
    paths = {one.path for one in items if one.origin != "user" and one.path in found.digests}
    return {path for path in paths if not may_instruct(os.path.realpath(path) if os.path.islink(path) else path)}


async def copy_writers(shelf: Shelf, source: str, target: str) -> None:
    """Note for the files of a directory `target`, which are or will be copies of those in `source`, who wrote these.

    Raises `ConfigurationError`.
    """
    if not (known := await written(shelf)):
        return

    def files() -> list[tuple[str, str]]:
        above, below = os.path.realpath(source), os.path.realpath(target)
        paths = {
            os.path.relpath(os.path.join(root, name), top)
            for top in (above, below)
            for root, _, names in os.walk(top)
            for name in names
            if may_instruct(name)
        }
        pairs = ((os.path.join(above, path), os.path.join(below, path)) for path in paths)
        return [(before, place) for before, place in pairs if _name(before) in known]

    for before, place in await anyio.to_thread.run_sync(files):
        if (by := await writer_of(shelf, before)) is not None:
            await note_writer(shelf, place, by)


class Withheld(msgspec.Struct, frozen=True):
    """What an owner's conversation is not told of the files that were read for it, and what it is told of them."""

    hidden: frozenset[str] = frozenset()
    """Paths without links of files that do not count."""
    offers: tuple[Offer, ...] = ()
    """A file of another owner each, also those that were agreed to."""
    writers: dict[str, str] = {}
    """Who wrote files, by path."""
    problems: tuple[ContextProblem, ...] = ()


async def withheld(found: Gathered, shelf: Shelf, owner: str, workspace: str, before: Withheld) -> Withheld:
    """Return what is withheld of what was gathered for an owner, besides what was withheld `before`: the files that
    others wrote, unless the owner has agreed to them, and those of which nobody knows who wrote them.

    Raises `ConfigurationError`.
    """
    known = await written(shelf)
    real = await anyio.to_thread.run_sync(lambda: {path: os.path.realpath(path) for path in found.digests})
    noted = {path: await writer_of(shelf, place) for path, place in real.items() if _name(place) in known}
    writers = {path: by for path, by in noted.items() if by is not None}
    foreign = {
        real[path]: _offer(path, by, found.digests[path], owner, workspace)
        for path, by in writers.items()
        if by != owner
    }
    agreed = await agreed_to(shelf, foreign.values())
    unknown = await anyio.to_thread.run_sync(_unknown, found)
    told = "is not read on a server, where others may write it: name the file itself *.md or *.txt"
    return Withheld(
        before.hidden
        | {place for place, offer in foreign.items() if offer.digest not in agreed}
        | {real[path] for path in unknown},
        (*before.offers, *foreign.values()),
        writers,
        (*before.problems, *(ContextProblem(path, told) for path in sorted(unknown))),
    )


def _offer(path: str, by: str, digest: str, owner: str, workspace: str) -> Offer:
    """Return the offer of a file that another owner wrote. Its digest names the owner who may agree."""
    told = msgspec.json.encode((workspace, path, by, digest, owner))
    name = f"{os.path.relpath(path, workspace)} by {by}"
    return Offer(digest=sha256(told).hexdigest(), name=name, path=path, by=by)


def _name(path: str) -> str:
    return sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:40]

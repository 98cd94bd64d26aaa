"""Who wrote files of a workspace through the server: a document each in the storage, where no agent writes.

Instructions, skills and agents that one owner wrote there would instruct the conversations of the others. For those
they they are offers until they are agreed to.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from hashlib import sha256
from pathlib import PurePath
from typing import TypeVar

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..specs.agent_file import AgentFile
from ..specs.context import ContextProblem, Document, Gathered, Offer
from ..specs.skill import Skill
from ..storing import Shelf
from ..storing import replaced as put_back
from .consents import agreed_to

T = TypeVar("T", Document, Skill, AgentFile)

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


async def note_writer(shelf: Shelf, path: str, by: str | None) -> None:
    """Note who writes the file with an absolute path without links; None: nobody. Raises `ConfigurationError`."""
    if by is None:
        await shelf.delete(KIND, _name(path))
    else:
        data = msgspec.json.encode(Writing(by))
        await put_back(shelf, KIND, _name(path), lambda held: data)


async def parted(found: Gathered, shelf: Shelf, owner: str, workspace: str) -> Gathered:
    """Return what was gathered for an owner's conversation, with the files that others wrote as offers, unless the
    owner has agreed to them, and without imports of which nobody knows who wrote them. Raises `ConfigurationError`.
    """
    writers, digests = await _writers(shelf, found)
    foreign = {path: _offer(path, by, digests[path], owner, workspace) for path, by in writers.items() if by != owner}
    agreed = await agreed_to(shelf, foreign.values())
    hidden = {path for path, offer in foreign.items() if offer.digest not in agreed}
    documents = _without(found.documents, hidden)
    unknown = [one for one in documents if one.origin == "project" and not may_instruct(one.path)]
    problems = (ContextProblem(one.path, "is not imported on a server: name it *.md or *.txt") for one in unknown)
    return replace(
        found,
        documents=tuple(one for one in documents if one not in unknown),
        skills=_without(found.skills, hidden),
        agents=_without(found.agents, hidden),
        problems=(*found.problems, *problems),
        writers=writers,
        offers=(*found.offers, *foreign.values()),
    )


async def _writers(shelf: Shelf, found: Gathered) -> tuple[dict[str, str], dict[str, str]]:
    """Return the writers of the project's files in `found`, and the digests of these files, both by path."""
    if not (known := frozenset(await shelf.names(KIND))):
        return {}, {}
    items: tuple[Document | Skill | AgentFile, ...] = (*found.documents, *found.skills, *found.agents)
    digests = {one.path: one.digest for one in items if one.origin == "project" and one.path}
    real = await anyio.to_thread.run_sync(lambda: {path: os.path.realpath(path) for path in digests})
    noted = {path: await writer_of(shelf, place) for path, place in real.items() if _name(place) in known}
    return {path: by for path, by in noted.items() if by is not None}, digests


def _without(items: tuple[T, ...], hidden: Collection[str]) -> tuple[T, ...]:
    return tuple(one for one in items if one.origin != "project" or one.path not in hidden)


def _offer(path: str, by: str, digest: str, owner: str, workspace: str) -> Offer:
    """Return the offer of a file that another owner wrote. Its digest names the owner who may agree."""
    told = msgspec.json.encode((workspace, path, by, digest, owner))
    name = f"{os.path.relpath(path, workspace)} by {by}"
    return Offer(digest=sha256(told).hexdigest(), name=name, path=path, by=by)


def _name(path: str) -> str:
    return sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:40]

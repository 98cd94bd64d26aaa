"""Which conversation a person means, and which place in it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import click

from ..conversation import Conversation
from ..errors import ConfigurationError, ConversationMissing
from ..events import Cursor
from ..runtime import Runtime
from ..storage import conversations, default_store
from ..storage.catalogue import Catalogue
from ..storage.reading import EVENTS
from ..tools import ToolType


def place(given: str) -> Cursor:
    """The place in a log that SEQ or EPOCH-SEQ is. Raises `click.BadParameter`."""
    if not re.fullmatch(r"([0-9]+-)?0*[1-9][0-9]*", given):
        raise click.BadParameter(f"{given!r} is no event: give SEQ, or EPOCH-SEQ where the log is not of epoch 0")
    return Cursor.parse(given)


def find(name: str | None, store: Path | None) -> Path:
    """The directory of a conversation by id, by a unique part of one, or by path; the newest without a name.

    Raises `ConversationMissing`, or `ConfigurationError` when there are several.
    """
    root = store or default_store()
    if name is None:
        newest = Catalogue(root).page(1)
        if not newest:
            raise ConversationMissing("(none yet)")
        return root / "conversations" / newest[0].id
    if Path(name, EVENTS).exists():
        return Path(name)
    found = [path for path in conversations(root) if name in path.name]
    exact = [path for path in found if path.name == name]
    if not found:
        raise ConversationMissing(name)
    if len(exact or found) > 1:
        some = ", ".join(sorted(path.name for path in found)[:3])
        raise ConfigurationError(f"{len(found)} conversations have {name!r} in their ids, as {some}: give more of it")
    return (exact or found)[0]


@asynccontextmanager
async def reopened(
    directory: Path, runtime: Runtime | None = None, tools: Sequence[ToolType] = ()
) -> AsyncIterator[Conversation]:
    """The conversation of a directory, open. Raises `LogLocked` while it is open elsewhere, or another `LogError`."""
    async with Conversation(
        id=directory.name,
        tools=tools,
        runtime=runtime,
        store=directory.parent.parent if runtime is None else None,
    ) as live:
        yield live

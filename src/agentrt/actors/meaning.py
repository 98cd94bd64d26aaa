"""`nearest_pieces`: the pieces of conversations that are nearest in meaning to a question, by an embedding model.

Their vectors are kept in a file beside the log of their conversation, which is a cache and goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import anyio.to_thread
import msgspec

from ..context.meaning import Piece, nearest, packed
from ..executing import Models
from ..ids import new_id

FILE = "vectors.bin"

BATCH = 64
"""Number of pieces in one call of the model."""

_VERSION = 1


class _Stored(msgspec.Struct, frozen=True):
    version: int
    model: str
    vectors: dict[bytes, bytes]


async def nearest_pieces(
    query: str, pieces: Sequence[Piece], limit: int, models: Models, place: Callable[[str], Path | None]
) -> list[Piece]:
    """Return the pieces nearest to a query, the nearest first, each event once; `place` returns the directory beside
    the log of a piece's conversation. Raises `ToolError` if the model cannot be asked.
    """
    vectors: list[bytes] = []
    for conversation, of_one in groupby(pieces, lambda piece: piece.conversation):
        vectors += await _vectors([*of_one], models, place(conversation))
    (asked,) = await models.embed([query])
    found = await anyio.to_thread.run_sync(nearest, packed(asked), vectors, len(vectors))
    events: dict[tuple[str, int], Piece] = {}
    for at in found:
        events.setdefault((pieces[at].conversation, pieces[at].seq), pieces[at])
    return [*events.values()][:limit]


async def _vectors(pieces: Sequence[Piece], models: Models, directory: Path | None) -> list[bytes]:
    """Return the vectors of one conversation's pieces; those that are not in its file are made and kept."""
    model = models.embeddings
    held = await anyio.to_thread.run_sync(_held, directory, model)
    keys = [piece.key for piece in pieces]
    missing = {key: piece.text for key, piece in zip(keys, pieces, strict=True) if key not in held}
    texts = [*missing.items()]
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        made = await models.embed([text for _, text in batch])
        held |= {key: packed(vector) for (key, _), vector in zip(batch, made, strict=True)}
        await anyio.to_thread.run_sync(_keep, directory, _Stored(_VERSION, model, held))
    return [held[key] for key in keys]


def _held(directory: Path | None, model: str) -> dict[bytes, bytes]:
    if directory is None:
        return {}
    with suppress(OSError, msgspec.DecodeError):
        stored = msgspec.msgpack.decode((directory / FILE).read_bytes(), type=_Stored)
        if (stored.version, stored.model) == (_VERSION, model):
            return stored.vectors
    return {}


def _keep(directory: Path | None, stored: _Stored) -> None:
    if directory is not None:
        new = directory / f".{FILE}.{new_id()}"
        with suppress(OSError):  # it is a cache
            directory.mkdir(parents=True, exist_ok=True)
            try:
                new.write_bytes(msgspec.msgpack.encode(stored))
                new.rename(directory / FILE)
            except OSError:
                new.unlink(missing_ok=True)
                raise

"""Which conversation a person means."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConversationMissing
from ..storage import conversations, default_store
from ..storage.catalogue import Catalogue
from ..storage.reading import EVENTS


def find(name: str | None, store: Path | None) -> Path:
    """The directory of a conversation by id, by a unique part of one, or by path; the newest without a name.

    Raises `ConversationMissing`.
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
    if len(exact or found) != 1:
        raise ConversationMissing(name)
    return (exact or found)[0]

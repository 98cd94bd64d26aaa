"""Which conversation a person means."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConversationMissing
from ..runtime import default_store
from ..storage import conversations


def find(name: str | None, store: Path | None) -> Path:
    """The directory of a conversation by id, by a unique part of one, or by path; the newest without a name.

    Raises `ConversationMissing`.
    """
    if name is not None and Path(name, "events.jsonl").exists():
        return Path(name)
    found = [path for path in conversations(store or default_store()) if name is None or name in path.name]
    exact = [path for path in found if path.name == name]
    if name is None and found:
        return found[0]
    if len(exact or found) != 1:
        raise ConversationMissing(name or "(none yet)")
    return (exact or found)[0]

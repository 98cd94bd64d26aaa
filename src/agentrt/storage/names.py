"""Names of conversations and of storages."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import ConfigurationError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def checked_id(conversation_id: str) -> str:
    """Return a conversation's id if it can be a file name. Raises `ConfigurationError` otherwise."""
    if not _ID.fullmatch(conversation_id):
        raise ConfigurationError(
            f"{conversation_id!r} is not a conversation id: letters, digits, '.', '_' and '-', 128 at most"
        )
    return conversation_id


def default_store() -> Path:
    """Return the default store: the directory in AGENTRT_HOME, else `~/.agentrt`.

    Raises `ConfigurationError` if AGENTRT_HOME is an address.
    """
    given = os.environ.get("AGENTRT_HOME") or str(Path.home() / ".agentrt")
    if "://" in given:
        raise ConfigurationError(f"AGENTRT_HOME is to be a directory, not {given!r}: an address is given with --store")
    return Path(given)

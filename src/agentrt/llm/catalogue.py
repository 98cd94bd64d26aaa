"""The models that litellm knows, with their prices, read as data from the package: nothing of it is imported."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from .providers import named

_FILE = "model_prices_and_context_window_backup.json"


class Catalogue:
    """Entries by a model's name; one is decoded when it is asked for."""

    def __init__(self, entries: dict[str, msgspec.Raw]) -> None:
        self._entries = entries

    @classmethod
    def read(cls) -> Catalogue:
        """The catalogue of the installed litellm, an empty one where there is none. For a thread: it has 2 MB."""
        package = find_spec("litellm")
        if package is None or package.origin is None:
            return cls({})
        try:
            data = Path(package.origin).with_name(_FILE).read_bytes()
            return cls(msgspec.json.decode(data, type=dict[str, msgspec.Raw]))
        except (OSError, msgspec.DecodeError):
            return cls({})

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self._entries)

    def entry(self, model: str) -> dict[str, Any] | None:
        """What is known of a model; None for one that nobody knows."""
        provider, name = named(model)
        for key in (f"{provider}/{name}", name):
            if (raw := self._entries.get(key)) is not None:
                found: dict[str, Any] = msgspec.json.decode(raw)
                if found.get("litellm_provider") == provider or key != name:
                    return found
        return None

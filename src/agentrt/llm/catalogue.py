"""The models that litellm knows, with their prices, read as data from the package without importing it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from .providers import named

_FILE = "model_prices_and_context_window_backup.json"


class Catalogue:
    """Entries by the model's name; each is decoded when it is first requested."""

    def __init__(self, entries: dict[str, msgspec.Raw]) -> None:
        self._entries = entries

    @classmethod
    def read(cls) -> Catalogue:
        """Return the catalogue of the installed litellm, or an empty one without litellm. For a thread: it has 2 MB."""
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
        """Return the names of all models."""
        return tuple(self._entries)

    def whole(self) -> dict[str, dict[str, Any]]:
        """Return all entries, decoded; for a thread."""
        return {name: msgspec.json.decode(raw) for name, raw in self._entries.items()}

    def named(self, model: str) -> tuple[str, str]:
        """Return the provider of a model, and the model's name there; some names are aliases of the newest model of a
        kind.
        """
        provider, name = named(model)
        found = self._entry(provider, name) or {}
        target = found.get("alias_of")
        return provider, named(target)[1] if isinstance(target, str) else name

    def entry(self, model: str) -> dict[str, Any] | None:
        """Return the entry of a model, or None for an unknown model."""
        found = self._entry(*self.named(model))
        return None if found is None or "alias_of" in found else found

    def _entry(self, provider: str, name: str) -> dict[str, Any] | None:
        for key in (f"{provider}/{name}", name):
            if (raw := self._entries.get(key)) is not None:
                found: dict[str, Any] = msgspec.json.decode(raw)
                if found.get("litellm_provider") == provider or key != name or self._stands_for(found, provider):
                    return found
        return None

    def _stands_for(self, found: dict[str, Any], provider: str) -> bool:
        """Return whether an entry is an alias of a provider's model."""
        raw = self._entries.get(found.get("alias_of", ""))
        return raw is not None and msgspec.json.decode(raw).get("litellm_provider") == provider

"""How a conversation gets at saved models."""

from __future__ import annotations

from collections.abc import Mapping

from ..actors.tool_models import Saved
from ..llm.masking import keys_of
from ..llm.profiles import ProfileStore, profiles_file
from ..secrets import SecretRegistry
from ..specs import AnyLLM
from ..storing import Storage


def saved_in(storage: Storage, environment: Mapping[str, str]) -> Saved:
    """Reads the profiles of a store; the keys of a model that is read are in `environment`."""
    profiles = ProfileStore(profiles_file(next(iter(storage.places), None)))

    def saved(name: str, secrets: SecretRegistry) -> AnyLLM:
        llm = profiles.load(name)
        secrets.seed(keys_of(llm, environment))
        return llm

    return saved

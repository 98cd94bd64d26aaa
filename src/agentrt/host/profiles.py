"""Saved models for a conversation, and the models that a server may offer."""

from __future__ import annotations

from collections.abc import Mapping

import anyio.to_thread

from ..actors.tool_models import Saved
from ..errors import UnknownModel
from ..llm import ModelsClient
from ..llm.known_models import KnownModel, known_as
from ..llm.masking import keys_of
from ..llm.profiles import ProfileStore, profiles_file
from ..protocols import ModelClient
from ..secrets import SecretRegistry
from ..specs import LLM, AnyLLM
from ..specs.llm import members
from ..storing import Storage


def _profiles_of(storage: Storage) -> ProfileStore:
    return ProfileStore(profiles_file(next(iter(storage.places), None)))


def saved_in(storage: Storage, environment: Mapping[str, str]) -> Saved:
    """Return a function that loads the models saved in a store, whose keys are in `environment`."""
    profiles = _profiles_of(storage)

    def saved(name: str, secrets: SecretRegistry) -> AnyLLM:
        llm = profiles.load(name)
        secrets.seed(keys_of(llm, environment))
        return llm

    return saved


class Models:
    """The models that conversations of a store may use: those of profiles, and those that the client knows."""

    def __init__(self, known: ModelsClient | None, client: ModelClient, storage: Storage) -> None:
        """`known` has a table of models. It is None for a client that a program has given, which has no table."""
        self._table, self._client, self._profiles = known, client, _profiles_of(storage)

    async def search(self, query: str, limit: int) -> tuple[tuple[KnownModel, ...], bool]:
        """Return up to `limit` known models whose names have all words of a query, and whether there are more."""
        found = await self._table.models(query) if self._table is not None else ()
        return tuple(found[:limit]), len(found) > limit

    async def profiles(self) -> dict[str, AnyLLM]:
        """Return the profiles by name. Raise `ConfigurationError` if their file is broken."""
        return await anyio.to_thread.run_sync(self._profiles.all)

    async def known(self, llm: AnyLLM) -> KnownModel:
        """Return the capabilities of a model as configured; of several models, those of the first. No key is needed."""
        one: LLM = members(llm)[0]
        try:
            if self._table is not None:
                await self._table.look(one)
            return known_as(one, self._client.known(one))
        except UnknownModel:
            return KnownModel(model=one.model)

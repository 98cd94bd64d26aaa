"""`ModelsClient`: calls each model directly or through litellm, which is loaded when a model needs it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import anyio.to_thread

from ..context.replies import ModelReply
from ..protocols import ModelRequest, Watch
from ..specs import LLM, AnyLLM, Capabilities
from ..specs.llm import members
from .known_models import KnownModel, known_models, matching
from .litellm_client import LiteLLMClient
from .providers import way
from .wire_client import WireClient


class ModelsClient:
    """A `ModelClient` for every model. Keys come from `environment` (None: the process's)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._wire, self._litellm = WireClient(environment), LiteLLMClient(environment)
        self._table: tuple[KnownModel, ...] = ()

    async def load(self) -> None:
        """Import what most calls need, off the event loop."""
        await self._wire.load()

    async def prepare(self, llm: AnyLLM) -> None:
        """Load what the calls of these models need. Raises `ConfigurationError` if none can work."""
        for one in members(llm):
            await self._of(one).prepare(one)

    async def look(self, llm: LLM) -> None:
        """Load what `known` needs for a model, even if no call can work."""
        await self._of(llm).load()

    async def models(self, query: str) -> Sequence[KnownModel]:
        """Return the known models whose names contain all words of a query; providers with a key come first."""
        if not self._table:
            catalogue = await self._wire.catalogue()
            self._table = await anyio.to_thread.run_sync(lambda: known_models(catalogue.whole()))
        keyed = {one.provider for one in self._table if self._environment.get(f"{one.provider.upper()}_API_KEY")}
        return matching(self._table, query, keyed)

    def known(self, llm: LLM) -> Capabilities:
        """Return what is known of a model; it must be prepared."""
        return self._of(llm).known(llm)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Call the model once. Raises the errors of the client that calls it."""
        if request.speech is not None:
            return await self._litellm.complete(request, watch)
        return await self._of(request.one).complete(request, watch)

    async def aclose(self) -> None:
        """Close all connections."""
        try:
            await self._wire.aclose()
        finally:
            await self._litellm.aclose()

    def _of(self, llm: LLM) -> WireClient | LiteLLMClient:
        return self._wire if way(llm) == "wire" else self._litellm

"""`ModelsClient`: calls each model directly or through litellm, which is loaded when a model needs it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from ..context.replies import ModelReply
from ..errors import BadModelRequest, MissingKey, UnknownModel
from ..loading import load
from ..protocols import ModelRequest, Watch
from ..specs import LLM, AnyLLM, Capabilities
from ..specs.llm import members
from .known_models import KnownModel, known_models, matching
from .providers import named, way

if TYPE_CHECKING:
    from .litellm_client import LiteLLMClient
    from .wire_client import WireClient


class ModelsClient:
    """A `ModelClient` for every model. Keys come from `environment` (None: the process's).

    The two clients are imported when a model needs them, off the event loop.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._wire: WireClient | None = None
        self._litellm: LiteLLMClient | None = None
        self._table: tuple[KnownModel, ...] = ()

    async def load(self) -> None:
        """Import what most calls need, off the event loop."""
        await (await self._direct()).load()

    async def prepare(self, llm: AnyLLM) -> None:
        """Load what the calls of these models need. Raises `ConfigurationError` if none can work."""
        for one in members(llm):
            await self._check_provider(one)
            try:
                await (await self._of(one)).prepare(one)
            except MissingKey:
                if one.base_url is None and one.api_key is None and one.api_key_env is None:
                    await self._check_name(one.model)
                raise

    async def _check_provider(self, llm: LLM) -> None:
        """Raise `UnknownModel` for a name without a provider, which loading litellm would take seconds to find out."""
        if self._litellm is not None or way(llm) == "wire" or llm.client != "auto" or llm.base_url is not None:
            return
        from .nearest import is_provider, nearest_model  # needed for few models

        names = [one.model for one in await self.models("")]
        provider, _ = named(llm.model)
        if not (await anyio.to_thread.run_sync(is_provider, provider, names) if provider else llm.model in names):
            raise UnknownModel(llm.model, nearest_model(llm.model, names) or "")

    async def _check_name(self, model: str) -> None:
        """Raise `UnknownModel` for the misspelled name of a known model: its key would be no help."""
        if nearest := await self._nearest(model):
            raise UnknownModel(model, nearest)

    async def _nearest(self, model: str) -> str | None:
        from .nearest import nearest_model

        names = [one.model for one in await self.models("")]
        return await anyio.to_thread.run_sync(nearest_model, model, names)

    async def look(self, llm: LLM) -> None:
        """Load what `known` needs for a model, even if no call can work. Raises `UnknownModel`."""
        await self._check_provider(llm)
        await (await self._of(llm)).load()

    async def models(self, query: str) -> Sequence[KnownModel]:
        """Return the known models whose names contain all words of a query; providers with a key come first."""
        if not self._table:
            catalogue = await (await self._direct()).catalogue()
            self._table = await anyio.to_thread.run_sync(lambda: known_models(catalogue.whole()))
        keyed = {one.provider for one in self._table if self._environment.get(f"{one.provider.upper()}_API_KEY")}
        return matching(self._table, query, keyed)

    def known(self, llm: LLM) -> Capabilities:
        """Return what is known of a model; it must be prepared."""
        client = self._wire if way(llm) == "wire" else self._litellm
        assert client is not None, "it was not prepared"
        return client.known(llm)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Call the model once. Raises the errors of the client that calls it."""
        client = await self._through_litellm() if request.is_special else await self._of(request.one)
        try:
            return await client.complete(request, watch)
        except BadModelRequest as error:
            if error.no_model and request.one.base_url is None and (near := await self._nearest(request.one.model)):
                raise BadModelRequest(f"{error}. Did you mean {near!r}?") from error
            raise

    async def aclose(self) -> None:
        """Close all connections."""
        try:
            if self._wire is not None:
                await self._wire.aclose()
        finally:
            if self._litellm is not None:
                await self._litellm.aclose()

    async def _of(self, llm: LLM) -> WireClient | LiteLLMClient:
        return await self._direct() if way(llm) == "wire" else await self._through_litellm()

    async def _direct(self) -> WireClient:
        if (client := self._wire) is None:
            module = await load("agentrt.llm.wire_client")
            client = self._wire = self._wire or module.WireClient(self._environment)
        return client

    async def _through_litellm(self) -> LiteLLMClient:
        if (client := self._litellm) is None:
            module = await load("agentrt.llm.litellm_client")
            client = self._litellm = self._litellm or module.LiteLLMClient(self._environment)
        return client

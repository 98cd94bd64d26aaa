"""`ModelsClient`: calls each model on its way, directly or through litellm, which is loaded when a model needs it."""

from __future__ import annotations

from collections.abc import Mapping

from ..context.replies import ModelReply
from ..protocols import ModelRequest, Watch
from ..specs import LLM, AnyLLM, Capabilities
from ..specs.llm import members
from .litellm_client import LiteLLMClient
from .providers import way
from .wire_client import WireClient


class ModelsClient:
    """A `ModelClient` for every model. Keys come from `environment` (None: the process's)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._wire, self._litellm = WireClient(environment), LiteLLMClient(environment)

    async def load(self) -> None:
        """Import what most calls need, off the loop."""
        await self._wire.load()

    async def prepare(self, llm: AnyLLM) -> None:
        """Load what the calls of these models need. Raises `ConfigurationError` when none can work."""
        for one in members(llm):
            await self._of(one).prepare(one)

    def known(self, llm: LLM) -> Capabilities:
        """What is known of a model; once it was prepared."""
        return self._of(llm).known(llm)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Call the model once. Raises as the client does that calls it."""
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

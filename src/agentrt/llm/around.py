"""`Around`: what the clients have in common that are put around another one."""

from __future__ import annotations

from ..protocols import ModelClient
from ..specs import LLM, AnyLLM, Capabilities


class Around(ModelClient):
    """A `ModelClient` that leaves it to the inner one to know the models; it needs only `complete`."""

    def __init__(self, inner: ModelClient) -> None:
        self._inner = inner

    async def prepare(self, llm: AnyLLM) -> None:
        """As the inner client."""
        await self._inner.prepare(llm)

    def known(self, llm: LLM) -> Capabilities:
        """As the inner client."""
        return self._inner.known(llm)

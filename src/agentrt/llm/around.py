"""`Around`: the common base of the clients that wrap another client."""

from __future__ import annotations

from ..protocols import ModelClient
from ..specs import LLM, AnyLLM, Capabilities


class Around(ModelClient):
    """A `ModelClient` that passes `prepare` and `known` to the inner client; a subclass needs only `complete`."""

    def __init__(self, inner: ModelClient) -> None:
        self._inner = inner

    async def prepare(self, llm: AnyLLM) -> None:
        """Prepare the inner client."""
        await self._inner.prepare(llm)

    def known(self, llm: LLM) -> Capabilities:
        """Return what the inner client knows."""
        return self._inner.known(llm)

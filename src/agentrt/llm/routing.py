"""`RoutedClient`: chooses the model of a call, and another one when it fails."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from msgspec.structs import replace

from ..context.replies import ModelReply
from ..context.routing import Rule, check, select
from ..errors import BudgetExceeded, ContextWindowExceeded, ModelError
from ..protocols import FailedTry, ModelClient, ModelRequest, Watch
from ..specs import LLM, AnyLLM, FallbackLLM, RouterLLM
from ..specs.llm import members
from .around import Around


class RoutedClient(Around):
    """A `ModelClient` for which routers and fallbacks are models as well; single models are called by another client.

    A fallback follows on every failure but two: what does not fit into a context window is condensed instead, and what
    a budget does not allow is not tried elsewhere.
    """

    def __init__(self, inner: ModelClient, rules: Mapping[str, Rule] | None = None) -> None:
        super().__init__(inner)
        self._rules = rules or {}

    async def prepare(self, llm: AnyLLM) -> None:
        """Prepare all that may be called. Raises `ConfigurationError` for a rule that nobody knows."""
        check(llm, self._rules)
        await super().prepare(llm)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The reply of the chosen model. Raises `ModelError`, of the last fallback when all have failed."""
        match request.llm:
            case LLM():
                return await self._inner.complete(request, watch)
            case RouterLLM() as router:
                key = select(router, request.messages, request.tools, self.known, self._rules)
                return await self.complete(replace(request, llm=router.llms[key]), watch)
            case FallbackLLM(llms):
                for number, (llm, following) in enumerate(pairwise(llms), 1):
                    try:
                        return await self.complete(replace(request, llm=llm), watch)
                    except (ContextWindowExceeded, BudgetExceeded):
                        raise
                    except ModelError as error:
                        names = members(llm)[0].model, members(following)[0].model
                        await watch.failed(FailedTry(number, *names, error.code, str(error)))
                return await self.complete(replace(request, llm=llms[-1]), watch)

"""`RoutedClient`: chooses the model of a call, and another one if it fails."""

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
    """A `ModelClient` that also accepts routers and fallbacks as models; another client calls the single models.

    Every failure leads to the fallback, with two exceptions: a conversation that exceeds the context window is
    condensed instead, and a call that a budget does not allow is not tried elsewhere.
    """

    def __init__(self, inner: ModelClient, rules: Mapping[str, Rule] | None = None) -> None:
        super().__init__(inner)
        self._rules = rules or {}

    async def prepare(self, llm: AnyLLM) -> None:
        """Prepare all models that may be called. Raises `ConfigurationError` for an unknown rule."""
        check(llm, self._rules)
        await super().prepare(llm)

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Return the reply of the chosen model. Raises `ModelError`; if all fallbacks have failed, that of the last
        one.
        """
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

"""`RetryingClient`: retries a call while its failure may be temporary."""

from __future__ import annotations

import random
from itertools import count

import anyio

from ..context.replies import ModelReply
from ..errors import ModelError
from ..protocols import FailedTry, ModelClient, ModelRequest, Sleep, Watch
from ..specs import LLM
from .around import Around


class RetryingClient(Around):
    """A `ModelClient` that retries the calls of another one, with growing waits, up to `LLM.num_retries` times.

    A model call has no side effects, so each call with a temporary failure may be repeated. Text that was shown of a
    broken answer is void. A provider's Retry-After is honoured; if it exceeds `LLM.retry_max_wait`, there are no more
    retries.
    """

    def __init__(self, inner: ModelClient, sleep: Sleep = anyio.sleep) -> None:
        super().__init__(inner)
        self._sleep = sleep

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Return the reply. Raises the `ModelError` of the last try."""
        llm = request.one
        for tried in count(1):
            try:
                return await self._inner.complete(request, watch)
            except ModelError as error:
                if error.retryable and _asks_too_long(error, llm):
                    asked, longest = f"it asks to wait {error.retry_after:g} s", f"{llm.retry_max_wait:g} s"
                    error.args = (f"{error}: {asked}, and LLM.retry_max_wait is {longest}",)
                    raise
                if not error.retryable or tried > llm.num_retries:
                    raise
                failed = FailedTry(tried, llm.model, llm.model, error.code, str(error), _wait(error, tried, llm))
            await watch.failed(failed)
            await self._sleep(failed.wait)
        raise AssertionError("never")


def _asks_too_long(error: ModelError, llm: LLM) -> bool:
    return error.retry_after is not None and error.retry_after > llm.retry_max_wait


def _wait(error: ModelError, tried: int, llm: LLM) -> float:
    """Return the seconds until the next try: the provider's request, or else a random wait.

    The random wait is at least the shortest wait. Its upper bound doubles with each try, up to the longest wait.
    """
    if error.retry_after is not None:
        return error.retry_after
    highest = min(llm.retry_min_wait * 2 ** min(tried, 60), llm.retry_max_wait)
    return random.uniform(llm.retry_min_wait, max(llm.retry_min_wait, highest))

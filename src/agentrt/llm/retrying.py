"""`RetryingClient`: retries a call while its failure may be temporary."""

from __future__ import annotations

import anyio
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

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

        async def failed(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            assert isinstance(error, ModelError)
            wait = state.upcoming_sleep
            detail = str(error)
            await watch.failed(FailedTry(state.attempt_number, llm.model, llm.model, error.code, detail, wait))

        retrying = AsyncRetrying(
            sleep=self._sleep,
            stop=stop_after_attempt(llm.num_retries + 1),
            wait=lambda state: _wait(state, llm),
            retry=retry_if_exception(lambda error: _may_pass(error, llm)),
            before_sleep=failed,
            reraise=True,
        )
        try:
            return await retrying(self._inner.complete, request, watch)
        except ModelError as error:
            if error.retryable and _asks_too_long(error, llm):
                asked = f"it asks to wait {error.retry_after:g} s, and LLM.retry_max_wait is {llm.retry_max_wait:g} s"
                error.args = (f"{error}: {asked}",)
            raise


def _may_pass(error: BaseException, llm: LLM) -> bool:
    """Return whether a failure may pass within the maximum wait."""
    return isinstance(error, ModelError) and error.retryable and not _asks_too_long(error, llm)


def _asks_too_long(error: ModelError, llm: LLM) -> bool:
    return error.retry_after is not None and error.retry_after > llm.retry_max_wait


def _wait(state: RetryCallState, llm: LLM) -> float:
    """Return the seconds until the next try: the provider's request, or else a random wait.

    The random wait is at least the shortest wait. Its upper bound doubles with each try, up to the longest wait.
    """
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ModelError) and error.retry_after is not None:
        return error.retry_after
    shortest = llm.retry_min_wait
    return wait_random_exponential(multiplier=2 * shortest, min=shortest, max=llm.retry_max_wait)(state)

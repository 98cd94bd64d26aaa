"""`LiteLLMClient`: every model that litellm knows, streamed.

litellm takes seconds to import, so it is imported on first use and in a thread. Its own retries are off: they would be
hidden from the log. (Checked against litellm 1.106.)
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from ..context.messages import ToolCall
from ..context.replies import ModelReply
from ..errors import MissingKey, ModelError, ModelUnavailable, UnknownModel
from ..events import Usage, new_id
from ..protocols import ModelRequest, OnText
from ..specs import LLM
from .failures import model_error
from .wire import wire_message, wire_tool


class LiteLLMClient:
    """A `ModelClient` over `litellm.acompletion`. Keys come from `environment`, and go nowhere but into the call."""

    _in_use: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, int]] = WeakKeyDictionary()
    """Clients of a loop that have loaded litellm. Its connections are shared: the first drops those of loops that are
    gone, the last closes them."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._litellm: ModuleType | None = None
        self._lock = anyio.Lock()

    async def prepare(self, llm: LLM) -> None:
        """Import litellm and look the model up, off the loop. Raises `UnknownModel` or `MissingKey`."""
        litellm = await self._load()
        try:
            provider = litellm.get_llm_provider(llm.model, api_base=llm.base_url)[1]
        except litellm.exceptions.BadRequestError:
            raise UnknownModel(llm.model) from None
        self._key(llm, litellm, provider)

    async def complete(self, request: ModelRequest, on_text: OnText) -> ModelReply:
        """Call the model; tried again, with growing waits, while the failure may pass and nothing was shown yet."""
        shown = False

        def show(channel: Any, piece: str) -> None:
            nonlocal shown
            shown = True
            on_text(channel, piece)

        llm = request.llm
        retrying = AsyncRetrying(
            sleep=anyio.sleep,
            stop=stop_after_attempt(llm.num_retries + 1),
            wait=lambda state: _wait(state, llm),
            retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.retryable and not shown),
            reraise=True,
        )
        return await retrying(self._call, request, show)

    async def aclose(self) -> None:
        """Close litellm's connections, when no other client of this process uses them."""
        litellm, self._litellm = self._litellm, None
        if litellm is not None and self._count(-1) == 0:
            await litellm.close_litellm_async_clients()
            litellm.in_memory_llm_clients_cache.flush_cache()  # else the next client gets closed ones

    async def _load(self) -> ModuleType:
        async with self._lock:
            if self._litellm is None:
                self._litellm = await anyio.to_thread.run_sync(_import_litellm)
                if self._count(+1) == 1:
                    self._litellm.in_memory_llm_clients_cache.flush_cache()
        return self._litellm

    def _count(self, change: int) -> int:
        """How many clients of this loop have loaded litellm, after a change."""
        loop = asyncio.get_running_loop()
        self._in_use[loop] = self._in_use.get(loop, 0) + change
        return self._in_use[loop]

    def _key(self, llm: LLM, litellm: ModuleType, provider: str) -> str | None:
        if llm.api_key_env is not None:
            if not self._environment.get(llm.api_key_env):
                raise MissingKey(llm.model, (llm.api_key_env,))
            return self._environment[llm.api_key_env]
        if llm.base_url is None:
            needed = litellm.validate_environment(llm.model)
            missing = tuple(name for name in needed["missing_keys"] if not self._environment.get(name))
            if missing and not needed["keys_in_environment"]:
                raise MissingKey(llm.model, missing)
        return self._environment.get(f"{provider.upper()}_API_KEY") or None

    async def _call(self, request: ModelRequest, on_text: OnText) -> ModelReply:
        litellm, llm = await self._load(), request.llm
        messages = [wire_message(message) for message in request.messages]
        try:
            provider = litellm.get_llm_provider(llm.model, api_base=llm.base_url)[1]
            response = await litellm.acompletion(
                model=llm.model,
                messages=messages,
                tools=[wire_tool(definition) for definition in request.tools] or None,
                api_key=self._key(llm, litellm, provider) or ("none" if llm.base_url else None),
                **_settings(llm),
            )
            if llm.stream:
                response = await _gather(litellm, response, messages, on_text)
        except ModelError:
            raise
        except Exception as error:
            raise model_error(litellm, error, llm) from error
        return _reply(litellm, response, llm)


def _import_litellm() -> ModuleType:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no network at import
    litellm: Any = import_module("litellm")

    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.ERROR)
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = True
    module: ModuleType = litellm
    return module


def _settings(llm: LLM) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "base_url": llm.base_url,
        "temperature": llm.temperature,
        "top_p": llm.top_p,
        "max_tokens": llm.max_output_tokens,
        "timeout": llm.timeout,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    given |= {"num_retries": 0, "max_retries": 0, "stream": llm.stream}
    return given | {"stream_options": {"include_usage": True}} if llm.stream else given


async def _gather(litellm: ModuleType, stream: Any, messages: list[dict[str, Any]], on_text: OnText) -> Any:
    """Show a stream as it comes, and give it back whole; cancelling closes the connection."""
    chunks: list[Any] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)
            if chunk.choices:
                delta = chunk.choices[0].delta
                if piece := getattr(delta, "reasoning_content", None):
                    on_text("reasoning", piece)
                if delta.content:
                    on_text("text", delta.content)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(1):
            await stream.aclose()
    whole = litellm.stream_chunk_builder(chunks, messages=messages)
    if whole is None or not any(chunk.choices and chunk.choices[0].finish_reason for chunk in chunks):
        raise ModelUnavailable("the model's answer was cut before its end")
    return whole


def _cost(litellm: ModuleType, response: Any, usage: Usage, llm: LLM) -> float | None:
    """The cost of a call in USD, by the spec's prices or else litellm's; None when neither has any."""
    if llm.input_cost_per_token is not None and llm.output_cost_per_token is not None:
        return usage.prompt_tokens * llm.input_cost_per_token + usage.completion_tokens * llm.output_cost_per_token
    try:
        cost: float = litellm.completion_cost(response)
    except Exception:  # litellm raises a bare Exception for a model that it has no price for
        return None
    return cost


def _reply(litellm: ModuleType, response: Any, llm: LLM) -> ModelReply:
    message = response.choices[0].message
    calls = tuple(
        ToolCall(id=call.id or new_id(), name=call.function.name or "", arguments=call.function.arguments or "")
        for call in message.tool_calls or ()
    )
    usage = _usage(getattr(response, "usage", None))
    return ModelReply(
        text=message.content or "",
        tool_calls=calls,
        reasoning=getattr(message, "reasoning_content", None) or "",
        response_id=response.id or new_id(),
        usage=usage,
        cost=_cost(litellm, response, usage, llm),
    )


def _usage(given: Any) -> Usage:
    if given is None:
        return Usage()
    prompt, completion = (
        getattr(given, "prompt_tokens_details", None),
        getattr(given, "completion_tokens_details", None),
    )
    return Usage(
        prompt_tokens=given.prompt_tokens or 0,
        completion_tokens=given.completion_tokens or 0,
        cache_read_tokens=getattr(prompt, "cached_tokens", None) or 0,
        cache_write_tokens=getattr(given, "cache_creation_input_tokens", None) or 0,
        reasoning_tokens=getattr(completion, "reasoning_tokens", None) or 0,
    )


def _wait(state: RetryCallState, llm: LLM) -> float:
    """Seconds until the next try: what the provider asked for, else a jittered exponential wait."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ModelError) and error.retry_after is not None:
        return min(error.retry_after, llm.retry_max_wait)
    return wait_random_exponential(multiplier=llm.retry_min_wait, max=llm.retry_max_wait)(state)

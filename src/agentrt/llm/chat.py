"""Chat completions, as litellm offers them for every provider. (Checked against litellm 1.106.)"""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import anyio
import msgspec

from ..context.messages import ToolCall
from ..context.replies import ModelReply
from ..errors import ModelUnavailable
from ..events import new_id
from ..protocols import ModelRequest, Watch
from ..specs import LLM, Capabilities, Thinking
from ..usage import Usage
from .wire import wire_messages, wire_tool

LEAST_THINKING = 1024
"""Tokens that Anthropic lets a model think at least."""

ROOM_FOR_EFFORT = 8192
"""Tokens of an answer below which no effort is asked for: litellm makes up to 4096 tokens of thinking of it."""


async def complete(
    litellm: ModuleType, request: ModelRequest, known: Capabilities, given: dict[str, Any], watch: Watch
) -> ModelReply:
    """One call; `given` is where it goes and what it may use. Raises what litellm raises, or `ModelUnavailable`."""
    llm = request.one
    messages = wire_messages(request.messages, llm, marks=known.cache_marks and llm.caching_prompt)
    tools = [wire_tool(definition) for definition in request.tools] or None
    settings = _settings(llm, known, given.pop("max_output_tokens"))
    response = await litellm.acompletion(messages=messages, tools=tools, **given, **settings)
    if llm.stream:
        response = await _gather(litellm, response, messages, watch, llm.timeout)
    return _reply(response, llm)


def _settings(llm: LLM, known: Capabilities, most: int | None) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "temperature": llm.temperature,
        "top_p": llm.top_p,
        "top_k": llm.top_k,
        "seed": llm.seed,
        "max_tokens": most,
        "reasoning_effort": llm.reasoning_effort,
        "stream_options": {"include_usage": True} if llm.stream else None,
    }
    if llm.thinking_budget is not None or (llm.reasoning_effort is not None and known.cache_marks):
        settings |= _thinking(llm, known, most)
    return {name: value for name, value in settings.items() if value is not None}


def _thinking(llm: LLM, known: Capabilities, most: int | None) -> dict[str, Any]:
    """The settings of a model whose thinking counts in tokens: the answer needs room beside it, and no temperature."""
    if llm.thinking_budget is None:
        thinks = most is None or most >= ROOM_FOR_EFFORT
        settings: dict[str, Any] = {} if thinks else {"reasoning_effort": None}
    else:
        room = llm.thinking_budget if most is None else min(llm.thinking_budget, most - LEAST_THINKING)
        thinks = room >= LEAST_THINKING
        settings = {"reasoning_effort": None}
        if thinks:
            settings["thinking"] = {"type": "enabled", "budget_tokens": room}
    return settings | ({"temperature": None, "max_tokens": most or known.max_output_tokens} if thinks else {})


async def _gather(
    litellm: ModuleType, stream: Any, messages: list[dict[str, Any]], watch: Watch, patience: float
) -> Any:
    """Show a stream as it comes, and give it back whole; cancelling closes the connection.

    Raises `TimeoutError` when nothing comes for `patience` seconds.
    """
    chunks: list[Any] = []
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(patience) as alarm:
            async for chunk in stream:
                alarm.reschedule(loop.time() + patience)
                chunks.append(chunk)
                if chunk.choices:
                    delta = chunk.choices[0].delta
                    if piece := getattr(delta, "reasoning_content", None):
                        watch.show("reasoning", piece)
                    if delta.content:
                        watch.show("text", delta.content)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(1):
            await stream.aclose()
    ended = stream.received_finish_reason or stream.intermittent_finish_reason  # litellm makes one up in the chunks
    whole = litellm.stream_chunk_builder(chunks, messages=messages) if ended else None
    if whole is None:
        raise ModelUnavailable("the model's answer was cut before its end")
    return whole


def _reply(response: Any, llm: LLM) -> ModelReply:
    choice = response.choices[0]
    message = choice.message
    calls = tuple(
        ToolCall(id=call.id or new_id(), name=call.function.name or "", arguments=call.function.arguments or "")
        for call in message.tool_calls or ()
    )
    blocks = getattr(message, "thinking_blocks", None)
    return ModelReply(
        text=message.content or "",
        tool_calls=calls,
        reasoning=getattr(message, "reasoning_content", None) or "",
        thinking=Thinking(llm.model, msgspec.Raw(msgspec.json.encode(blocks))) if blocks else None,
        response_id=response.id or new_id(),
        usage=_usage(getattr(response, "usage", None)),
        finish_reason=choice.finish_reason or "stop",
    )


def _usage(given: Any) -> Usage:
    if given is None:
        return Usage()
    prompt = getattr(given, "prompt_tokens_details", None)
    completion = getattr(given, "completion_tokens_details", None)
    return Usage(
        prompt_tokens=given.prompt_tokens or 0,
        completion_tokens=given.completion_tokens or 0,
        cache_read_tokens=getattr(prompt, "cached_tokens", None) or 0,
        cache_write_tokens=getattr(given, "cache_creation_input_tokens", None) or 0,
        reasoning_tokens=getattr(completion, "reasoning_tokens", None) or 0,
    )

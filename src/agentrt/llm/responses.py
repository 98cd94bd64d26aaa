"""OpenAI's Responses, through litellm: the full history is sent each time, and nothing is stored at the provider.

(Checked against litellm 1.106.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

import msgspec

from ..context.messages import Message, ToolCall
from ..context.replies import ModelReply
from ..errors import ConfigurationError, ContentRefused, ModelUnavailable
from ..ids import new_id
from ..protocols import ModelRequest, Watch
from ..specs import LLM, Capabilities, Content, ImageContent, Thinking, ToolDefinition
from ..specs.content import plain
from ..usage import Usage
from .counts import Tokens, counted
from .refusals import STATUSES, refusal
from .streams import follow

_PLACES = ("message", "function_call")
"""The types of items that reasoning may have led to: only their positions are kept."""


def check(llm: LLM) -> None:
    """Raise `ConfigurationError` for a setting that this interface does not support."""
    for name in ("top_k", "seed"):
        if getattr(llm, name) is not None:
            raise ConfigurationError(
                f"{name} cannot be sent through OpenAI's Responses: leave it out, or set api='chat' (for {llm.model!r})"
            )


async def complete(
    litellm: ModuleType, request: ModelRequest, known: Capabilities, given: dict[str, Any], watch: Watch
) -> ModelReply:
    """Make one call; `given` has the address and the credentials. Raises what litellm raises, or `ModelError`."""
    llm = request.one
    response = await litellm.aresponses(
        **asked_for(request, known), drop_params=True, extra_body=llm.extra_body or None, **given
    )
    if llm.stream:
        response = await _gather(response, watch, llm.timeout)
    return reply_of(response.model_dump(mode="json", exclude_none=True, warnings=False), llm)


def asked_for(request: ModelRequest, known: Capabilities) -> dict[str, Any]:
    """Return the members of a request, except for the address and the credentials."""
    llm = request.one
    system = [message for message in request.messages if message.role == "system"]
    return {
        "input": list(items(spoken(request.messages), llm)),
        "instructions": "\n\n".join(plain(message.content) for message in system) or None,
        "tools": [_tool(definition) for definition in request.tools] or None,
        "store": False,
        **_settings(llm, known),
    }


def _settings(llm: LLM, known: Capabilities) -> dict[str, Any]:
    asked = {"effort": llm.reasoning_effort, "summary": llm.reasoning_summary}
    reasoning = {name: value for name, value in asked.items() if value is not None}
    encrypted = llm.encrypted_reasoning and (known.reasoning or bool(reasoning))  # others refuse to be asked for it
    settings: dict[str, Any] = {
        "temperature": llm.temperature,
        "top_p": llm.top_p,
        "reasoning": reasoning or None,
        "include": ["reasoning.encrypted_content"] if encrypted else None,
    }
    return {name: value for name, value in settings.items() if value is not None}


def spoken(messages: Sequence[Message]) -> list[Message]:
    """Return all messages except the system messages."""
    return [message for message in messages if message.role != "system"]


def items(messages: Sequence[Message], llm: LLM) -> Iterable[dict[str, Any]]:
    """Return the history as items; reasoning comes before the messages and calls that it led to."""
    for message in messages:
        if message.role == "tool":
            output = plain(message.content)
            yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": output}
            continue
        if message.role == "user":
            yield {"type": "message", "role": "user", "content": [_block(block) for block in message.content]}
        else:
            yield from _turn(message, llm)


def _turn(message: Message, llm: LLM) -> Iterable[dict[str, Any]]:
    """Return the output of one model turn, in its original order as far as that is known."""
    said = [{"type": "output_text", "text": plain(message.content), "annotations": []}]
    own = [{"type": "message", "role": "assistant", "content": said}] if message.content else []
    own += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    if message.thinking is not None and message.thinking.model == llm.model:
        for item in msgspec.json.decode(message.thinking.blocks):
            kind = item.get("type")
            if kind == "reasoning":
                yield item
            elif kind in _PLACES and own and own[0]["type"] == kind:
                yield own.pop(0)
    yield from own


def _block(block: Content) -> dict[str, Any]:
    if isinstance(block, ImageContent):
        return {"type": "input_image", "image_url": block.url, "detail": block.detail}
    return {"type": "input_text", "text": plain((block,))}


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    return {
        "type": "function",
        "name": definition.name,
        "description": definition.description,
        "parameters": msgspec.json.decode(definition.parameters),
        "strict": False,
    }


async def _gather(stream: Any, watch: Watch, patience: float) -> Any:
    """Show a stream as it comes, and return the response that ends it; otherwise like `follow`."""
    whole = None

    def see(event: Any) -> None:
        nonlocal whole
        match str(event.type.value if hasattr(event.type, "value") else event.type):
            case "response.output_text.delta":
                watch.show("text", event.delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                watch.show("reasoning", event.delta)
            case "response.completed" | "response.incomplete" | "response.failed":
                whole = event.response
            case _:
                pass

    await follow(stream, see, patience, stream.response.aclose)
    if whole is None:
        raise ModelUnavailable("the model's answer was cut before its end")
    return whole


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    content: list[_Part] | None = None
    summary: list[_Part] | None = None
    call_id: Any = None
    name: Any = None
    arguments: Any = None


class _Details(msgspec.Struct):
    cached_tokens: Tokens | None = None
    reasoning_tokens: Tokens | None = None


class _Usage(msgspec.Struct):
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Failure(msgspec.Struct):
    message: Any = None
    code: Any = None
    reason: str | None = None


class _Response(msgspec.Struct):
    id: Any = None
    status: str | None = None
    error: _Failure | None = None
    incomplete_details: _Failure | None = None
    output: list[dict[str, Any]] | None = None
    usage: Any = None


def reply_of(whole: dict[str, Any], llm: LLM, key: str = "its key") -> ModelReply:
    """Return the reply in a response. Raises `ModelError`, and `msgspec.ValidationError` for an invalid response."""
    response = msgspec.convert(whole, _Response, strict=False)
    if response.status == "failed":
        failure = response.error or _Failure()
        said = " ".join(str(failure.message or failure.code or "it failed").split())
        raise refusal(llm, STATUSES.get(str(failure.code), 0), said, f"{said} {failure.code}", key)
    text: list[str] = []
    summary: list[str] = []
    calls: list[ToolCall] = []
    output = response.output or []
    for item in msgspec.convert(output, list[_Item], strict=False):
        match item.type:
            case "message":
                for part in item.content or ():
                    if part.type == "refusal":
                        raise ContentRefused(f"{llm.model!r} refused to answer ({part.refusal})")
                    text.append(part.text or "")
            case "function_call":
                calls.append(_call(item))
            case "reasoning":
                summary.extend(part.text or "" for part in item.summary or ())
            case _:
                pass
    order = _order(output, llm)
    why = response.incomplete_details.reason if response.incomplete_details is not None else None
    if why == "content_filter" and not any(text) and not calls:
        raise ContentRefused(f"the provider of {llm.model!r} held back the answer, by its filter of content")
    return ModelReply(
        text="".join(text),
        tool_calls=tuple(calls),
        reasoning="\n".join(summary),
        thinking=Thinking(llm.model, msgspec.Raw(msgspec.json.encode(order))) if order else None,
        response_id=str(response.id or new_id()),
        usage=_used(counted(response.usage, _Usage) or _Usage()),
        finish_reason={"max_output_tokens": "length"}.get(why or "", why or ("tool_calls" if calls else "stop")),
    )


def _call(item: _Item) -> ToolCall:
    given = item.arguments if item.arguments is not None else ""
    arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    return ToolCall(str(item.call_id or new_id()), "" if item.name is None else str(item.name), arguments)


def _used(usage: _Usage) -> Usage:
    read, thought = usage.input_tokens_details or _Details(), usage.output_tokens_details or _Details()
    return Usage(
        prompt_tokens=usage.input_tokens or 0,
        completion_tokens=usage.output_tokens or 0,
        cache_read_tokens=read.cached_tokens or 0,
        reasoning_tokens=thought.reasoning_tokens or 0,
    )


def _order(output: list[dict[str, Any]], llm: LLM) -> list[dict[str, Any]]:
    """Return the reasoning to send back, with the positions of the items that it led to; empty if there is none.

    The provider does not store the reasoning, so it must be sent in full, and can only be sent if it is encrypted.
    """
    if not llm.encrypted_reasoning or not any(item.get("encrypted_content") for item in output):
        return []
    kept: list[dict[str, Any]] = []
    for item in output:
        if item.get("type") == "reasoning":
            kept.append({name: value for name, value in item.items() if name != "status"})
        elif item.get("type") in _PLACES:
            kept.append({"type": item["type"]})
    return kept

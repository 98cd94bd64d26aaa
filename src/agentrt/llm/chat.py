"""Chat completions, as litellm offers them for every provider. (Checked against litellm 1.106.)"""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import msgspec

from ..context.messages import ToolCall
from ..context.replies import ModelReply
from ..errors import ContentRefused, ModelUnavailable
from ..ids import new_id
from ..protocols import ModelRequest, Watch
from ..specs import LLM, Capabilities, Thinking
from ..usage import Usage
from .streams import follow
from .thinking_room import LEAST_THINKING, ROOM_FOR_EFFORT, unthought, wants
from .wire import wire_messages, wire_tool

_PLACEHOLDER = {"role": "user", "content": "-"}
"""A placeholder for litellm in place of messages that are written into the body directly."""


async def complete(
    litellm: ModuleType, request: ModelRequest, provider: str, known: Capabilities, given: dict[str, Any], watch: Watch
) -> ModelReply:
    """Make one call; `given` has the address and the credentials. Raises what litellm raises, or `ModelError`."""
    llm = request.one
    messages = wire_messages(request.messages, llm, marks=known.cache_marks and llm.caching_prompt)
    thinks = wants(llm) and not (known.cache_marks and unthought(messages) and not _adapts(litellm, llm))
    if wants(llm) and not thinks:
        for message in messages:
            message.pop("thinking_blocks", None)
    settings = _settings(llm, known, given.pop("max_output_tokens"), thinks)
    tools = [wire_tool(definition) for definition in request.tools] or None
    body = _body(litellm, llm, provider, messages)
    response = await litellm.acompletion(**({"tools": tools, "drop_params": True} | given | settings | body))
    if llm.stream:
        response = await _gather(litellm, response, messages, watch, llm.timeout)
    return _reply(response, llm)


def _body(litellm: ModuleType, llm: LLM, provider: str, messages: list[Any]) -> dict[str, Any]:
    """Return the messages and `LLM.extra_body`, in the form in which litellm passes them on."""
    if provider == "anthropic":  # its body gets what litellm does not know, or is told to leave alone
        alone = {"allowed_openai_params": [*llm.extra_body]} if llm.extra_body else {}
        return {"messages": messages} | alone | llm.extra_body
    if not _untouched(litellm, llm, provider):
        return {"messages": messages, "extra_body": llm.extra_body or None}
    # OpenAI's SDK looks at each member of each message, on the loop: 0.2 ms a message
    whole = [{name: value for name, value in message.items() if value is not None} for message in messages]
    return {"messages": [_PLACEHOLDER], "extra_body": {"messages": whole} | llm.extra_body}


def _untouched(litellm: ModuleType, llm: LLM, provider: str) -> bool:
    """Return whether litellm passes the messages to OpenAI's SDK unchanged.

    It changes those of some models of the o series, and calls Responses instead of chat for some others.
    """
    if provider != "openai":
        return False
    name = llm.model.removeprefix("openai/")
    form = litellm.utils.ProviderConfigManager.get_provider_chat_config(name, litellm.LlmProviders.OPENAI)
    if isinstance(form, litellm.OpenAIOSeriesConfig | litellm.OpenAIGPT5Config):
        return False
    info, _ = litellm.main.responses_api_bridge_check(name, provider, api_base=llm.base_url)
    return bool(info.get("mode") != "responses")


def _adapts(litellm: ModuleType, llm: LLM) -> bool:
    """Return whether the model decides for itself when it thinks, so that thinking can be requested at any time."""
    return llm.thinking_budget is None and bool(litellm.get_model_info(llm.model).get("supports_adaptive_thinking"))


def _settings(llm: LLM, known: Capabilities, most: int | None, thinks: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "temperature": llm.temperature,
        "top_p": llm.top_p,
        "top_k": llm.top_k,
        "seed": llm.seed,
        "max_tokens": most,
        "reasoning_effort": llm.reasoning_effort if thinks or not wants(llm) else None,
        "stream_options": {"include_usage": True} if llm.stream else None,
    }
    if thinks and (llm.thinking_budget is not None or known.cache_marks):
        settings |= _thinking(llm, known, most)
    return {name: value for name, value in settings.items() if value is not None}


def _thinking(llm: LLM, known: Capabilities, most: int | None) -> dict[str, Any]:
    """Return the settings of a model whose thinking has a token budget: room for the answer, and no temperature."""
    if llm.thinking_budget is None:
        thinks = most is None or most >= ROOM_FOR_EFFORT[llm.reasoning_effort or "high"]
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
    """Show a stream as it comes, and return it as a whole; otherwise like `follow`."""
    chunks = _Chunks()
    stream.messages = messages  # it counts their tokens, where the provider does not say how many

    def see(chunk: Any) -> None:
        chunks.add(chunk)
        if chunk.choices:
            delta = chunk.choices[0].delta
            if piece := getattr(delta, "reasoning_content", None):
                watch.show("reasoning", piece)
            if delta.content:
                watch.show("text", delta.content)

    await follow(stream, see, patience, stream.aclose)
    ended = stream.received_finish_reason or stream.intermittent_finish_reason  # litellm makes one up in the chunks
    whole = litellm.stream_chunk_builder(chunks.kept(), messages=messages) if ended else None
    if whole is None:
        raise ModelUnavailable("the model's answer was cut before its end")
    return whole


class _Chunks:
    """The chunks of a stream. Chunks that only continue a text are joined here, because litellm joins them slowly."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._name = ""
        """The field of the text that the last chunk continues; empty if it does something else."""
        self._text: list[str] = []
        self._called = set[int]()

    def add(self, chunk: Any) -> None:
        """Add the next chunk; a call without an id is given one, since litellm would drop it."""
        for call in (getattr(chunk.choices[0].delta, "tool_calls", None) or ()) if chunk.choices else ():
            if not call.id and call.index not in self._called and call.function.name:
                call.id = new_id()
            self._called.add(call.index)
        name, piece = _goes_on(chunk)
        if not name or name != self._name:
            self._join()
            self._kept.append(chunk)
            self._name = name
        self._text.append(piece)

    def kept(self) -> list[Any]:
        """Return all chunks."""
        self._join()
        return self._kept

    def _join(self) -> None:
        if len(self._text) > 1:
            whole = self._kept[-1] = copy.deepcopy(self._kept[-1])  # litellm has its own use for the chunk
            setattr(whole.choices[0].delta, self._name, "".join(self._text))
        self._text.clear()


def _goes_on(chunk: Any) -> tuple[str, str]:
    """Return the name of the text that a chunk continues, and its continuation; empty if it contains anything else."""
    if len(chunk.choices) == 1 and chunk.choices[0].finish_reason is None and not getattr(chunk, "usage", None):
        match [(name, value) for name, value in chunk.choices[0].delta if value]:
            case [("content" | "reasoning_content" as name, str(piece))]:
                return name, piece
    return "", ""


def _reply(response: Any, llm: LLM) -> ModelReply:
    choice = response.choices[0]
    message = choice.message
    calls = tuple(
        ToolCall(str(call.id or new_id()), str(call.function.name or ""), call.function.arguments or "")
        for call in message.tool_calls or ()
    )
    reason = choice.finish_reason or "stop"
    if reason in ("content_filter", "refusal") and not message.content and not calls:
        raise ContentRefused(f"{llm.model!r} refused to answer, or its provider held back the answer")
    blocks = getattr(message, "thinking_blocks", None)
    return ModelReply(
        text=message.content or "",
        tool_calls=calls,
        reasoning=getattr(message, "reasoning_content", None) or "",
        thinking=Thinking(llm.model, msgspec.Raw(msgspec.json.encode(blocks))) if blocks else None,
        response_id=str(response.id or new_id()),
        usage=_usage(getattr(response, "usage", None)),
        finish_reason=reason,
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

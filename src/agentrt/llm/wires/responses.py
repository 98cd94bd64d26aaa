"""OpenAI's Responses: the full history is sent each time, and nothing is stored at the provider.

Source: the API reference of OpenAI, "Create a model response" and "Streaming events".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ...context.messages import Message
from ...context.replies import ModelReply
from ...protocols import Watch
from .. import responses
from .format import Asked, Sent, cut, error_in, estimated, read


class OpenAIResponses:
    """The `Format` of Responses."""

    def sent(self, asked: Asked) -> Sent:
        """Return a `POST /responses`."""
        request, llm = asked.request, asked.request.one

        def encode(message: Message) -> bytes:
            return msgspec.json.encode([*responses.items([message], llm)])[1:-1]

        said = filter(None, asked.encoded(responses.spoken(request.messages), encode, str(llm.encrypted_reasoning)))
        body = {
            "model": asked.name,
            **responses.asked_for(replace(request, messages=_system(request.messages)), asked.known),
            "input": msgspec.Raw(b"[" + b",".join(said) + b"]"),
            "stream": llm.stream or None,
            "max_output_tokens": asked.most,
            "prompt_cache_key": asked.cache_key,
            **llm.extra_body,
        }
        return Sent(
            "/responses", msgspec.json.encode({name: value for name, value in body.items() if value is not None})
        )

    def reader(self, asked: Asked, watch: Watch) -> ResponsesReader:
        """Return a reader for a `response`, or for its events."""
        return ResponsesReader(asked, watch)


def _system(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role == "system"]


class _Event(msgspec.Struct):
    type: str = ""
    delta: Any = None
    item: dict[str, Any] | None = None
    response: dict[str, Any] | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Event)
_whole = msgspec.json.Decoder(Any)


class ResponsesReader:
    """The `Reader` of Responses."""

    def __init__(self, asked: Asked, watch: Watch) -> None:
        self._asked, self._llm, self._watch = asked, asked.request.one, watch
        named = "api_key" if self._llm.api_key is not None else self._llm.api_key_env
        self._key = named or next(iter(asked.provider.keys), "its key")
        self._response: dict[str, Any] | None = None
        self._items: list[dict[str, Any]] = []

    @property
    def ended(self) -> bool:
        return self._response is not None

    def take(self, data: bytes) -> bool:
        if data == b"[DONE]":
            return True
        event = read(_decoder, data)
        match event.type:
            case "response.output_text.delta":
                self._watch.show("text", str(event.delta))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._watch.show("reasoning", str(event.delta))
            case "response.output_item.done" if event.item is not None:
                self._items.append(event.item)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._response = event.response
                if event.response is not None and not event.response.get("output"):  # some send it only in events
                    self._response = event.response | {"output": self._items}
                return True
            case kind if kind in ("error", "") or event.error is not None:
                raise error_in(data)
            case _:
                pass
        return False

    def whole(self, data: bytes) -> None:
        found: Any = read(_whole, data)
        if not isinstance(found, dict) or "output" not in found:
            raise error_in(data)
        self._response = found

    def reply(self) -> ModelReply:
        if self._response is None:
            raise cut()
        reply = responses.reply_of(self._response, self._llm, self._key)
        if reply.usage.prompt_tokens or reply.usage.completion_tokens:
            return reply
        written = (reply.text, reply.reasoning, *(call.arguments for call in reply.tool_calls))
        return replace(reply, usage=estimated(self._asked, *written))

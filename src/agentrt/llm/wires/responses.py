"""OpenAI's Responses: the whole history is sent each time, and nothing is stored there.

Source: the API reference of OpenAI, "Create a model response" and "Streaming events".
"""

from __future__ import annotations

from typing import Any

import msgspec

from ...context.replies import ModelReply
from ...protocols import Watch
from .. import responses
from .format import Asked, Sent, cut, error_in


class OpenAIResponses:
    """A `Format`."""

    def sent(self, asked: Asked) -> Sent:
        """`POST /responses`."""
        llm = asked.request.one
        body = {
            "model": asked.name,
            **responses.asked_for(asked.request, asked.known),
            "stream": llm.stream or None,
            "max_output_tokens": asked.most,
            "prompt_cache_key": asked.cache_key,
            **llm.extra_body,
        }
        return Sent(
            "/responses", msgspec.json.encode({name: value for name, value in body.items() if value is not None})
        )

    def reader(self, asked: Asked, watch: Watch) -> ResponsesReader:
        """One for a `response`, or for its events."""
        return ResponsesReader(asked, watch)


class _Event(msgspec.Struct):
    type: str = ""
    delta: Any = None
    response: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Event).decode


class ResponsesReader:
    """A `Reader`."""

    def __init__(self, asked: Asked, watch: Watch) -> None:
        self._llm, self._watch = asked.request.one, watch
        self._response: dict[str, Any] | None = None

    def take(self, data: bytes) -> bool:
        if data == b"[DONE]":
            return True
        event = _decode(data)
        match event.type:
            case "response.output_text.delta":
                self._watch.show("text", str(event.delta))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._watch.show("reasoning", str(event.delta))
            case "response.completed" | "response.incomplete" | "response.failed":
                self._response = event.response
                return True
            case "error" | "":
                raise error_in(data)
            case _:
                pass
        return False

    def whole(self, data: bytes) -> None:
        found = msgspec.json.decode(data)
        if not isinstance(found, dict) or "output" not in found:
            raise error_in(data)
        self._response = found

    def reply(self) -> ModelReply:
        if self._response is None:
            raise cut()
        return responses.reply_of(self._response, self._llm)

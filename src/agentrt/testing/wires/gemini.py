"""Google's Gemini: `POST /v1beta/models/NAME:generateContent`, or `:streamGenerateContent`."""

from __future__ import annotations

from typing import Any

import msgspec

from ...context.replies import ModelReply
from ...ids import new_id
from ..turns import Fault
from .seals import seal
from .wire import Answer, Frame, pieces, usage

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
_REASONS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}


class Gemini:
    """A `Wire`. Source: the API reference of Gemini, "Generating content"."""

    path = "/v1beta/models/{verb:.+}"

    def position(self, body: dict[str, Any]) -> int:
        """Turns of the model."""
        return sum(turn.get("role") == "model" for turn in body["contents"])

    def refusal(self, body: dict[str, Any]) -> Fault | None:
        """Calls without results, results without calls, or calls that are not signed, as Gemini 3 refuses them."""
        open_calls: list[str] = []
        for turn in body["contents"]:
            calls = [part["functionCall"]["name"] for part in turn["parts"] if "functionCall" in part]
            results = [part["functionResponse"]["name"] for part in turn["parts"] if "functionResponse" in part]
            if results != open_calls:
                return Fault(400, "the number of function response parts is not equal to that of function call parts")
            open_calls = calls
            first = next((part for part in turn["parts"] if "functionCall" in part), None)
            if first is not None and not first.get("thoughtSignature"):
                return Fault(400, "Function call is missing a thought_signature in functionCall parts")
        return None

    def answer(self, body: dict[str, Any], reply: ModelReply) -> Answer:
        """A `GenerateContentResponse`, and those of a stream."""
        said: list[dict[str, Any]] = [{"text": piece, "thought": True} for piece in pieces(reply.reasoning)]
        said += [{"text": piece} for piece in pieces(reply.text)]
        calls: list[dict[str, Any]] = [
            {"functionCall": {"name": call.name, "args": msgspec.json.decode(call.arguments or "{}")}}
            for call in reply.tool_calls
        ]
        if calls:
            calls[0]["thoughtSignature"] = seal(reply.tool_calls[0].name)
        head, used = {"responseId": new_id(), "modelVersion": "scripted"}, _usage(body, reply)
        reason = _REASONS.get(reply.finish_reason, "STOP")
        parts = [*said, *calls]
        end = {"candidates": [_candidate([], reason)], "usageMetadata": used, **head}
        frames = [Frame({"candidates": [_candidate([part])], **head}) for part in parts]
        whole = {"candidates": [_candidate(_joined(parts), reason)], "usageMetadata": used, **head}
        return Answer(whole, (*frames, Frame(end, closing=True)))

    def error(self, fault: Fault) -> dict[str, Any]:
        """`{"error": {"code", "message", "status"}}`, as in all of Google's interfaces."""
        status = fault.type or _STATUSES.get(fault.status, "INTERNAL")
        return {"error": {"code": fault.status, "message": fault.message, "status": status}}

    def failure(self, fault: Fault, begun: Answer, sent: int) -> tuple[Frame, ...]:
        """The error in place of a response."""
        return (Frame(self.error(fault)),)


def _candidate(parts: list[dict[str, Any]], reason: str | None = None) -> dict[str, Any]:
    ended = {} if reason is None else {"finishReason": reason}
    return {"content": {"role": "model", "parts": parts}, "index": 0, **ended}


def _joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts whose pieces of text are one."""
    joined: list[dict[str, Any]] = []
    for part in parts:
        if joined and "text" in part and "text" in joined[-1] and part.get("thought") == joined[-1].get("thought"):
            joined[-1] = {**joined[-1], "text": joined[-1]["text"] + part["text"]}
        else:
            joined.append(part)
    return joined


def _usage(body: dict[str, Any], reply: ModelReply) -> dict[str, Any]:
    used = usage([body.get("systemInstruction"), body["contents"]], reply)
    return {
        "promptTokenCount": used.prompt_tokens,
        "candidatesTokenCount": used.completion_tokens - used.reasoning_tokens,
        "thoughtsTokenCount": used.reasoning_tokens,
        "cachedContentTokenCount": used.cache_read_tokens,
        "totalTokenCount": used.total,
    }

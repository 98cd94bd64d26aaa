"""Google's Gemini, through `generateContent` and `streamGenerateContent`.

Source: the API reference of Gemini, "Generating content", "Function calling", "Thinking" and "Thought signatures".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from ...context.messages import Message, ToolCall
from ...context.replies import ModelReply
from ...ids import new_id
from ...protocols import Watch
from ...specs import LLM, Content, ImageContent, ToolDefinition
from ...specs.content import plain
from ...usage import Usage
from ..counts import Tokens, counted
from ..thinking_room import BUDGETS, wants
from .format import Asked, Sent, arguments_of, cut, error_in, read, reply_of

SIGNED = "gemini_signature"
"""The type of the blocks that are kept from an answer: the signature of its text, or of its call number `call`."""

UNSIGNED = "skip_thought_signature_validator"
"""Replaces the signature of a call that another model has made: Gemini 3 refuses a call without one."""

_OLD = re.compile(r"gemini-(1|2\.0)")
"""Models that do not think."""

_LEVELS = {"minimal": "low", "low": "low", "medium": "high", "high": "high", "xhigh": "high", "max": "high"}
"""The thinking levels of Gemini 3, by effort. All its models have these two levels."""

_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
_HELD_BACK = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY")


class GeminiContent:
    """The `Format` of Gemini."""

    def sent(self, asked: Asked) -> Sent:
        """Return a `POST /models/NAME:streamGenerateContent`, or `generateContent` without streaming."""
        request, llm = asked.request, asked.request.one
        system = [plain(message.content) for message in request.messages if message.role == "system"]
        body = {
            "contents": list(_turns((m for m in request.messages if m.role != "system"), llm.model)),
            "systemInstruction": {"parts": [{"text": text} for text in system]} if system else None,
            "tools": [{"functionDeclarations": [*map(_tool, request.tools)]}] if request.tools else None,
            "generationConfig": _settings(llm, asked.most) or None,
            **llm.extra_body,
        }
        verb = "streamGenerateContent?alt=sse" if llm.stream else "generateContent"
        whole = {name: value for name, value in body.items() if value is not None}
        return Sent(f"/models/{quote(asked.name)}:{verb}", msgspec.json.encode(whole))

    def reader(self, asked: Asked, watch: Watch) -> GeminiReader:
        """Return a reader for a response, or for the responses of a stream."""
        return GeminiReader(asked, watch)


def _settings(llm: LLM, most: int | None) -> dict[str, Any]:
    settings = {
        "temperature": llm.temperature,
        "topP": llm.top_p,
        "topK": llm.top_k,
        "seed": llm.seed,
        "maxOutputTokens": most,
        "thinkingConfig": _thinking(llm),
    }
    return {name: value for name, value in settings.items() if value is not None}


def _thinking(llm: LLM) -> dict[str, Any] | None:
    if llm.thinking_budget is not None:
        return {"thinkingBudget": llm.thinking_budget, "includeThoughts": True}
    if not wants(llm):
        return {"thinkingBudget": 0} if llm.reasoning_effort == "none" and "2.5-flash" in llm.model else None
    effort = llm.reasoning_effort or "high"
    if "gemini-2.5" in llm.model:
        return {"thinkingBudget": BUDGETS[effort], "includeThoughts": True}
    return None if _OLD.search(llm.model) else {"thinkingLevel": _LEVELS[effort], "includeThoughts": True}


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    schema = msgspec.json.decode(definition.parameters)
    return {"name": definition.name, "description": definition.description, "parametersJsonSchema": schema}


def _turns(messages: Iterable[Message], model: str) -> Iterator[dict[str, Any]]:
    """Yield the messages grouped by turns. The results of calls belong to the user, and name the tool."""
    names: dict[str, str] = {}
    held: dict[str, Any] | None = None
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls}
        role = "model" if message.role == "assistant" else "user"
        parts = [*_said(message, model)] if role == "model" else [*_heard(message, names)]
        if held is not None and held["role"] == role:
            held["parts"] += parts
            continue
        if held is not None and held["parts"]:
            yield held
        held = {"role": role, "parts": parts}
    if held is not None and held["parts"]:
        yield held


def _said(message: Message, model: str) -> Iterator[dict[str, Any]]:
    own = message.thinking is not None and message.thinking.model == model
    kept = msgspec.json.decode(message.thinking.blocks) if own and message.thinking is not None else []
    signed = {block.get("call"): block["signature"] for block in kept if block.get("type") == SIGNED}
    if text := plain(message.content):
        yield {"text": text, **_signature(signed.get(None))}
    for number, call in enumerate(message.tool_calls):
        first = UNSIGNED if not signed and number == 0 and "gemini-2" not in model else None
        made = {"name": call.name, "args": arguments_of(call.arguments)}
        yield {"functionCall": made, **_signature(signed.get(number, first))}


def _signature(signature: str | None) -> dict[str, str]:
    return {} if signature is None else {"thoughtSignature": signature}


def _heard(message: Message, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        name = names.get(message.tool_call_id or "", "unknown")
        yield {"functionResponse": {"name": name, "response": {"result": plain(message.content)}}}
        return
    yield from map(_part, (block for block in message.content if isinstance(block, ImageContent) or plain((block,))))


def _part(block: Content) -> dict[str, Any]:
    if not isinstance(block, ImageContent):
        return {"text": plain((block,))}
    head, comma, data = block.url.partition(",")
    if not comma or not head.startswith("data:"):
        return {"fileData": {"fileUri": block.url}}
    return {"inlineData": {"mimeType": head.removeprefix("data:").partition(";")[0], "data": data}}


class _Called(msgspec.Struct):
    name: str = ""
    args: Any = None
    id: str | None = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: _Called | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: Tokens = 0
    candidates_token_count: Tokens = 0
    thoughts_token_count: Tokens = 0
    cached_content_token_count: Tokens = 0
    tool_use_prompt_token_count: Tokens = 0
    total_token_count: Tokens = 0


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Response(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: Any = None
    prompt_feedback: _Feedback | None = None
    response_id: str | None = None
    error: msgspec.Raw = msgspec.Raw(b"null")


_decoder = msgspec.json.Decoder(_Response, strict=False)


class GeminiReader:
    """The `Reader` of Gemini. A stream has no end marker: it ends when the server ends the answer."""

    def __init__(self, asked: Asked, watch: Watch) -> None:
        self._asked, self._llm, self._watch = asked, asked.request.one, watch
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._signed: list[dict[str, Any]] = []
        self._id = self._reason = ""
        self._usage = _Usage()

    @property
    def ended(self) -> bool:
        """Whether the reason for the end has come; the usage may still follow."""
        return bool(self._reason)

    def take(self, data: bytes) -> bool:
        response = read(_decoder, data)
        if bytes(response.error) != b"null":
            raise error_in(data)
        if response.prompt_feedback is not None and response.prompt_feedback.block_reason:
            self._reason = "SAFETY"
        self._id = response.response_id or self._id
        self._usage = counted(response.usage_metadata, _Usage) or self._usage
        for candidate in (response.candidates or ())[:1]:
            for part in (candidate.content.parts if candidate.content is not None else None) or ():
                self._take(part)
            self._reason = candidate.finish_reason or self._reason
        return False

    def whole(self, data: bytes) -> None:
        self.take(data)
        if not self._reason:
            raise error_in(data)

    def _take(self, part: _Part) -> None:
        if part.function_call is not None:
            called = part.function_call
            arguments = msgspec.json.encode({} if called.args is None else called.args).decode()
            self._calls.append(ToolCall(called.id or new_id(), called.name, arguments))
        elif part.text:
            (self._reasoning if part.thought else self._text).append(part.text)
            if self._llm.stream:
                self._watch.show("reasoning" if part.thought else "text", part.text)
        if part.thought_signature is not None:
            number = {"call": len(self._calls) - 1} if part.function_call is not None else {}
            self._signed.append({"type": SIGNED, "signature": part.thought_signature, **number})

    def reply(self) -> ModelReply:
        if not self._reason:
            raise cut()
        return reply_of(
            self._asked,
            text="".join(self._text),
            calls=self._calls,
            reasoning="".join(self._reasoning),
            reason="content_filter" if self._reason in _HELD_BACK else _REASONS.get(self._reason, "stop"),
            id=self._id,
            usage=self._used(),
            thoughts=self._signed,
        )

    def _used(self) -> Usage | None:
        """The usage, or None if the provider does not report it."""
        used = self._usage
        if not (used.prompt_token_count or used.candidates_token_count):
            return None
        prompt = used.prompt_token_count + used.tool_use_prompt_token_count
        completion = used.candidates_token_count + used.thoughts_token_count
        if used.total_token_count:  # some servers count thoughts among the candidates' tokens; the total has them once
            completion = max(used.total_token_count - prompt, used.candidates_token_count)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cache_read_tokens=used.cached_content_token_count,
            reasoning_tokens=used.thoughts_token_count,
        )

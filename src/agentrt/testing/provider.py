"""`ScriptedProvider`: an HTTP server on loopback that speaks the chat-completions wire format of OpenAI.

Only its words are given: HTTP, streaming, tool calls, usage, errors and closed connections are real.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, TypeAlias

import anyio
import msgspec
from aiohttp import web

from ..context.replies import ModelReply
from ..events import new_id
from ..specs import LLM


class Fault(msgspec.Struct, frozen=True):
    """A turn that answers with an HTTP error."""

    status: int
    message: str = "the provider failed"
    code: str | None = None
    headers: dict[str, str] = {}


class Stall(msgspec.Struct, frozen=True):
    """A turn that sends `text` and then nothing, for `seconds` or until the client goes."""

    text: str = ""
    seconds: float = 60.0


class Cut(msgspec.Struct, frozen=True):
    """A turn that sends `text` and then drops the connection."""

    text: str = ""


Turn: TypeAlias = ModelReply | Fault | Stall | Cut
Script: TypeAlias = Callable[[dict[str, Any]], Turn]


class ScriptedProvider:
    """An async context manager; `llm()` gives the configuration that reaches it.

    From a list, the turn is chosen by how many assistant messages the request has, so a resumed conversation
    goes on where it was. From a function, by the request's JSON. It waits `pace` seconds between streamed pieces.
    """

    def __init__(self, turns: Iterable[Turn] | Script, *, pace: float = 0.0) -> None:
        self._script: Script = turns if callable(turns) else _by_position(list(turns))
        self._pace = pace
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.active = 0
        """Requests that are being answered."""
        self.dropped = 0
        """Requests whose client went before the answer ended."""

    async def __aenter__(self) -> ScriptedProvider:
        app = web.Application(client_max_size=256 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._runner.cleanup()

    def llm(self, **changes: Any) -> LLM:
        """A model that this provider answers for, with prices so that cost is counted."""
        given: dict[str, Any] = {
            "model": "openai/scripted",
            "base_url": self.base_url,
            "input_cost_per_token": 1e-6,
            "output_cost_per_token": 4e-6,
            "num_retries": 0,
        }
        return LLM(**(given | changes))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = msgspec.json.decode(await request.read())
        self.requests.append(body)
        self.keys.append(request.headers.get("Authorization", ""))
        self.active += 1
        try:
            turn = self._script(body)
            if isinstance(turn, Fault):
                return _fault(turn)
            if body.get("stream"):
                return await self._stream(request, body, turn)
            return web.json_response(await self._whole(request, body, turn))
        except (anyio.get_cancelled_exc_class(), ConnectionResetError):
            self.dropped += 1
            raise
        finally:
            self.active -= 1

    async def _stream(
        self, request: web.Request, body: dict[str, Any], turn: ModelReply | Stall | Cut
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        chunks = _chunks(body, turn) if isinstance(turn, ModelReply) else _text_chunks(_head(body), turn.text)
        for chunk in chunks:
            await response.write(b"data: " + msgspec.json.encode(chunk) + b"\n\n")
            await anyio.sleep(self._pace)
        await _misbehave(request, turn)
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _whole(
        self, request: web.Request, body: dict[str, Any], turn: ModelReply | Stall | Cut
    ) -> dict[str, Any]:
        await _misbehave(request, turn)
        reply = turn if isinstance(turn, ModelReply) else ModelReply(text=turn.text)
        message = {"role": "assistant", "content": reply.text or None, "tool_calls": _tool_calls(reply) or None}
        choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
        return {**_head(body), "object": "chat.completion", "choices": [choice], "usage": _usage(body, reply)}


async def _misbehave(request: web.Request, turn: ModelReply | Stall | Cut) -> None:
    if isinstance(turn, Stall):
        await anyio.sleep(turn.seconds)
    if isinstance(turn, Cut) and request.transport is not None:
        request.transport.abort()


def _by_position(turns: list[Turn]) -> Script:
    def script(body: dict[str, Any]) -> Turn:
        position = sum(message["role"] == "assistant" for message in body["messages"])
        if position < len(turns):
            turn: Turn = turns[position]
            return turn
        return Fault(400, f"the script has no turn {position + 1}")

    return script


def _head(body: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"chatcmpl-{new_id()}", "created": int(time.time()), "model": body["model"]}


def _chunk(head: dict[str, Any], delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {**head, "object": "chat.completion.chunk", "choices": [choice]}


def _text_chunks(head: dict[str, Any], text: str) -> Iterator[dict[str, Any]]:
    yield _chunk(head, {"role": "assistant", "content": ""})
    for place in range(0, len(text), 12):
        yield _chunk(head, {"content": text[place : place + 12]})


def _chunks(body: dict[str, Any], reply: ModelReply) -> Iterator[dict[str, Any]]:
    head = _head(body)
    yield from _text_chunks(head, reply.text)
    for call in _tool_calls(reply):
        given = call["function"]["arguments"]
        yield _chunk(head, {"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]})
        for place in range(0, len(given), 64):
            piece = {"index": call["index"], "function": {"arguments": given[place : place + 64]}}
            yield _chunk(head, {"tool_calls": [piece]})
    yield _chunk(head, {}, _reason(reply))
    yield {**head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(body, reply)}


def _tool_calls(reply: ModelReply) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for index, call in enumerate(reply.tool_calls)
    ]


def _reason(reply: ModelReply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _usage(body: dict[str, Any], reply: ModelReply) -> dict[str, int]:
    """Four characters count as a token."""
    prompt = len(msgspec.json.encode(body["messages"])) // 4
    completion = (len(reply.text) + sum(len(call.arguments) for call in reply.tool_calls)) // 4 + 1
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _fault(fault: Fault) -> web.Response:
    kind = "server_error" if fault.status >= 500 else "invalid_request_error"
    error = {"message": fault.message, "type": kind, "code": fault.code}
    return web.json_response({"error": error}, status=fault.status, headers=fault.headers)

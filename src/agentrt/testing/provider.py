"""`ScriptedProvider`: an HTTP server on loopback that speaks the wire formats of OpenAI and Anthropic.

Only its replies are scripted: HTTP, streaming, tool calls, usage, errors and closed connections are real. Like the real
providers, it refuses an invalid conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, TypeAlias

import anyio
import msgspec
from aiohttp import web

from ..context.replies import ModelReply
from ..specs import LLM
from .turns import Broken, Cut, Fault, Stall, Turn
from .wires import Anthropic, Chat, Frame, Gemini, Responses, Wire, transcriptions

Script: TypeAlias = Callable[[dict[str, Any]], Turn]

MP3_BITS = 32_000
"""Bits per second of the MP3s that are sent."""

_PAGE = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body>\r\n</html>\r\n"


class ScriptedProvider:
    """An async context manager; `llm()`, `responses_llm()`, `anthropic_llm()` and `gemini_llm()` return models that use
    it.

    A list of turns is indexed by the number of model turns in the request, so a resumed conversation continues where it
    was. A function gets the request's JSON. The server waits `pace` seconds between streamed pieces. It listens on
    `port` of 127.0.0.1; 0 is any free port. Sound to transcribe gets the `transcripts` in their order.
    """

    def __init__(
        self,
        turns: Iterable[Turn] | Script,
        *,
        pace: float = 0.0,
        port: int = 0,
        transcripts: Iterable[ModelReply | Fault] = (),
    ) -> None:
        self._script = turns if callable(turns) else None
        self._turns: tuple[Turn, ...] = () if callable(turns) else tuple(turns)
        self._pace = pace
        self._port = port
        known = [turn for turn in self._turns if isinstance(turn, ModelReply)]
        self._wires: tuple[Wire, ...] = (Chat(), Responses(known), Anthropic(known), Gemini())
        self._transcripts = iter(transcripts)
        self.sounds: list[bytes] = []
        """The files that were sent for transcription."""
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str] = []
        self.refused: list[str] = []
        """The faults of the requests that were refused."""
        self.active = 0
        """Number of requests that are being answered."""
        self.dropped = 0
        """Number of requests whose client left before the answer ended."""
        self.connections = 0
        """Number of accepted TCP connections."""

    async def __aenter__(self) -> ScriptedProvider:
        app = web.Application(client_max_size=256 * 1024 * 1024)
        for wire in self._wires:
            app.router.add_post(wire.path, partial(self._handle, wire))
        app.router.add_post(transcriptions.PATH, self._transcribe)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        self._listener = await asyncio.get_running_loop().create_server(self._accept, "127.0.0.1", self._port)
        self.url = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"
        self.base_url = f"{self.url}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            self._listener.close()
            await self._runner.cleanup()

    def llm(self, **changes: Any) -> LLM:
        """Return a model of this provider for chat completions, with prices so that costs are counted."""
        given: dict[str, Any] = {
            "model": "openai/scripted",
            "base_url": self.base_url,
            "input_cost_per_token": 1e-6,
            "output_cost_per_token": 4e-6,
            "num_retries": 0,
        }
        return LLM(**(given | changes))

    def responses_llm(self, **changes: Any) -> LLM:
        """Return the same for OpenAI's Responses."""
        return self.llm(**({"api": "responses"} | changes))

    def anthropic_llm(self, **changes: Any) -> LLM:
        """Return the same for Anthropic's messages."""
        return self.llm(**({"model": "anthropic/claude-opus-4-5", "base_url": self.url} | changes))

    def gemini_llm(self, **changes: Any) -> LLM:
        """Return the same for Gemini's content."""
        return self.llm(**({"model": "gemini/gemini-3-pro-preview", "base_url": f"{self.url}/v1beta"} | changes))

    def _accept(self) -> asyncio.BaseProtocol:
        self.connections += 1
        assert self._runner.server is not None
        return self._runner.server()

    async def _handle(self, wire: Wire, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = msgspec.json.decode(await request.read())
        if isinstance(wire, Gemini):  # which has both in the address
            name, _, verb = request.match_info["verb"].partition(":")
            body |= {"model": name, "stream": verb.startswith("stream")}
        self.requests.append(body)
        self.paths.append(request.path)
        self.keys.append(_key_in(request.headers))
        self.active += 1
        try:
            return await self._answer(wire, request, body)
        except (anyio.get_cancelled_exc_class(), ConnectionResetError):
            self.dropped += 1
            raise
        finally:
            self.active -= 1

    async def _transcribe(self, request: web.Request) -> web.StreamResponse:
        form = dict(await request.post())
        file = form.pop("file", None)
        name, sound = (file.filename, file.file.read()) if isinstance(file, web.FileField) else ("", b"")
        self.requests.append(form)
        self.paths.append(request.path)
        self.keys.append(request.headers.get("Authorization", ""))
        self.sounds.append(sound)
        turn = transcriptions.refusal(form, name, sound) or next(
            self._transcripts, Fault(400, "there is no transcript")
        )
        if isinstance(turn, Fault):
            return _error(Chat(), turn)
        return web.json_response(transcriptions.answer(form, turn, _seconds(sound)))

    async def _answer(self, wire: Wire, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        refusal = wire.refusal(body)
        if refusal is not None:
            self.refused.append(refusal.message)
            return _error(wire, refusal)
        turn = self._script(body) if self._script is not None else self._by_position(wire.position(body))
        streamed = bool(body.get("stream"))
        match turn:
            case Fault(after=after) if after is None or not streamed:
                return _error(wire, turn)
            case Broken(html=True):
                return web.Response(text=_PAGE, content_type="text/html")
            case _ if streamed:
                return await self._stream(wire, request, body, turn)
            case _:
                return await _whole(wire, request, body, turn)

    def _by_position(self, position: int) -> Turn:
        if position < len(self._turns):
            return self._turns[position]
        return Fault(400, f"the script has no turn {position + 1}")

    async def _stream(self, wire: Wire, request: web.Request, body: dict[str, Any], turn: Turn) -> web.StreamResponse:
        answer = wire.answer(body, _words(turn))
        opening = [*answer.frames] if isinstance(turn, ModelReply) else _opening(answer.frames)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        await self._send(response, opening)
        match turn:
            case Stall():
                await anyio.sleep(turn.seconds)
                await self._send(response, answer.frames[len(opening) :])
            case Cut():
                _drop(request)
            case Broken():
                await response.write(b'data: {"id": "broken", "choi\n\n')
            case Fault():
                await self._send(response, wire.failure(turn, answer, len(opening)))
        return response

    async def _send(self, response: web.StreamResponse, frames: Iterable[Frame]) -> None:
        for frame in frames:
            await response.write(frame.encode())
            await anyio.sleep(self._pace)


async def _whole(wire: Wire, request: web.Request, body: dict[str, Any], turn: Turn) -> web.StreamResponse:
    answer = msgspec.json.encode(wire.answer(body, _words(turn)).whole)
    if isinstance(turn, Stall):
        await anyio.sleep(turn.seconds)
    if isinstance(turn, Cut):
        _drop(request)
    if isinstance(turn, Broken):
        answer = answer[: len(answer) // 2]
    return web.Response(body=answer, content_type="application/json")


def _seconds(mp3: bytes) -> float:
    """Return the duration of an MP3 with constant bit rate, as a provider computes it that bills by the second."""
    return len(mp3) * 8 / MP3_BITS


def _key_in(headers: Mapping[str, str]) -> str:
    return next((headers[name] for name in ("Authorization", "x-api-key", "x-goog-api-key") if name in headers), "")


def _words(turn: Turn) -> ModelReply:
    match turn:
        case ModelReply():
            return turn
        case Fault():
            return ModelReply(text=turn.after or "")
        case _:
            return ModelReply(text=turn.text)


def _opening(frames: Iterable[Frame]) -> list[Frame]:
    """Return the frames before the end of the text."""
    opening: list[Frame] = []
    for frame in frames:
        if frame.closing:
            break
        opening.append(frame)
    return opening


def _drop(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _error(wire: Wire, fault: Fault) -> web.Response:
    body = msgspec.json.encode(wire.error(fault))
    return web.Response(body=body, status=fault.status, headers=fault.headers, content_type="application/json")

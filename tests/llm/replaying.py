"""`Replay`: a provider on the loopback that answers with given bytes, in given pieces, and ends as it is told."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from types import TracebackType
from typing import Any, Literal, Self

import anyio
import msgspec
from aiohttp import web

from agentrt.specs import LLM

STREAM = "text/event-stream"
JSON = "application/json"
MODELS = {"chat": "openai/any", "responses": "openai/any", "anthropic": "anthropic/any", "gemini": "gemini/any"}


class Replayed(msgspec.Struct, frozen=True):
    """An answer; `ending` is what follows on its last piece."""

    pieces: tuple[bytes, ...]
    status: int = 200
    kind: str = STREAM
    headers: dict[str, str] = {}
    ending: Literal["whole", "cut", "stall", "trickle", "endless"] = "whole"


def events(*sent: Any) -> bytes:
    """A stream of events with this data."""
    return b"".join(b"data: %s\n\n" % (one if isinstance(one, bytes) else msgspec.json.encode(one)) for one in sent)


def split(stream: bytes, places: Iterable[int]) -> tuple[bytes, ...]:
    """A stream in pieces, cut at these places."""
    cuts = sorted({0, len(stream), *(place % (len(stream) + 1) for place in places)})
    return tuple(stream[start:end] for start, end in pairwise(cuts))


class Replay:
    """Gives `answer` to every request, whatever it asks; `open` are the answers that nobody has ended."""

    def __init__(self, answer: Replayed | None = None) -> None:
        self.answer = answer or Replayed(())
        self.open = self.asked = 0
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections = set[Any]()
        self._app = web.Application()
        self._app.router.add_route("*", "/{path:.*}", self._answered)
        self._runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def llm(self, wire: str = "chat", **changes: Any) -> LLM:
        """The model that it answers for."""
        base = self.url if wire == "anthropic" else f"{self.url}/v1"
        given = {"input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6, "timeout": 20.0, **changes}
        api: Any = "responses" if wire == "responses" else "chat"
        return LLM(model=MODELS[wire], base_url=base, api=api, **given)

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        answer = self.answer
        self.asked += 1
        self.connections.add(request.transport)
        self.headers.append(dict(request.headers))
        self.bodies.append(msgspec.json.decode(await request.read() or b"{}"))
        response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.kind, **answer.headers})
        self.open += 1
        try:
            await response.prepare(request)
            for piece in answer.pieces:
                await response.write(piece)
                await anyio.lowlevel.checkpoint()
            await _end(answer, request, response)
        except ConnectionError:
            pass  # who asked has gone
        finally:
            self.open -= 1
        return response


async def _end(answer: Replayed, request: web.Request, response: web.StreamResponse) -> None:
    match answer.ending:
        case "cut":
            if request.transport is not None:
                request.transport.close()
        case "stall":
            while request.transport is not None and not request.transport.is_closing():
                await anyio.sleep(0.001)
        case "trickle":
            while True:
                await response.write(b": still here\n\n")
                await anyio.sleep(0.001)
        case "endless":
            while True:
                await response.write(answer.pieces[-1])
                await anyio.lowlevel.checkpoint()
        case _:
            pass

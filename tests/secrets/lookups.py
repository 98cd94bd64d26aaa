"""A server on this machine that secrets are looked up at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Self, TypeAlias

from aiohttp import web

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class LookupServer:
    """Answers with the next of `answers`, a body or a function, and the last of them from then on; notes who asked."""

    def __init__(self, *answers: str | Answer) -> None:
        self._answers = list(answers)
        self.requests: list[web.Request] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(web.Server(self._answer))
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)  # type: ignore[arg-type]
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return web.Response(text=answer) if isinstance(answer, str) else await answer(request)  # type: ignore[arg-type]

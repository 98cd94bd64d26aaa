"""The provider of `bench_model`: scripted, over each wire, in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

from agentrt import LLM
from agentrt.testing import ScriptedProvider, say

WIRES = ("chat", "responses", "anthropic")

SHORT = 10
"""Pieces of an answer that is not streamed, in which they are not told apart."""


def words(pieces: int) -> str:
    """What the provider says; no two pieces are the same, since litellm refuses a model that repeats itself."""
    return "".join(f"word {number:6} " for number in range(pieces))


def scripted(pieces: int, pace: float = 0.0) -> ScriptedProvider:
    """A provider that streams so many."""
    return ScriptedProvider(lambda body: say(words(pieces if body.get("stream") else SHORT)), pace=pace)


def model(provider: ScriptedProvider, wire: str, stream: bool) -> LLM:
    """A model that the provider answers for."""
    made = {"chat": provider.llm, "responses": provider.responses_llm, "anthropic": provider.anthropic_llm}[wire]
    return made(stream=stream)


def _provide(pipe: Connection, pieces: int, pace: float) -> None:
    async def serve() -> None:
        async with scripted(pieces, pace) as provider:
            pipe.send({(wire, stream): model(provider, wire, stream) for wire in WIRES for stream in (True, False)})
            await asyncio.to_thread(pipe.poll, None)  # until the other end is closed

    asyncio.run(serve())


@contextmanager
def provided(pieces: int, pace: float = 0.0) -> Iterator[dict[tuple[str, bool], LLM]]:
    """The models of a provider in another process, by wire and by whether they stream; it is ended at the end."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_provide, args=(there, pieces, pace), daemon=True)
    process.start()
    there.close()
    try:
        yield here.recv()
    finally:
        here.close()
        process.join(10)
        if process.is_alive():
            process.kill()

"""A program that hosts several conversations, sends messages in each, and says what is acknowledged or failed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from agentrt import LLM, Agent, Conversation, Runtime
from agentrt.errors import ConversationMissing, LogError
from agentrt.testing import ScriptedLLM, say

ATTEMPTS = 3
"""How often a conversation is asked again after it has failed."""

ENDED = "ended"
"""The last line of a process that lived to its end."""


def tell(*words: object) -> None:
    """Write a line in one write; `name seq` is an acknowledgement, `name failed why` a failure."""
    os.write(sys.stdout.fileno(), f"{' '.join(map(str, words))}\n".encode())


@asynccontextmanager
async def opened(runtime: Runtime, store: Path, name: str) -> AsyncIterator[Conversation]:
    """The conversation; it is begun when there is none."""
    try:
        async with Conversation(id=name, runtime=runtime) as conversation:
            yield conversation
    except ConversationMissing:
        agent = Agent(llm=LLM(model="scripted"), tools=(), system_prompt="Host.")
        async with Conversation(agent, store, id=name, runtime=runtime) as conversation:
            yield conversation


async def send(runtime: Runtime, store: Path, name: str, count: int, size: int) -> None:
    """Send messages one after the other; a failure is told, and then a few times more."""
    failures = 0
    try:
        async with opened(runtime, store, name) as conversation:
            for _ in range(count):
                try:
                    tell(name, (await conversation.send_message("x" * size)).seq)
                except LogError as error:
                    failures += 1
                    tell(name, "failed", error)
                if failures > ATTEMPTS:
                    break
    except LogError as error:
        tell(name, "failed", error)


async def host(store: Path, names: list[str], count: int, size: int, *, hold: bool) -> None:
    """All conversations side by side; with `hold` they stay open."""
    async with Runtime(store, client=ScriptedLLM(lambda request: say("Yes."))) as runtime:
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(send, runtime, store, name, count, size)
        if hold:
            async with opened(runtime, store, names[0]):
                tell("held")
                await anyio.sleep_forever()
    tell(ENDED)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--count", type=int, default=20, help="messages in each")
    parser.add_argument("--size", type=int, default=100, help="of a message, in bytes")
    parser.add_argument("--hold", action="store_true", help="hold the first conversation until killed")
    given = parser.parse_args()
    anyio.run(lambda: host(given.store, given.names, given.count, given.size, hold=given.hold))


if __name__ == "__main__":
    main()

"""`python -m tests.proofs.streaming_server DIRECTORY PORT`: a server to be killed, whose agents count by a tool."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import anyio.lowlevel

from agentrt import LLM, Agent, Runtime, tool
from agentrt.protocols import ModelRequest
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.testing.scripted import Turn

STEPS = 15


@tool
async def count(n: int) -> str:
    """Count."""
    await anyio.lowlevel.checkpoint()
    return f"{n}"


def counting(request: ModelRequest) -> Turn:
    """The next number; it knows where it is by what it sees."""
    done = sum(message.role == "tool" for message in request.messages)
    return finish(f"Counted to {done}.") if done >= STEPS else call("count", f"I count to {done + 1}.", n=done + 1)


TOKEN = "token-of-these-proofs"


async def main(directory: Path, port: int) -> None:
    """Serve until killed; say the address on standard output."""
    agent = Agent(llm=LLM(model="scripted/model"))
    settings = ServerSettings(
        port=port,
        token=TOKEN,
        workspaces=(directory,),
        agent=agent,
        resume_running=True,
        rate=None,
        max_requests=10_000,
        max_sockets=10_000,
    )
    runtime = Runtime(directory / "store", client=ScriptedLLM(counting, delay=0.02, keep=False), tools=[count])
    async with serving(create_app(runtime, settings), settings) as url:
        print(url, flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))

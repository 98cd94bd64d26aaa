"""`python -m tests.proofs.streaming_server DIRECTORY PORT`: a server to be killed, whose agents count by a tool."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel

from agentrt import LLM, Agent, Runtime, tool
from agentrt.protocols import ModelRequest
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.testing.scripted import Turn

ENOUGH = "enough"
"""The file in the directory that has the agents end."""


@tool
async def count(n: int) -> str:
    """Count."""
    await anyio.lowlevel.checkpoint()
    return f"{n}"


def counting(request: ModelRequest, enough: Path) -> Turn:
    """The next number, which the agent knows by what it sees; the end, where `enough` exists."""
    done = sum(message.role == "tool" for message in request.messages)
    return finish(f"Counted to {done}.") if enough.exists() else call("count", f"I count to {done + 1}.", n=done + 1)


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
    model = ScriptedLLM(partial(counting, enough=directory / ENOUGH), delay=0.02, keep=False)
    runtime = Runtime(directory / "store", client=model, tools=[count])
    async with serving(create_app(runtime, settings), settings) as url:
        print(url, flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))

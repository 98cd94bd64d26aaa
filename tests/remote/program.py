"""`python -m tests.remote.program DIRECTORY PORT`: a server to be killed, whose agent counts to a hundred by a tool."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from agentrt import Runtime, tool
from agentrt.protocols import ModelRequest
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.testing.scripted import Turn

STEPS = 100


@tool
async def count(n: int) -> str:
    """Count."""
    await anyio.sleep(0.005)
    return f"{n}"


def counting(request: ModelRequest) -> Turn:
    """The next number; it knows where it is by what it sees."""
    done = sum(message.role == "tool" for message in request.messages)
    return finish(f"Counted to {done}.") if done >= STEPS else call("count", n=done + 1)


async def main(directory: Path, port: int) -> None:
    """Serve until killed; say the address on standard output."""
    settings = ServerSettings(port=port, workspaces=(directory,), resume_running=True)
    runtime = Runtime(directory / "store", client=ScriptedLLM(counting), tools=[count])
    async with serving(create_app(runtime, settings), settings) as url:
        print(url, flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))

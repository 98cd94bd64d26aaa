"""`python -m tests.remote.program DIRECTORY PORT`: a server to be killed, whose agent counts to a hundred by a tool."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import anyio.lowlevel

from agentrt import Runtime, tool
from agentrt.protocols import ModelRequest
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.testing.scripted import Turn
from agentrt.tools import ToolType
from tests.remote.places import TOKEN

STEPS = 100

HELD = 30
"""Where the first process stops, to be killed."""


@tool
async def count(n: int) -> str:
    """Count."""
    await anyio.lowlevel.checkpoint()
    return f"{n}"


def count_until(last: int) -> ToolType:
    """Counting that does not come to an end."""

    @tool
    async def count(n: int) -> str:
        """Count."""
        if n == last:
            await anyio.sleep_forever()
        return f"{n}"

    return count


def counting(request: ModelRequest) -> Turn:
    """The next number; it knows where it is by what it sees."""
    done = sum(message.role == "tool" for message in request.messages)
    return finish(f"Counted to {done}.") if done >= STEPS else call("count", n=done + 1)


async def main(directory: Path, port: int) -> None:
    """Serve until killed; say the address on standard output. The first process, without a port, is held at a step."""
    tools = [count if port else count_until(HELD)]
    settings = ServerSettings(port=port, token=TOKEN, workspaces=(directory,), resume_running=True)
    runtime = Runtime(directory / "store", client=ScriptedLLM(counting), tools=tools)
    async with serving(create_app(runtime, settings), settings) as url:
        print(url, flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))

"""A server of the Model Context Protocol, made with the library: `python -m tests.mcp.server [PORT [sse]]`."""

from __future__ import annotations

import os
import sys

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from pydantic import BaseModel

from mcp import MCPError, UrlElicitationRequiredError

server = MCPServer("demo")
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(description=os.environ.get("WORDS", "Multiply two numbers."))
def multiply(a: int, b: int) -> int:
    return a * b


@server.tool()
def think(about: str) -> str:
    """Has the name of a tool that is built in."""
    return f"I think of {about}."


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


@server.tool()
def die() -> str:
    """End the process."""
    os._exit(3)


@server.tool()
def show() -> Image:
    """A picture."""
    return Image(data=PNG, format="png")


@server.tool()
def environment(name: str) -> str:
    """A variable of the server."""
    return os.environ.get(name, "(not set)")


@server.tool()
def process() -> int:
    """The number of the server's process."""
    return os.getpid()


@server.tool()
async def count(to: int, context: Context) -> str:
    """Count, and say how far it has come."""
    for n in range(1, to + 1):
        await context.report_progress(n, to, f"at {n}")
        await anyio.sleep(0)
    return "done"


class Colour(BaseModel):
    """What is asked."""

    colour: str


@server.tool()
async def choose(context: Context) -> str | InputRequiredResult:
    """Ask the person behind the agent for a colour."""
    if context.input_responses is None:
        form = ElicitRequestFormParams(message="Which colour?", requested_schema=Colour.model_json_schema())
        return InputRequiredResult(input_requests={"colour": ElicitRequest(params=form)})
    given = context.input_responses["colour"]
    assert isinstance(given, ElicitResult)
    return f"{given.action} {(given.content or {}).get('colour')}"


opened: list[str] = []


@server.tool()
async def pay() -> str:
    """Has a person open an address first."""
    if not opened:
        opened.append("asked")
        url = ElicitRequestURLParams(message="Pay first.", url="https://pay.example/1", elicitation_id="1")
        raise UrlElicitationRequiredError([url])
    return "paid"


@server.tool()
def refuse() -> str:
    """Refuses with a code that the library has, too."""
    raise MCPError(-32000, "the quota is used up")


@server.tool(name=os.environ.get("TOOL", "plainly"))
def by_name() -> str:
    """Has any name."""
    return "named"


@server.tool()
async def think_aloud(context: Context) -> str | InputRequiredResult:
    """Have the agent's own model say something."""
    if context.input_responses is None:
        said = SamplingMessage(role="user", content=TextContent(text="Say something."))
        asks = CreateMessageRequest(params=CreateMessageRequestParams(messages=[said], max_tokens=100))
        return InputRequiredResult(input_requests={"said": asks})
    given = context.input_responses["said"]
    assert isinstance(given, CreateMessageResult)
    return f"It says: {getattr(given.content, 'text', '')}"


@server.tool()
async def places(context: Context) -> str | InputRequiredResult:
    """The directories in which it may work, with a word to the log."""
    if context.input_responses is None:
        await context.info("asked for roots")
        return InputRequiredResult(input_requests={"roots": ListRootsRequest()})
    given = context.input_responses["roots"]
    assert isinstance(given, ListRootsResult)
    return " ".join(str(root.uri) for root in given.roots)


@server.tool()
async def grow(name: str, context: Context) -> str:
    """Have one more tool."""

    def added() -> str:
        """Was not there before."""
        return f"I am {name}."

    server.add_tool(added, name=name)
    await context.notify_tools_changed()
    return "grown"


@server.resource("notes://today")
def notes() -> str:
    """What is noted."""
    return "Buy milk."


@server.resource("notes://{day}")
def notes_of(day: str) -> str:
    """What is noted of a day."""
    return f"Nothing on {day}."


@server.prompt()
def review(path: str, depth: str = "1") -> str:
    """Ask for a review."""
    return f"Review {path} to the depth {depth}."


@server.tool()
def header(name: str, context: Context) -> str:
    """A header of the request."""
    return str((context.headers or {}).get(name))


@server.tool()
async def rest(seconds: float) -> str:
    """Answer after some seconds."""
    await anyio.sleep(seconds)
    return "rested"


@server.tool()
async def wait(context: Context) -> str:
    """Wait for ever, and say so first."""
    await context.report_progress(0, None, "waiting")
    await anyio.sleep_forever()
    return "never"


if __name__ == "__main__":
    if sys.argv[2:] == ["sse"]:
        server.run("sse", host="127.0.0.1", port=int(sys.argv[1]))
    elif len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")

"""What every tool does in a place, as one suite; `test_acting.py` and the proofs run it in each kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agentrt.executing import Observation
from agentrt.hooks.results import HookInput
from agentrt.hooks.running import run_hook
from agentrt.mcp.connection import connected
from agentrt.specs import Hook, HookEvent
from agentrt.specs.content import plain
from agentrt.specs.mcp import MCPServer
from agentrt.tools import BUILT_IN, ToolType

from .context import FakeContext

Act = Callable[[FakeContext], Awaitable[None]]

SERVER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "where", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"name": "where", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": os.getcwd() + " " + str(os.path.exists(sys.argv[1]))}]}
    elif "id" in asked:  # a newer client asks first what the server can do
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server whose tool tells where it runs, and whether it sees a file of this machine."""


async def call(context: FakeContext, name: str, **given: Any) -> Observation:
    """The result of one call of a tool."""
    kind: ToolType = BUILT_IN[name]
    executor = kind.executor({})
    try:
        found: Observation = await executor(kind.action(**given), context)
        return found
    finally:
        await executor.aclose()


async def text(context: FakeContext, name: str, **given: Any) -> str:
    """The text of that result."""
    return plain((await call(context, name, **given)).content)


def at(context: FakeContext, name: str) -> str:
    """The path of a file in the workspace."""
    return f"{context.workspace.path}/{name}"


async def the_terminal(context: FakeContext) -> None:
    assert "42" in await text(context, "terminal", command="echo $((6*7)) > made; cat made")


async def the_file_editor(context: FakeContext) -> None:
    path = at(context, "a.txt")
    await call(context, "file_editor", command="create", path=path, file_text="one\ntwo\n")
    await call(context, "file_editor", command="str_replace", path=path, old_str="two", new_str="three")
    assert "three" in await text(context, "file_editor", command="view", path=path)
    assert "three" in await text(context, "terminal", command="cat a.txt")


async def the_tools_of_gemini(context: FakeContext) -> None:
    await call(context, "write_file", file_path="b.txt", content="one\n")
    await call(context, "edit", file_path="b.txt", old_string="one", new_string="two")
    assert "two" in await text(context, "read_file", file_path="b.txt")
    assert "b.txt" in await text(context, "list_directory", dir_path=".")


async def apply_patch(context: FakeContext) -> None:
    patch = "*** Begin Patch\n*** Add File: c.txt\n+needle\n*** End Patch"
    await call(context, "apply_patch", patch=patch)
    assert "needle" in await text(context, "terminal", command="cat c.txt")


async def searches(context: FakeContext) -> None:
    await call(context, "terminal", command="mkdir -p src; echo needle > src/x.py; echo hay > src/y.txt")
    assert "src/x.py" in await text(context, "grep", pattern="needle")
    found = await text(context, "glob", pattern="**/*.py")
    assert "x.py" in found
    assert "y.txt" not in found


async def documents(context: FakeContext) -> None:
    await call(context, "file_editor", command="create", path=at(context, "page.html"), file_text="<h1>Title</h1>")
    assert "Title" in await text(context, "read_document", path=at(context, "page.html"))


async def a_kernel(context: FakeContext) -> None:
    await call(context, "terminal", command="echo 7 > number")
    code = "open('from_cell', 'w').write(str(6 * int(open('number').read())))\nimport os; print(os.getcwd())"
    assert context.workspace.path in await text(context, "ipython", code=code)
    assert "42" in await text(context, "terminal", command="cat from_cell")
    kind = BUILT_IN["ipython"]
    executor = kind.executor({})
    try:

        async def cell(code: str, timeout: float | None = None) -> str:
            return plain((await executor(kind.action(code=code, timeout=timeout), context)).content)

        await cell("kept = 41")
        assert "interrupted" in await cell("while True: pass", 1.0)
        assert "42" in await cell("kept + 1")
        assert "PYTHONHOME" not in await cell("!env")
        assert "nobody is there" in await cell("input('Your name? ')")
        assert "x" * 20_000 in await cell("print('x' * 20_000)")
        assert "SIGKILL" in await cell("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        assert "new kernel" in await cell("1")
    finally:
        await executor.aclose()


async def a_hook(context: FakeContext) -> None:
    given = HookInput(event_type=HookEvent.AFTER_TOOL, session_id="1", working_dir=context.workspace.path)
    result = await run_hook(context.place, Hook(event=HookEvent.AFTER_TOOL, command="cat > given; pwd > hook"), given)
    assert result.error == ""
    assert context.workspace.path in await text(context, "terminal", command="cat hook")


async def an_mcp_server(context: FakeContext) -> None:
    python = await context.place.python()
    server = MCPServer(
        command=python.path,
        args=("-c", SERVER, str(Path(__file__))),
        cwd=context.workspace.path,
    )
    async with connected("where", server, context.place) as connection:
        standing = await connection.ready()
        assert [tool.name for tool in standing.listed.tools] == ["where"], standing.problem
        said = str(await connection.call("where", {}))
        seen = "exit code 0" in await text(context, "terminal", command=f"test -e {__file__}")
        assert f"{context.workspace.path} {seen}" in said


ACTS: tuple[Act, ...] = (
    the_terminal,
    the_file_editor,
    the_tools_of_gemini,
    apply_patch,
    searches,
    documents,
    a_kernel,
    a_hook,
    an_mcp_server,
)
"""What is done everywhere."""

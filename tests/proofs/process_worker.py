"""A program in a server's event loop whose agent uses each tool that starts processes, a hook and an MCP server."""

from __future__ import annotations

import sys
from pathlib import Path

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Hook, HookEvent, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.events import AgentErrorEvent
from agentrt.server.running import run
from agentrt.specs.mcp import MCPServer
from agentrt.testing import ScriptedLLM, call, calls, finish

from .worker import steps_taken

PROJECT = Path(__file__).parent.parent.parent
TOOLS = ("terminal", "file_editor", "grep", "glob", "apply_patch", "read_document", "ipython", "browser", "browse")
PATCH = "*** Begin Patch\n*** Add File: added.txt\n+added\n*** End Patch"


def steps(workspace: Path) -> tuple[ModelReply, ...]:
    """The model's part: each tool, some side by side, one that is cut, and a process that outlives its command."""
    notes = str(workspace / "notes.md")
    return (
        call("file_editor", command="create", path=notes, file_text="# Notes\n\none\n"),
        calls(("terminal", {"command": "echo 1; (sleep 30 &)"}), ("grep", {"pattern": "one"})),
        calls(("glob", {"pattern": "*.md"}), ("read_document", {"path": str(workspace / "table.csv")})),
        call("apply_patch", patch=PATCH),
        call("ipython", code="import subprocess\nsubprocess.run(['echo', '2'])"),
        call("browser_navigate", url="about:blank"),
        call("terminal", command="sleep 30", timeout=1),
        call("terminal", command="C-c", is_input=True),
        call("add", a=1, b=2),
        call("file_editor", command="str_replace", path=notes, old_str="one", new_str="two"),
        finish("Done."),
    )


async def work(store: Path, workspace: Path) -> None:
    """Run it to its end, twice: the second time in a process that has seen it all."""
    (workspace / "table.csv").write_text("a,b\n1,2\n")
    server = MCPServer(command=sys.executable, args=("-m", "tests.mcp.server"), cwd=str(PROJECT))
    agent = Agent(
        llm=LLM(model="scripted"),
        tools=tuple(map(Tool, TOOLS)),
        hooks=(Hook(event=HookEvent.AFTER_TOOL, command="cat > /dev/null; echo noted"),),
        mcp_servers={"demo": server},
        stuck=None,
    )
    turns = steps(workspace)
    async with Runtime(store, client=ScriptedLLM(lambda request: turns[steps_taken(request)], keep=False)) as runtime:
        for number in range(2):
            (workspace / "notes.md").unlink(missing_ok=True)
            (workspace / "added.txt").unlink(missing_ok=True)
            async with Conversation(agent, workspace, id=f"work-{number}", runtime=runtime) as conversation:
                await conversation.send_message("Use each tool.")
                state = await conversation.run()
                assert state.status is ExecutionStatus.FINISHED, state.error
                failed = [event.error async for event in conversation.events() if isinstance(event, AgentErrorEvent)]
                assert not failed, failed


if __name__ == "__main__":
    run(work, Path(sys.argv[1]), Path(sys.argv[2]))

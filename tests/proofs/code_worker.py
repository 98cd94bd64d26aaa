"""A program that works with the tools for code, and prints the name of each one that begins."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from agentrt import LLM, Agent, Conversation, Event, Limits, Runtime, State, Tool
from agentrt.errors import ConversationMissing
from agentrt.events import ExecutionStarted

NAME = "code"
TOOLS = (
    *("grep", "glob", "list_directory", "read_file", "write_file", "edit", "apply_patch", "terminal"),
    "planning_file_editor",
)


def told(events: Sequence[Event], state: State, seconds: float) -> None:
    """Print the tools whose calls have just begun."""
    tools = {pending.action.id: pending.action.tool_name for pending in state.branch.pending}
    for event in events:
        if isinstance(event, ExecutionStarted):
            print(tools[event.action_id], flush=True)


async def work(store: Path, workspace: Path, url: str) -> None:
    """Begin it or go on, to its end or until somebody kills this process."""
    llm = LLM(model="openai/scripted", base_url=url, api_key_env="SCRIPTED_KEY")
    agent = Agent(llm=llm, tools=tuple(map(Tool, TOOLS)), limits=Limits(max_steps=100), stuck=None)
    async with Runtime(store) as runtime:
        runtime.observers.append(told)
        try:
            async with Conversation(id=NAME, runtime=runtime) as conversation:
                await conversation.run()
        except ConversationMissing:
            async with Conversation(agent, workspace, id=NAME, runtime=runtime) as conversation:
                await conversation.send_message("Rename the old function everywhere, and note it.")
                await conversation.run()


if __name__ == "__main__":
    anyio.run(work, Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])

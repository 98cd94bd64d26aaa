"""A program that works with documents and a kernel, and prints the name of each tool that begins, and when it waits."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from agentrt import LLM, Agent, Conversation, Event, NeverConfirm, PermissionRule, Runtime, State, Tool
from agentrt.errors import ConversationMissing
from agentrt.events import ConfirmationRequested, ExecutionStarted

NAME = "kernel"
WAITS = "waits"


def told(events: Sequence[Event], state: State, seconds: float) -> None:
    """Print the tools whose calls have just begun, and that a person is asked."""
    tools = {pending.action.id: pending.action.tool_name for pending in state.branch.pending}
    for event in events:
        if isinstance(event, ExecutionStarted):
            print(tools[event.action_id], flush=True)
        elif isinstance(event, ConfirmationRequested):
            print(WAITS, flush=True)


def agent(url: str) -> Agent:
    """An agent that asks before it writes a file."""
    return Agent(
        llm=LLM(model="openai/scripted", base_url=url, api_key_env="SCRIPTED_KEY"),
        tools=tuple(map(Tool, ("read_document", "ipython", "terminal", "write_file"))),
        confirmation=NeverConfirm(),
        rules=(PermissionRule(tool="write_file", verdict="ask"),),
        stuck=None,
    )


async def work(store: Path, workspace: Path, url: str) -> None:
    """Begin it or go on, and stay until somebody kills this process."""
    async with Runtime(store) as runtime:
        runtime.observers.append(told)
        try:
            async with Conversation(id=NAME, runtime=runtime) as conversation:
                await conversation.run()
                await anyio.sleep(60)
        except ConversationMissing:
            async with Conversation(agent(url), workspace, id=NAME, runtime=runtime) as conversation:
                await conversation.send_message("Count what is in the report, and note it.")
                await conversation.run()
                await anyio.sleep(60)


if __name__ == "__main__":
    anyio.run(work, Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])

"""A program that runs one scripted conversation, notes what it saw acknowledged, and dies where it is told to."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from agentrt import LLM, Agent, Conversation, Event, ExecutionStatus, Limits, Runtime, State, Tool, ToolType, tool
from agentrt.context.replies import ModelReply
from agentrt.errors import ConversationMissing
from agentrt.protocols import ModelRequest
from agentrt.specs import OnCrash
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, calls, finish

COUNTED = "counted"
"""In the workspace: a line for each time that a tool took effect, with its number."""

ACKNOWLEDGED = "acknowledged"
"""In the workspace: `seq id` of each event that was visible."""

SEEN = "seen"
"""In the workspace: a line for each model call, the texts of its tools' results as a JSON list."""

UNFINISHED = 3
"""The exit code of a run that did not end as it should."""


def append_line(path: Path, line: str, *, sync: bool = False) -> None:
    """Append a line in one write."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def counting_tools(workspace: Path) -> tuple[ToolType, ToolType]:
    """`count` must not run twice, `recount` may; both leave a line outside of the process."""
    take_effect = partial(append_line, workspace / COUNTED, sync=True)

    @tool(resources=lambda action, workspace: ("count",))
    async def count(number: int) -> str:
        """Count a number."""
        await anyio.to_thread.run_sync(take_effect, str(number))
        return f"counted {number}"

    @tool(on_crash=OnCrash.RETRY, resources=lambda action, workspace: ("recount",))
    async def recount(number: int) -> str:
        """Count a number, again if need be."""
        await anyio.to_thread.run_sync(take_effect, str(number))
        return f"counted {number}"

    return count, recount


def twelve_steps(workspace: Path) -> tuple[ModelReply, ...]:
    """The model's part. Each number is counted by one call; one has so much output that it is kept as a blob."""
    notes = str(workspace / "notes.txt")
    return (
        call("count", number=1),
        call("terminal", command=f"echo 2 >> {COUNTED}"),
        call("file_editor", command="create", path=notes, file_text="one\n"),
        call("recount", number=3),
        calls(("count", {"number": 4}), ("count", {"number": 5})),
        call("terminal", command=f"echo 6 >> {COUNTED}; seq 9000"),
        call("count", number=7),
        call("file_editor", command="str_replace", path=notes, old_str="one", new_str="two"),
        call("recount", number=8),
        calls(("recount", {"number": 9}), ("count", {"number": 10})),
        call("count", number=11),
        finish("All is counted."),
    )


def steps_taken(request: ModelRequest) -> int:
    """How many steps the model has asked for; the same before a crash and after it."""
    return sum(bool(message.tool_calls) for message in request.messages)


def scripted(workspace: Path) -> ScriptedLLM:
    """A model that goes on where the messages end, and notes what it was told."""
    steps = twelve_steps(workspace)

    def script(request: ModelRequest) -> ModelReply:
        told = [plain(message.content) for message in request.messages if message.role == "tool"]
        line = msgspec.json.encode(told).decode()
        append_line(workspace / SEEN, f"\n{line}")  # a kill may have cut the line before
        return steps[steps_taken(request)]

    return ScriptedLLM(script, delay=0.002, keep=False)


def agent() -> Agent:
    """An agent that runs two tools side by side."""
    tools = tuple(Tool(name) for name in ("count", "recount", "terminal", "file_editor"))
    return Agent(
        llm=LLM(model="scripted"),
        tools=tools,
        system_prompt="Count.",
        limits=Limits(tool_concurrency=2),
        checkpoints=False,
    )


class Death:
    """A commit probe that ends the process at the `occurrence`-th time that a commit gets to `point`."""

    def __init__(self, point: str, occurrence: int) -> None:
        self._point, self._left = point, occurrence

    def __call__(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


async def acknowledge(events: AsyncIterator[Event], workspace: Path) -> None:
    """Note each event once it is visible."""
    async for event in events:
        append_line(workspace / ACKNOWLEDGED, f"{event.seq} {event.id}")


async def carry_on(conversation: Conversation, workspace: Path) -> State:
    """See what there is, give the task (counted once), and run to the end."""
    await acknowledge(conversation.events(), workspace)
    before = conversation.cursor
    await conversation.send_message("Count to eleven.", id="the-task")
    await acknowledge(conversation.events(before), workspace)
    await acknowledge(aiter(conversation.run()), workspace)
    return conversation.state


async def live(store: Path, conversation_id: str, workspace: Path, death: Death) -> State:
    """Open the conversation, or begin it when there is none, and run it."""
    runtime = Runtime(store, tools=counting_tools(workspace), client=scripted(workspace), probe=death)
    async with runtime:
        try:
            async with Conversation(id=conversation_id, runtime=runtime) as conversation:
                return await carry_on(conversation, workspace)
        except ConversationMissing:
            async with Conversation(agent(), workspace, id=conversation_id, runtime=runtime) as conversation:
                return await carry_on(conversation, workspace)


def main() -> int:
    """Say "ready" once everything is loaded, then work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("conversation_id")
    parser.add_argument("workspace", type=Path)
    parser.add_argument("point", nargs="?", default="none")
    parser.add_argument("occurrence", nargs="?", type=int, default=1)
    given = parser.parse_args()
    os.write(sys.stdout.fileno(), b"ready\n")
    death = Death(given.point, given.occurrence)
    state = anyio.run(live, given.store, given.conversation_id, given.workspace, death)
    if state.status is not ExecutionStatus.FINISHED:
        print(f"the run ended {state.status.value}: {state.error}", file=sys.stderr)
    return 0 if state.status is ExecutionStatus.FINISHED else UNFINISHED


if __name__ == "__main__":
    sys.exit(main())

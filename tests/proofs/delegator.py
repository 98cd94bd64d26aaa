"""A program that runs one scripted tree of conversations, and notes each model call as it is made."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from msgspec.structs import replace

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Limits, Runtime, State, Tool, ToolType, tool
from agentrt.context.budget import estimated_tokens
from agentrt.context.replies import ModelReply
from agentrt.errors import ConversationMissing
from agentrt.protocols import ModelRequest
from agentrt.specs import OnCrash
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, calls, finish
from agentrt.usage import Usage
from tests.proofs.worker import COUNTED, Death, append_line

TOP = "top"
SENT = "sent"
"""In the workspace: a line for each model call that was sent: the tokens that it used."""

ANSWER = 400
"""Tokens of each answer."""

LEAVES = ("a", "b", "c", "d")
STEPS = ("count", "terminal", "recount", "count")
"""What each leaf does, each with a number of its own."""

PRICED = LLM(model="scripted", input_cost_per_token=1e-6, output_cost_per_token=1e-5, max_output_tokens=1000)


def price(tokens: int) -> float:
    """What a call costs that used so many tokens, in USD."""
    return (tokens - ANSWER) * 1e-6 + ANSWER * 1e-5


def counting(workspace: Path) -> tuple[ToolType, ToolType]:
    """`count` must not run twice, `recount` may; both leave a line outside of the process."""
    take_effect = partial(append_line, workspace / COUNTED, sync=True)

    @tool(resources=lambda action, workspace: ("count",))
    async def count(number: str) -> str:
        """Count a number."""
        await anyio.to_thread.run_sync(take_effect, number)
        return f"counted {number}"

    @tool(on_crash=OnCrash.RETRY, resources=lambda action, workspace: ("recount",))
    async def recount(number: str) -> str:
        """Count a number, again if need be."""
        await anyio.to_thread.run_sync(take_effect, number)
        return f"counted {number}"

    return count, recount


def step(task: str, number: int, *, endless: bool) -> ModelReply:
    """What the model says to a task after so many steps."""
    match task:
        case "all" if endless or number == 0:
            return calls(("delegate", {"task": "left"}), ("delegate", {"task": "right"}))
        case "left" | "right" if number == 0:
            first, second = LEAVES[:2] if task == "left" else LEAVES[2:]
            return calls(("delegate", {"task": first}), ("delegate", {"task": second}))
        case leaf if leaf in LEAVES and (endless or number < len(STEPS)):
            name, what = STEPS[number % len(STEPS)], f"{leaf}{number}"
            return (
                call("terminal", command=f"echo {what} >> {COUNTED}") if name == "terminal" else call(name, number=what)
            )
        case _:
            return finish(f"{task} is done.")


def scripted(workspace: Path, *, endless: bool) -> ScriptedLLM:
    """A model that goes on where the messages end."""

    def script(request: ModelRequest) -> ModelReply:
        used = estimated_tokens(request.messages, request.tools)
        append_line(workspace / SENT, str(used + ANSWER))
        task = next(plain(message.content) for message in request.messages if message.role == "user")
        steps = sum(bool(message.tool_calls) for message in request.messages)
        return replace(step(task, steps, endless=endless), usage=Usage(used, ANSWER))

    return ScriptedLLM(script, delay=0.02, keep=False)


def agent(limits: Limits) -> Agent:
    """An agent that delegates, and counts."""
    tools = tuple(Tool(name) for name in ("delegate", "count", "recount", "terminal"))
    return Agent(llm=PRICED, tools=tools, system_prompt="Count.", limits=limits, stuck=None)


async def live(store: Path, workspace: Path, limits: Limits, death: Death, *, endless: bool) -> State:
    """Open the conversation, or begin it, and run it to its end."""
    client = scripted(workspace, endless=endless)
    async with Runtime(store, tools=counting(workspace), client=client, probe=death) as runtime:
        try:
            async with Conversation(id=TOP, runtime=runtime) as conversation:
                return await _run(conversation)
        except ConversationMissing:
            async with Conversation(agent(limits), workspace, id=TOP, runtime=runtime) as conversation:
                return await _run(conversation)


async def _run(conversation: Conversation) -> State:
    await conversation.send_message("all", id="the-task")
    return await conversation.run()


def main() -> int:
    """Say "ready" once everything is loaded, then work. The exit code says whether the tree ended as it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("point", nargs="?", default="none")
    parser.add_argument("occurrence", nargs="?", type=int, default=1)
    parser.add_argument("--cost", type=float)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--endless", action="store_true")
    given = parser.parse_args()
    limits = Limits(max_cost=given.cost, max_tokens=given.tokens, max_steps=given.steps, tool_concurrency=2)
    death = Death(given.point, given.occurrence)
    os.write(sys.stdout.fileno(), b"ready\n")
    state = anyio.run(partial(live, given.store, given.workspace, limits, death, endless=given.endless))
    print(state.status.value, state.error.code if state.error else "")
    return 0 if state.status in (ExecutionStatus.FINISHED, ExecutionStatus.ERROR) else 1


if __name__ == "__main__":
    sys.exit(main())

# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
"""The work of `compare_peers.py`, by one SDK; runs under that SDK's interpreter, from stdin.

    python - pydantic_ai '{"base_url": "http://127.0.0.1:9000/v1", "steps": 200}' < peers_work.py

Without an address each SDK gets the model's words within its process, and no HTTP is measured.
Each agent has one tool, `noop`, and calls it until the model has it stop. The tool notes the CPU and the
wall seconds of the process, so a step is measured at the same place in every SDK. Each SDK is used as its own first
page shows it; tracing and telemetry are off. The last line of the output is the result as JSON.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ["OPENAI_API_KEY"] = "none"
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
os.environ["LANGCHAIN_TRACING_V2"] = "false"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no network while it is imported

cpu: list[float] = []
wall: list[float] = []


def mark() -> str:
    """What the tool does."""
    cpu.append(time.process_time())
    wall.append(time.perf_counter())
    return "ok"


def read(messages: Iterable[Any]) -> int:
    """Look at every message, as a model does that is in the process."""
    return sum(len(str(message)) for message in messages)


async def agentrt(place: Path, base_url: str, steps: int) -> None:
    """One conversation, every event synced."""
    from agentrt import LLM, Agent, Conversation, Limits, NoOpCondenser, Runtime, Tool, tool
    from agentrt.specs import ToolAnnotations
    from agentrt.testing import ScriptedLLM, call, say

    def turn(request: Any) -> Any:
        return call("noop", n=len(cpu)) if len(cpu) < steps else say("done")

    @tool(annotations=ToolAnnotations(read_only=True))
    async def noop(n: int) -> str:
        """Does nothing."""
        return mark()

    llm = LLM(model="openai/scripted", base_url=base_url or None, stream=False)
    agent = Agent(llm=llm, tools=(Tool("noop"),), limits=Limits(max_steps=steps + 2), condenser=NoOpCondenser())
    client = None if base_url else ScriptedLLM(turn, keep=False)
    async with Runtime(place / "store", client=client) as runtime:
        async with Conversation(agent, place, runtime=runtime, tools=[noop]) as conversation:
            await conversation.prompt("Begin.")


async def pydantic_ai(place: Path, base_url: str, steps: int) -> None:
    """`Agent.run`: it keeps nothing by itself."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.usage import UsageLimits

    def turn(messages: list[Any], info: Any) -> ModelResponse:
        read(part for message in messages for part in message.parts)
        call = ToolCallPart("noop", {"n": len(cpu)})
        return ModelResponse(parts=[call if len(cpu) < steps else TextPart("done")])

    provider = OpenAIProvider(base_url=base_url or "http://none", api_key="none")
    agent = Agent(OpenAIChatModel("scripted", provider=provider) if base_url else FunctionModel(turn))

    @agent.tool_plain
    async def noop(n: int) -> str:
        """Does nothing."""
        return mark()

    await agent.run("Begin.", usage_limits=UsageLimits(request_limit=None))


async def openai_agents(place: Path, base_url: str, steps: int) -> None:
    """`Runner.run` without a session: it keeps nothing by itself."""
    from agents import Agent, Model, ModelResponse, OpenAIChatCompletionsModel, Runner, Usage, function_tool
    from openai import AsyncOpenAI
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):
        """Reads every item, and asks for the tool."""

        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **given: Any) -> ModelResponse:
            read(input)
            n = len(cpu)
            asked = ResponseFunctionToolCall(
                arguments=json.dumps({"n": n}), call_id=f"call_{n}", name="noop", type="function_call"
            )
            words = ResponseOutputText(annotations=[], text="done", type="output_text")
            done = ResponseOutputMessage(id="1", content=[words], role="assistant", status="completed", type="message")
            return ModelResponse(output=[asked if n < steps else done], usage=Usage(), response_id=None)

        def stream_response(self, *rest: Any, **given: Any) -> Any:
            raise NotImplementedError

    @function_tool
    async def noop(n: int) -> str:
        """Does nothing."""
        return mark()

    client = AsyncOpenAI(base_url=base_url or "http://none", api_key="none")
    model = OpenAIChatCompletionsModel("scripted", client) if base_url else Scripted()
    await Runner.run(Agent("bench", model=model, tools=[noop]), "Begin.", max_turns=steps + 2)


async def langgraph(place: Path, base_url: str, steps: int) -> None:
    """A graph of a model and its tools, each step saved to SQLite before the next one begins."""
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    @tool
    async def noop(n: int) -> str:
        """Does nothing."""
        return mark()

    model = ChatOpenAI(model="scripted", base_url=base_url or "http://none", api_key="none").bind_tools([noop])

    async def ask(state: MessagesState) -> dict[str, Any]:
        if base_url:
            return {"messages": [await model.ainvoke(state["messages"])]}
        read(state["messages"])
        call = {"name": "noop", "args": {"n": len(cpu)}, "id": f"call_{len(cpu)}"}
        return {"messages": [AIMessage("", tool_calls=[call]) if len(cpu) < steps else AIMessage("done")]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", ask)
    graph.add_node("tools", ToolNode([noop]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    async with AsyncSqliteSaver.from_conn_string(str(place / "state.db")) as saver:
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": 2 * steps + 10}
        await graph.compile(saver).ainvoke(
            {"messages": [{"role": "user", "content": "Begin."}]},
            config,
            durability="sync",
        )


PACKAGES = {
    "agentrt": "agentrt",
    "pydantic_ai": "pydantic-ai-slim",
    "openai_agents": "openai-agents",
    "langgraph": "langgraph",
}


def resident() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Do what the arguments say."""
    name, given = sys.argv[1], json.loads(sys.argv[2])
    logging.disable(logging.CRITICAL)
    work = {"agentrt": agentrt, "pydantic_ai": pydantic_ai, "openai_agents": openai_agents, "langgraph": langgraph}
    with tempfile.TemporaryDirectory(prefix="agentrt-bench-", dir=given.pop("dir", None)) as directory:
        place = Path(directory)
        asyncio.run(work[name](place, **given))
        kept = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    if len(cpu) != given["steps"]:
        raise SystemExit(f"the tool ran {len(cpu)} times, not {given['steps']}")
    version = importlib.metadata.version(PACKAGES[name])
    result = {"cpu": cpu, "wall": wall, "resident": resident(), "kept": kept, "version": version}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()

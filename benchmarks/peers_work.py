# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
"""The work of `compare_peers.py`, by one SDK; runs under that SDK's interpreter, from stdin.

    python - pydantic_ai '{"base_url": "http://127.0.0.1:9000/v1", "steps": 200}' < peers_work.py

Each agent has one tool, `noop`, and calls it until the scripted provider has it stop. The tool notes the CPU and the
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


async def agentrt(place: Path, base_url: str, steps: int) -> None:
    """One conversation, every event synced."""
    from agentrt import LLM, Agent, Conversation, Limits, NoOpCondenser, Tool, tool
    from agentrt.specs import ToolAnnotations

    @tool(annotations=ToolAnnotations(read_only=True))
    async def noop(n: int) -> str:
        """Does nothing."""
        return mark()

    llm = LLM(model="openai/scripted", base_url=base_url, stream=False)
    agent = Agent(llm=llm, tools=(Tool("noop"),), limits=Limits(max_steps=steps + 2), condenser=NoOpCondenser())
    async with Conversation(agent, place, store=place / "store", tools=[noop]) as conversation:
        await conversation.prompt("Begin.")


async def pydantic_ai(place: Path, base_url: str, steps: int) -> None:
    """`Agent.run`: it keeps nothing by itself."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.usage import UsageLimits

    agent = Agent(OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=base_url, api_key="none")))

    @agent.tool_plain
    async def noop(n: int) -> str:
        """Does nothing."""
        return mark()

    await agent.run("Begin.", usage_limits=UsageLimits(request_limit=None))


async def openai_agents(place: Path, base_url: str, steps: int) -> None:
    """`Runner.run` without a session: it keeps nothing by itself."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
    from openai import AsyncOpenAI

    @function_tool
    async def noop(n: int) -> str:
        """Does nothing."""
        return mark()

    model = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=base_url, api_key="none"))
    await Runner.run(Agent("bench", model=model, tools=[noop]), "Begin.", max_turns=steps + 2)


async def langgraph(place: Path, base_url: str, steps: int) -> None:
    """A graph of a model and its tools, each step saved to SQLite before the next one begins."""
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    @tool
    async def noop(n: int) -> str:
        """Does nothing."""
        return mark()

    model = ChatOpenAI(model="scripted", base_url=base_url, api_key="none").bind_tools([noop])

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

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

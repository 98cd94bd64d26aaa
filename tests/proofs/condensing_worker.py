"""A program whose conversation fills a small window."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from agentrt import LLM, Agent, Conversation, LLMSummarizingCondenser, Tool

TOP = "top"
WINDOW = 8_000
AGENT_TOOLS = (Tool("terminal"), Tool("recall"))


def agent(url: str) -> Agent:
    """One whose model reads little."""
    llm = LLM(model="openai/scripted", base_url=url, api_key_env="SCRIPTED_KEY", max_input_tokens=WINDOW)
    return Agent(llm=llm, tools=AGENT_TOOLS, condenser=LLMSummarizingCondenser())


async def work(store: Path, workspace: Path, url: str) -> None:
    """Run it to its end, or until somebody kills this process."""
    async with Conversation(agent(url), workspace, id=TOP, store=store) as conversation:
        await conversation.send_message("Count to forty, and tell me the word of number 3. My colour is teal.")
        await conversation.run()


if __name__ == "__main__":
    anyio.run(work, Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])

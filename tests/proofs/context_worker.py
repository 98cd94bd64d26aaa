"""A program that works on a repository with instructions, skills, a plugin and an agent in the background."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from agentrt import LLM, Agent, AgentContext, Conversation, PluginSource

TOP = "top"


async def work(store: Path, workspace: Path, plugin: Path, url: str) -> None:
    """Run it to its end, or until somebody kills this process."""
    llm = LLM(model="openai/scripted", base_url=url, api_key_env="SCRIPTED_KEY")
    agent = Agent(llm=llm, context=AgentContext(plugins=(PluginSource(str(plugin)),)))
    async with Conversation(agent, workspace, id=TOP, store=store) as conversation:
        await conversation.send_message("Please commit the page")
        print("ready", flush=True)
        await conversation.run()


if __name__ == "__main__":
    anyio.run(work, Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])

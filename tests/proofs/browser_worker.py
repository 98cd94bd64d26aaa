"""A program that browses, and prints the name of each tool that begins."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from agentrt import LLM, Agent, Conversation, Limits, Runtime, Tool
from agentrt.errors import ConversationMissing

from .code_worker import told

NAME = "browsing"


async def work(store: Path, workspace: Path, url: str) -> None:
    """Begin it or go on, to its end or until somebody kills this process."""
    llm = LLM(model="openai/scripted", base_url=url, api_key_env="SCRIPTED_KEY")
    agent = Agent(llm=llm, tools=(Tool("browser"), Tool("browse")), limits=Limits(max_steps=100), stuck=None)
    async with Runtime(store) as runtime:
        runtime.observers.append(told)
        try:
            async with Conversation(id=NAME, runtime=runtime) as conversation:
                await conversation.run()
        except ConversationMissing:
            secrets = {"PASSWORD": "hunter2-hunter2"}
            async with Conversation(agent, workspace, id=NAME, runtime=runtime, secrets=secrets) as conversation:
                await conversation.send_message("Log in, and tell what is there.")
                await conversation.run()


if __name__ == "__main__":
    anyio.run(work, Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])

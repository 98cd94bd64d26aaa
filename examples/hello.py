"""A conversation in ten lines. Needs a key of the model's provider in the environment."""

import sys

import anyio

from agentrt import LLM, Agent, Conversation


async def main(model: str = "anthropic/claude-opus-4-5", base_url: str | None = None) -> None:
    agent = Agent(LLM(model, base_url=base_url))
    async with Conversation(agent, workspace=".") as conversation:
        await conversation.send_message("Which files are here? Answer in one sentence.")
        async for event in conversation.run():
            print(event.seq, type(event).__name__)
        print(conversation.state.status.value, "- to go on: agentrt resume", conversation.id)


if __name__ == "__main__":
    anyio.run(lambda: main(*sys.argv[1:]))

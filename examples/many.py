"""A hundred conversations in one process, each of which a person can pause, interrupt and resume.

Runs without a key: the model's words are scripted, and each takes it 200 ms.
"""

import time

import anyio

from agentrt import LLM, Agent, Conversation, Runtime
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelRequest
from agentrt.testing import ScriptedLLM, call, finish


def script(request: ModelRequest) -> ModelReply:
    """Think four times, then finish."""
    steps = sum(message.role == "assistant" for message in request.messages)
    return call("think", thought=f"step {steps + 1}") if steps < 4 else finish("Done.")


async def main(count: int = 100) -> None:
    begun = time.perf_counter()
    async with Runtime(client=ScriptedLLM(script, delay=0.2, keep=False)) as runtime:

        async def one() -> None:
            async with Conversation(Agent(LLM("scripted"), tools=()), runtime=runtime) as conversation:
                await conversation.send_message("Think, then finish.")
                await conversation.run()

        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(one)
    print(f"{count} conversations of 5 steps: {time.perf_counter() - begun:.1f} s (the model alone takes 1.0 s)")


if __name__ == "__main__":
    anyio.run(main)

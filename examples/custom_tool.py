"""A tool in five lines, and the full form with an action, an executor and an observation.

Runs without a key: the model's words are scripted.
"""

import anyio
import msgspec

from agentrt import LLM, Agent, Conversation, Observation, ToolContext, ToolType, tool
from agentrt.events import ObservationEvent
from agentrt.specs.content import text
from agentrt.testing import ScriptedLLM, calls, finish


@tool
async def celsius(fahrenheit: float) -> float:
    """Convert a temperature to Celsius."""
    return (fahrenheit - 32) * 5 / 9


class CountAction(msgspec.Struct, frozen=True):
    word: str


class CountObservation(Observation, frozen=True, kw_only=True):
    total: int


class Counter:
    """The executor: one a conversation, so it can keep something between calls."""

    def __init__(self) -> None:
        self.total = 0

    async def __call__(self, action: CountAction, context: ToolContext) -> CountObservation:
        self.total += len(action.word)
        context.output(f"counted {action.word}\n")
        return CountObservation(content=text(f"{self.total} letters so far"), total=self.total)

    async def aclose(self) -> None:
        pass


count = ToolType("count", "Count letters.", CountAction, executor=lambda params: Counter())


async def main() -> None:
    words = [
        calls(("celsius", {"fahrenheit": 212}), ("count", {"word": "agent"}), ("count", {"word": "runtime"})),
        finish("It is 100 degrees, and there are 12 letters."),
    ]
    agent = Agent(LLM("scripted"), tools=())
    async with Conversation(agent, tools=[celsius, count], client=ScriptedLLM(words)) as conversation:
        await conversation.send_message("How hot are 212 F, and how many letters have 'agent' and 'runtime'?")
        async for event in conversation.run():
            if isinstance(event, ObservationEvent):
                print(event.content)


if __name__ == "__main__":
    anyio.run(main)

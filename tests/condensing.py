"""A model that works step by step and sums up when it is asked to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentrt import Agent, LLMSummarizingCondenser, tool
from agentrt.events import Condensation, Event
from agentrt.protocols import ModelRequest
from agentrt.specs import LLM
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish, say
from agentrt.testing.scripted import Turn

QUESTION = "is about to be taken out of your view"
SUMMARY = "## Task\nLook at all places.\n## Decisions\n- the odd ones matter\n## Open\n- the rest"


@tool
async def look(where: str) -> str:
    """Look somewhere.

    Args:
        where: The place.
    """
    return f"{where}: " + "nothing but sand and stones. " * 10


def is_question(request: ModelRequest) -> bool:
    """Whether a summary is asked for."""
    return QUESTION in plain(request.messages[-1].content)


def looking(
    steps: int,
    summary: Callable[[ModelRequest], Turn] = lambda request: say(SUMMARY),
    kind: type[ScriptedLLM] = ScriptedLLM,
) -> ScriptedLLM:
    """One of a kind that looks at so many places, one after the other, then finishes."""
    done = iter(range(steps))

    def script(request: ModelRequest) -> Turn:
        if is_question(request):
            return summary(request)
        place = next(done, None)
        return (
            finish("Seen.") if place is None else call("look", f"Next is place {place}.", where=f"src/place{place}.txt")
        )

    return kind(script)


def agent(condenser: Any = LLMSummarizingCondenser(max_size=20), **more: Any) -> Agent:
    """One that is condensed so."""
    given = {"llm": LLM(model="scripted"), "tools": ("recall",), "condenser": condenser, "checkpoints": False}
    return Agent(**given | more)


def condensations(events: list[Event]) -> list[Condensation]:
    """Those of them."""
    return [event for event in events if isinstance(event, Condensation)]

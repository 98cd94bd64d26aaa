"""How tools of the web ask: their parameters, and the library, which is loaded when it is needed."""

from __future__ import annotations

from ...loading import load
from ...network import Answer, Bounds, Guard, Question
from ..definition import Params


async def ask(question: Question, guard: Guard, bounds: Bounds) -> Answer:
    """The answer to a question. Raises `ToolError`."""
    library = await load("agentrt.network.asking")
    answer: Answer = await library.ask(question, guard, bounds)
    return answer


def number(params: Params, name: str, default: float) -> float:
    """A parameter that is a positive number, else the default."""
    given = params.get(name)
    return float(given) if isinstance(given, (int, float)) and given > 0 else default


def words(params: Params, name: str) -> str:
    """A parameter that is a text, else ""."""
    given = params.get(name)
    return given.strip() if isinstance(given, str) else ""


def allowed(params: Params) -> tuple[str, ...]:
    """The hosts of `allow_private`, which are parted by commas."""
    return tuple(one.strip() for one in words(params, "allow_private").split(",") if one.strip())

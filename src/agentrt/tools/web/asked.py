"""Requests and parameters of the web tools. The HTTP library is loaded when it is needed."""

from __future__ import annotations

from ...loading import load
from ...network import Answer, Bounds, Guard, Question
from ..definition import Params


async def ask(question: Question, guard: Guard, bounds: Bounds) -> Answer:
    """Send a request and return the answer. Raises `ToolError`."""
    library = await load("agentrt.network.asking")
    answer: Answer = await library.ask(question, guard, bounds)
    return answer


def number(params: Params, name: str, default: float) -> float:
    """Return a parameter that is a positive number, else the default."""
    given = params.get(name)
    return float(given) if isinstance(given, (int, float)) and given > 0 else default


def words(params: Params, name: str) -> str:
    """Return a text parameter without surrounding white space, or "" if it is missing or no text."""
    given = params.get(name)
    return given.strip() if isinstance(given, str) else ""


def allowed(params: Params) -> tuple[str, ...]:
    """Return the hosts in the comma-separated parameter `allow_private`."""
    return tuple(one.strip() for one in words(params, "allow_private").split(",") if one.strip())

"""Thinking budgets of Anthropic models, and the room that they leave for the answer. Pure.

Source: the API reference of Anthropic, "Extended thinking" and "Adaptive thinking".
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..specs import LLM

LEAST_THINKING = 1024
"""Minimum number of thinking tokens that Anthropic allows."""

ROOM_FOR_EFFORT = {"minimal": 4096, "low": 4096, "medium": 4096, "high": 8192, "xhigh": 16_384, "max": 32_768}
"""Minimum tokens of an answer for each effort: at least twice the thinking that the effort stands for."""

BUDGETS = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16_384}
"""Thinking tokens for each effort, for models with a token budget; the values of litellm."""


class Thinks(msgspec.Struct, frozen=True):
    """The thinking settings of a request, and whether earlier thinking is sent back with it."""

    thinking: dict[str, Any] | None = None
    output: dict[str, Any] | None = None
    keeps: bool = True


def wants(llm: LLM) -> bool:
    """Return whether the configuration asks for thinking."""
    return llm.thinking_budget is not None or llm.reasoning_effort not in (None, "none")


def unthought(messages: list[dict[str, Any]]) -> bool:
    """Return whether the latest calls, which the model continues from, lack its own thinking before them.

    Claude refuses to think in that case. The calls may be those of another model that it replaces.
    """
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    return last is not None and "tool_calls" in last and "thinking_blocks" not in last


def thinking(llm: LLM, most: int | None, entry: dict[str, Any], messages: list[dict[str, Any]]) -> Thinks:
    """Return the thinking settings of a request; thinking that leaves no room for an answer or would be refused is
    omitted.
    """
    adapts = llm.thinking_budget is None and bool(entry.get("supports_adaptive_thinking"))
    if not wants(llm):
        return Thinks()
    if unthought(messages) and not adapts:
        return Thinks(keeps=False)
    if llm.thinking_budget is not None:
        room = llm.thinking_budget if most is None else min(llm.thinking_budget, most - LEAST_THINKING)
        return Thinks({"type": "enabled", "budget_tokens": room}) if room >= LEAST_THINKING else Thinks()
    effort = llm.reasoning_effort or "high"
    if most is not None and most < ROOM_FOR_EFFORT[effort]:
        return Thinks()
    if adapts:
        asked = {"minimal": "low"}.get(effort, effort)
        return Thinks({"type": "adaptive", "display": "summarized"}, {"effort": asked})
    return Thinks({"type": "enabled", "budget_tokens": BUDGETS[effort]})

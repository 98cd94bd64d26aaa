"""How much a model of Anthropic is asked to think, and what room that leaves for its answer. Pure.

Source: the API reference of Anthropic, "Extended thinking" and "Adaptive thinking".
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..specs import LLM

LEAST_THINKING = 1024
"""Tokens that Anthropic lets a model think at least."""

ROOM_FOR_EFFORT = {"minimal": 4096, "low": 4096, "medium": 4096, "high": 8192, "xhigh": 16_384, "max": 32_768}
"""Tokens of an answer below which an effort is not asked for: at least twice the thinking that is made of it."""

BUDGETS = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16_384}
"""Tokens of thinking that an effort is, where a model counts them; those of litellm."""


class Thinks(msgspec.Struct, frozen=True):
    """What a request says of thinking, and whether earlier thinking goes back with it."""

    thinking: dict[str, Any] | None = None
    output: dict[str, Any] | None = None
    keeps: bool = True


def wants(llm: LLM) -> bool:
    """Whether the configuration asks for thinking."""
    return llm.thinking_budget is not None or llm.reasoning_effort not in (None, "none")


def unthought(messages: list[dict[str, Any]]) -> bool:
    """Whether the calls that the model goes on from have no thinking of its own before them.

    Claude refuses to think then. They may be those of another model, in whose place it answers.
    """
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    return last is not None and "tool_calls" in last and "thinking_blocks" not in last


def thinking(llm: LLM, most: int | None, entry: dict[str, Any], messages: list[dict[str, Any]]) -> Thinks:
    """What a request says of it: what leaves no room for an answer, or would be refused, is not asked for."""
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

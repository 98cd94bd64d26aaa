"""Chooses the model of a `RouterLLM` that answers. Pure, except for "random"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeAlias

from ..errors import ConfigurationError
from ..specs import LLM, AnyLLM, Capabilities, FallbackLLM, RouterLLM, ToolDefinition
from ..specs.llm import members
from .budget import estimated_tokens
from .images import has_images
from .messages import Message

Rule: TypeAlias = Callable[[Sequence[Message]], str]
"""A custom rule: `select(messages) -> key`."""

Facts: TypeAlias = Callable[[LLM], Capabilities]

ANSWER = 1000
"""Assumed tokens of an answer when the prices of models are compared."""

_dice = Random()


def select(
    router: RouterLLM,
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition],
    facts: Facts,
    rules: Mapping[str, Rule],
) -> str:
    """Return the key of the model that answers. Raises `ConfigurationError` if a rule returns an unknown key."""
    if router.rule in rules:
        key = rules[router.rule](messages)
    elif router.rule == "random":
        key = _dice.choice(sorted(router.llms))
    else:
        known = {key: facts(members(llm)[0]) for key, llm in router.llms.items()}
        key = _BUILT_IN[router.rule](known, has_images(messages), estimated_tokens(messages, tools))
    if key not in router.llms:
        raise ConfigurationError(f"router rule {router.rule!r} chose {key!r}: known are {', '.join(router.llms)}")
    return key


def check(llm: AnyLLM, rules: Mapping[str, Rule]) -> None:
    """Raise `ConfigurationError` if `llm` names an unknown rule."""
    match llm:
        case RouterLLM(llms=llms, rule=rule):
            if rule not in rules and rule not in _BUILT_IN and rule != "random":
                raise ConfigurationError(
                    f"unknown router rule {rule!r}: known are {', '.join(sorted([*_BUILT_IN, 'random', *rules]))};"
                    " give your own with Runtime(routers={...})"
                )
            for one in llms.values():
                check(one, rules)
        case FallbackLLM(llms):
            for one in llms:
                check(one, rules)
        case LLM():
            pass


def _multimodal(known: Mapping[str, Capabilities], images: bool, tokens: int) -> str:
    return "primary" if images or not _fits(known["secondary"], tokens) else "secondary"


def _smallest(known: Mapping[str, Capabilities], images: bool, tokens: int) -> str:
    able = _able(known, images, tokens)
    return min(able, key=lambda key: _window(known[key]))


def _cheapest(known: Mapping[str, Capabilities], images: bool, tokens: int) -> str:
    def price(key: str) -> float:
        one = known[key]
        if one.input_cost is None or one.output_cost is None:
            return float("inf")
        return tokens * one.input_cost + ANSWER * one.output_cost

    return min(_able(known, images, tokens), key=price)


_BUILT_IN: Mapping[str, Callable[[Mapping[str, Capabilities], bool, int], str]] = {
    "multimodal": _multimodal,
    "context": _smallest,
    "cost": _cheapest,
}


def _able(known: Mapping[str, Capabilities], images: bool, tokens: int) -> list[str]:
    """Return the models that can read the messages; if none can, the one with the largest window."""
    seeing = [key for key in known if not images or known[key].vision] or list(known)
    return [key for key in seeing if _fits(known[key], tokens)] or [max(seeing, key=lambda key: _window(known[key]))]


def _fits(one: Capabilities, tokens: int) -> bool:
    return tokens <= _window(one)


def _window(one: Capabilities) -> float:
    return float("inf") if one.max_input_tokens is None else one.max_input_tokens

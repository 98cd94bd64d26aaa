"""Which model of a router answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentrt.context.messages import Message
from agentrt.context.routing import check, select
from agentrt.errors import ConfigurationError
from agentrt.specs import LLM, FallbackLLM, ImageContent, RouterLLM
from agentrt.specs.content import text
from agentrt.specs.llm import known_of, members, named

pytestmark = pytest.mark.pure

SMALL = LLM(model="small", max_input_tokens=100, input_cost_per_token=1e-6, output_cost_per_token=1e-6)
LARGE = LLM(model="large", max_input_tokens=10_000, input_cost_per_token=9e-6, output_cost_per_token=9e-6)
BLIND = LLM(model="blind", max_input_tokens=10_000, vision=False, input_cost_per_token=0.0, output_cost_per_token=0.0)
SHORT = (Message("user", text("hi")),)
LONG = (Message("user", text("x" * 3000)),)
IMAGE = (Message("user", (ImageContent("https://e.org/a.png"),)),)


def chosen(router: RouterLLM, messages: Sequence[Message]) -> str:
    return select(router, messages, (), known_of, {})


@pytest.mark.parametrize(("messages", "key"), [(SHORT, "secondary"), (LONG, "primary"), (IMAGE, "primary")])
def test_multimodal(messages: Sequence[Message], key: str) -> None:
    assert chosen(RouterLLM(llms={"primary": LARGE, "secondary": SMALL}), messages) == key


@pytest.mark.parametrize(("messages", "key"), [(SHORT, "s"), (LONG, "l"), (IMAGE, "l")])
def test_by_context(messages: Sequence[Message], key: str) -> None:
    router = RouterLLM(llms={"l": LARGE, "s": SMALL, "fallen": FallbackLLM((LLM(model="endless"),))}, rule="context")
    assert chosen(router, messages) == key


@pytest.mark.parametrize(("messages", "key"), [(SHORT, "b"), (LONG, "b"), (IMAGE, "l")])
def test_by_cost(messages: Sequence[Message], key: str) -> None:
    router = RouterLLM(llms={"l": LARGE, "s": SMALL, "b": BLIND, "unpriced": LLM(model="m")}, rule="cost")
    assert chosen(router, messages) == key


def test_what_fits_nowhere_goes_to_the_largest() -> None:
    huge = (Message("user", text("x" * 90_000)),)
    assert chosen(RouterLLM(llms={"s": SMALL, "l": LARGE}, rule="cost"), huge) == "l"


def test_random_takes_each_in_its_turn() -> None:
    router = RouterLLM(llms={"a": SMALL, "b": LARGE}, rule="random")
    assert {chosen(router, SHORT) for _ in range(100)} == {"a", "b"}


def test_a_rule_of_ones_own() -> None:
    router = RouterLLM(llms={"a": SMALL, "b": LARGE}, rule="mine")
    rules = {"mine": lambda messages: "b" if len(messages) == 1 else "c"}
    check(router, rules)
    assert select(router, SHORT, (), known_of, rules) == "b"
    with pytest.raises(ConfigurationError, match="chose 'c': known are a, b"):
        select(router, (*SHORT, *SHORT), (), known_of, rules)


def test_a_rule_that_nobody_knows_is_refused_wherever_it_stands() -> None:
    nested = FallbackLLM((SMALL, RouterLLM(llms={"a": RouterLLM(llms={"b": LARGE}, rule="odd")}, rule="cost")))
    with pytest.raises(
        ConfigurationError, match=r"unknown router rule 'odd': known are context, cost, multimodal, random"
    ):
        check(nested, {})


def test_a_router_or_a_fallback_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FallbackLLM(())
    with pytest.raises(ValueError, match="at least one"):
        RouterLLM(llms={}, rule="cost")
    with pytest.raises(ValueError, match="'primary' and 'secondary'"):
        RouterLLM(llms={"a": SMALL})


def test_the_names_of_all_that_may_answer() -> None:
    several = FallbackLLM((RouterLLM(llms={"a": SMALL, "b": LARGE}, rule="cost"), SMALL))
    assert [llm.model for llm in members(several)] == ["small", "large", "small"]
    assert named(several) == "small | large"
    assert named(SMALL) == "small"

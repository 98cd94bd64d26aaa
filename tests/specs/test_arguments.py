"""A constructor says what is wrong with its arguments, and what to write for a name from another SDK."""

# mypy: disable-error-code="call-arg,arg-type,call-overload"

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from agentrt import LLM, Agent, AgentContext, ConfirmRisky, Conversation, Limits, Runtime, Skill, Tool, run_sync
from agentrt.errors import ConfigurationError
from agentrt.specs import arguments

pytestmark = pytest.mark.pure


def said(make: Callable[[], Any]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        make()
    return str(caught.value)


def test_the_model_needs_no_name() -> None:
    assert LLM("openai/x") == LLM(model="openai/x")
    assert Agent("openai/x") == Agent(llm=LLM("openai/x")) == Agent(LLM("openai/x"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LLM("openai/x", temprature=1), "LLM has no argument 'temprature': did you mean 'temperature'?"),
        (lambda: LLM(), "LLM needs 'model': write LLM('anthropic/claude-opus-4-5')"),
        (lambda: LLM("a", "b"), "LLM takes model without a name: give all else by name"),
        (lambda: Agent(model="openai/x"), "Agent has no argument 'model': write the model first"),
        (lambda: Agent("openai/x", instructions="Be brief."), "system_prompt='...'"),
        (lambda: Agent("openai/x", toolz=[]), "did you mean 'tools'?"),
        (lambda: Skill(content="Look.", trigger="x"), "Skill has no argument 'content': write body='...'"),
        (lambda: Skill(name="x", trigger="x"), "write triggers=['...']"),
        (lambda: Skill(body="x"), "Skill needs 'name'"),
        (lambda: AgentContext(instructions="x"), "write system_message_suffix='...'"),
        (lambda: Tool(), "Tool needs 'name'"),
        (lambda: Limits(zzz=1), "Limits has no argument 'zzz': it has max_steps, "),
        (lambda: ConfirmRisky("HIGH", True, 3), "ConfirmRisky takes threshold, confirm_unknown without a name"),
        (lambda: Conversation(Agent("openai/x"), callbacks=[print]), "write on_event=..."),
        (lambda: Conversation(Agent("openai/x"), persistence_dir="x"), "write store=..."),
        (lambda: run_sync(Agent("openai/x"), "Hi", persistence_dir="x"), "write store=..."),
        (lambda: Runtime(tolls=()), "did you mean 'tools'?"),
        (lambda: Conversation(Agent("openai/x"), titel="x"), "did you mean 'title'?"),
    ],
)
def test_an_argument_that_is_not_there(make: Callable[[], Any], words: str) -> None:
    assert words in said(make)


def test_no_habit_is_the_name_of_an_argument() -> None:
    constructors = {
        kind.__name__: set(inspect.signature(kind).parameters)
        for kind in (LLM, Agent, Skill, AgentContext, Conversation, Tool, run_sync, Conversation.prompt)
    }
    assert constructors.keys() == arguments.HABITS.keys()
    for owner, habits in arguments.HABITS.items():
        assert not habits.keys() & constructors[owner]


def test_what_is_left_at_its_default_is_not_shown() -> None:
    assert repr(LLM("openai/x", temperature=0.5)) == "LLM(model='openai/x', temperature=0.5)"

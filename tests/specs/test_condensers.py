"""Condensers as they are given, and as files name them."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from agentrt import Agent, LLMSummarizingCondenser, NoOpCondenser, ObservationMaskingCondenser, PipelineCondenser
from agentrt.errors import ConfigurationError
from agentrt.specs import LLM
from agentrt.specs.condensers import NamedCondenser, named_condensers, read_condenser, stages, summarizers

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("kind", [LLMSummarizingCondenser, partial(NamedCondenser, name="mine")])
@pytest.mark.parametrize(("max_size", "keep_first"), [(2, 0), (3, 0), (8, 3), (9, 3), (240, 119), (0, 0)])
def test_one_that_leaves_no_room_is_refused(kind: Any, max_size: int, keep_first: int) -> None:
    with pytest.raises(ConfigurationError, match=r"leaves no room .* max_size must be \d+ at least|max_size"):
        kind(max_size=max_size, keep_first=keep_first)


@pytest.mark.parametrize(("max_size", "keep_first"), [(4, 0), (10, 3), (240, 2), (240, 118)])
def test_the_least_that_leaves_room_is_taken(max_size: int, keep_first: int) -> None:
    assert max_size // 2 - keep_first - 1 > 0
    assert LLMSummarizingCondenser(max_size=max_size, keep_first=keep_first).max_size == max_size


@pytest.mark.parametrize(
    "fields",
    [
        {"minimum_progress": 1.5},
        {"minimum_progress": -0.1},
        {"max_tokens": 0},
        {"hard_context_reset_max_retries": -1},
        {"max_size": "many"},
        {"llm": 3},
    ],
)
def test_what_cannot_be_is_one_clear_error(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        LLMSummarizingCondenser(**fields)


def test_the_usual_one_has_the_reference_s_thresholds() -> None:
    one = Agent(llm=LLM(model="openai/x")).condenser
    assert isinstance(one, LLMSummarizingCondenser)
    assert (one.max_size, one.max_tokens, one.keep_first, one.minimum_progress) == (240, None, 2, 0.1)
    assert (one.hard_context_reset_max_retries, one.hard_context_reset_context_scaling) == (5, 0.8)


def test_one_of_ones_own_is_named_by_a_string() -> None:
    assert Agent(llm=LLM(model="openai/x"), condenser="mine").condenser == NamedCondenser(name="mine")


def test_none_condenses_nothing_and_a_pipeline_takes_names() -> None:
    assert Agent(llm=LLM(model="openai/x"), condenser=None).condenser == NoOpCondenser()
    made = PipelineCondenser(condensers=["mine", LLMSummarizingCondenser()])  # type: ignore[arg-type]
    assert made.condensers == (NamedCondenser(name="mine"), LLMSummarizingCondenser())


def test_a_pipeline_has_its_stages_names_and_models() -> None:
    own, last = NamedCondenser(name="mine"), LLMSummarizingCondenser(llm=LLM(model="openai/cheap"))
    made = PipelineCondenser(condensers=(NoOpCondenser(), own, last))
    assert list(stages(made)) == [own, last]
    assert named_condensers(made) == ["mine"]
    assert summarizers(made) == (LLM(model="openai/cheap"),)
    with pytest.raises(ConfigurationError, match="at least one"):
        PipelineCondenser(condensers=())


def test_all_of_them_go_through_json_and_back() -> None:
    for one in (
        LLMSummarizingCondenser(llm=LLM(model="openai/cheap")),
        NoOpCondenser(),
        NamedCondenser(name="mine", max_size=80),
        PipelineCondenser(condensers=(ObservationMaskingCondenser(attention_window=3), LLMSummarizingCondenser())),
    ):
        agent = Agent(llm=LLM(model="openai/x"), condenser=one)
        assert msgspec.json.decode(msgspec.json.encode(agent), type=Agent) == agent


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (None, LLMSummarizingCondenser()),
        ({"max_size": 80}, LLMSummarizingCondenser(max_size=80)),
        ("NoOpCondenser", NoOpCondenser()),
        (
            {"type": "ObservationMaskingCondenser", "attention_window": 3},
            ObservationMaskingCondenser(attention_window=3),
        ),
        ({"max_size": 3}, None),
        ("nobody", None),
        ({"llm": "openai/x"}, LLMSummarizingCondenser(llm=LLM("openai/x"))),
        (
            {"llm": {"type": "LLM", "model": "openai/x", "base_url": "http://x.example"}},
            LLMSummarizingCondenser(llm=LLM("openai/x", base_url="http://x.example")),
        ),
        (
            {"kind": "LLMSummarizingCondenser", "llm": {"model": "openai/x"}},
            LLMSummarizingCondenser(llm=LLM("openai/x")),
        ),
        ({"lmm": "openai/x"}, None),
        ({"type": "NamedCondenser", "name": "x"}, None),
        (
            {"type": "PipelineCondenser", "condensers": [{"type": "LLMSummarizingCondenser", "llm": "openai/x"}]},
            PipelineCondenser((LLMSummarizingCondenser(llm=LLM("openai/x")),)),
        ),
        (7, None),
    ],
)
def test_a_file_names_one_or_says_nothing_that_can_be_used(given: Any, made: Any) -> None:
    assert read_condenser(given) == made

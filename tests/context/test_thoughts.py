"""Reasoning in a model's text is found, however the text comes in pieces, and an answer about tags stays one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentrt.context.messages import ToolCall
from agentrt.context.replies import ModelReply
from agentrt.context.thoughts import Thoughts, apart, reasoned
from tests import samples

pytestmark = pytest.mark.pure

TOOLS = (samples.definition("finish"), samples.definition("terminal"))

CASES = {
    "whole": ("<think>plan\nmore</think>\n\nAnswer.\n", "Answer.", "plan\nmore"),
    "space-before": ("\n <think>\nplan\n</think>Answer.", "Answer.", "plan"),
    "thinking": ("<thinking>plan</thinking>Answer.", "Answer.", "plan"),
    "never-closed": ("<think>plan, and <b>so</b> on </thin", "", "plan, and <b>so</b> on </thin"),
    "only-closed": ("plan\n</think>\n\nAnswer.", "Answer.", "plan"),
    "only-closed-within-a-line": ("I greet.</think>Hello!", "Hello!", "I greet."),
    "closed-alone": ("</think>\nAnswer.", "Answer.", ""),
    "empty": ("<think>\n\n</think>\n\nAnswer.", "Answer.", ""),
    "nothing-else": ("<think>plan</think>", "", "plan"),
    "two": ("<think>one</think><think> two</think>Answer.", "Answer.", "one two"),
    "later": ("One.\n  <think>plan</think>\nTwo.", "One.\n  \nTwo.", "plan"),
    "within-a-line": ("Sure. <think>plan</think>Done.", "Sure. Done.", "plan"),
    "within-a-line-and-a-word-of-it": ("One<think>a</think>Two <think> three", "OneTwo<think> three", "a"),
    "closed-and-later": ("plan</think>One.\n<think>more</think>Two.", "One.\nTwo.", "planmore"),
}
AS_THEY_ARE = [
    "Answer.",
    "  Answer.\n\n",
    "",
    "Models write <think> before they answer.",
    "`<think>` opens it and `</think>` closes it.",
    'It ends with "</think>".',
    "```xml\n<think>\nplan\n</think>\n```\nSo it is.",
    "~~~\n<think>\n~~~",
    "```\nplan</think>\n```",
    "Use </think> to close the reasoning.",
    "It ends with a **</think>** tag.",
    "<thinker> is not a tag, nor is <think",
    "<b>bold</b>",
]


@pytest.mark.parametrize(("text", "said", "reasoning"), CASES.values(), ids=CASES.keys())
def test_reasoning_is_apart(text: str, said: str, reasoning: str) -> None:
    assert apart(text) == (said, reasoning)


@pytest.mark.parametrize("text", AS_THEY_ARE)
def test_what_is_no_reasoning_stays_as_it_is(text: str) -> None:
    reply = ModelReply(text=text, reasoning="native")
    assert reasoned(reply) is reply


def test_a_reply_has_it_with_its_other_reasoning() -> None:
    reply = reasoned(ModelReply(text="<think>plan</think>Answer.", reasoning="native"))
    assert (reply.text, reply.reasoning) == ("Answer.", "native\n\nplan")


def test_the_message_of_finish_has_none() -> None:
    call = ToolCall("1", "finish", '{"message":"<think>plan</think>Done."}')
    reply = reasoned(ModelReply(tool_calls=(call, ToolCall("2", "terminal", '{"command":"<think>"}'))), TOOLS)
    assert [one.arguments for one in reply.tool_calls] == ['{"message":"Done."}', '{"command":"<think>"}']
    assert reply.reasoning == "plan"


PARTS = st.sampled_from(
    ["<think>", "</think>", "<thinking>", "</thinking>", "<thi", "nk>", "</", "<", "\n", "  ", "```", "x", "word "]
)
TEXTS = st.one_of(
    st.lists(PARTS, max_size=12).map("".join), st.sampled_from([text for text, *_ in CASES.values()] + AS_THEY_ARE)
)


def taken_apart(pieces: list[str]) -> tuple[str, str]:
    """What is shown on either channel."""
    thoughts = Thoughts()
    found = [part for piece in pieces for part in thoughts.feed(piece)] + thoughts.flush()
    assert all(piece for _, piece in found)
    texts = "".join(piece for channel, piece in found if channel == "text")
    return texts, "".join(piece for channel, piece in found if channel == "reasoning")


@given(TEXTS, st.lists(st.integers(0, 60), max_size=8))
def test_any_pieces_give_the_same(text: str, places: list[int]) -> None:
    ends = sorted({0, len(text), *(min(place, len(text)) for place in places)})
    pieces = [text[start:end] for start, end in pairwise(ends)]
    assert taken_apart(pieces) == taken_apart([text]) == taken_apart(list(text))


@given(TEXTS)
def test_no_word_is_lost_and_the_whole_agrees_with_the_pieces(text: str) -> None:
    said, reasoning = apart(text)
    for mark in ("<think>", "</think>", "<thinking>", "</thinking>"):
        text, said, reasoning = text.replace(mark, ""), said.replace(mark, ""), reasoning.replace(mark, "")
    assume("<thi" not in text or "nk>" not in text)  # halves of a tag that would be one without what is between them
    assert sorted("".join(text.split())) == sorted("".join((said + reasoning).split()))


def _is_plain(text: str) -> bool:
    """Whether a whole text says no more of its tags than what has come of it."""
    thoughts = Thoughts()
    thoughts.feed(text)
    return "</think" not in text.split("<think")[0] and not (thoughts.inside and thoughts.opened_in_line)


@given(TEXTS.filter(_is_plain))
def test_what_streams_is_what_the_whole_says(text: str) -> None:
    said, reasoning = taken_apart(list(text))
    assert tuple(map(str.strip, apart(text))) == (said.strip(), reasoning.strip())


def test_an_answer_comes_as_it_streams() -> None:
    thoughts = Thoughts()
    assert thoughts.feed("<think>pl") == [("reasoning", "pl")]
    assert thoughts.feed("an</th") == [("reasoning", "an")]
    assert thoughts.feed("ink>\n\nAns") == [("text", "Ans")]
    assert thoughts.feed("wer <th") == [("text", "wer ")]
    assert thoughts.flush() == [("text", "<th")]

"""What is kept of the messages that were encoded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.messages import Message, ToolCall
from agentrt.llm.providers import PROVIDERS
from agentrt.llm.wires import (
    AnthropicMessages,
    Asked,
    ChatCompletions,
    Format,
    GeminiContent,
    Histories,
    OpenAIResponses,
)
from agentrt.protocols import ModelRequest
from agentrt.specs import LLM, Capabilities, Thinking
from agentrt.specs.content import text

pytestmark = pytest.mark.pure

FORMATS: list[tuple[Format, str]] = [
    (ChatCompletions(), "openai"),
    (OpenAIResponses(), "openai"),
    (AnthropicMessages(), "anthropic"),
    (GeminiContent(), "gemini"),
]
BLOCKS = msgspec.Raw(b'[{"type":"thinking","thinking":"Hm","signature":"s"}]')

messages = st.lists(
    st.one_of(
        st.builds(lambda said: Message("user", text(said)), st.sampled_from(["a", "b", ""])),
        st.builds(lambda said: Message("assistant", text(said)), st.sampled_from(["c", ""])),
        st.builds(lambda: Message("assistant", (), (ToolCall("1", "look", "{}"),), thinking=Thinking("m", BLOCKS))),
        st.builds(lambda said: Message("tool", text(said), tool_call_id="1"), st.sampled_from(["d", ""])),
    ),
    max_size=8,
)


def sent(form: Format, provider: str, said: list[Message], histories: Histories | None = None) -> Any:
    llm = LLM(model="m", reasoning_effort="high")
    request = ModelRequest(llm, [Message("system", text("Be short.")), *said], (), "conversation")
    known = Capabilities(cache_marks=provider == "anthropic")
    asked = Asked(request, PROVIDERS[provider], "m", known, {}, 9000)
    if histories is not None:
        asked = msgspec.structs.replace(asked, histories=histories)
    return msgspec.json.decode(form.sent(asked).body)


@pytest.mark.parametrize(("form", "provider"), FORMATS, ids=lambda given: type(given).__name__)
@given(histories=st.lists(messages, max_size=4))
def test_what_is_sent_is_the_same_with_and_without_what_was_kept(
    form: Format, provider: str, histories: list[list[Message]]
) -> None:
    kept = Histories()
    for said in histories:
        assert sent(form, provider, said, kept) == sent(form, provider, said)


def test_only_what_is_new_is_encoded() -> None:
    encoded = list[str]()

    def encode(message: Message) -> bytes:
        encoded.append(message.role)
        return message.role.encode()

    kept, said = Histories(), [Message("user", text(str(n))) for n in range(100)]
    kept.encoded("a", said, encode)
    assert len(encoded) == 100
    more = [*(Message("user", text(str(n))) for n in range(100)), Message("assistant", ())]
    assert len(kept.encoded("a", more, encode)) == 101
    assert len(encoded) == 101
    kept.encoded("a", more[:50], encode)
    assert len(encoded) == 101
    kept.encoded("a", [Message("user", text("new")), *said[1:]], encode)
    assert len(encoded) == 201


def test_no_more_is_kept_than_may_be() -> None:
    kept, calls = Histories(100), list[str]()

    def encode(message: Message) -> bytes:
        calls.append(message.role)
        return b"x" * 30

    for name in "abcab":
        kept.encoded(name, [Message("user", ())], encode)
    assert len(calls) == 3
    kept.encoded("d", [Message("user", ())], encode)
    kept.encoded("a", [Message("user", ())], encode)
    kept.encoded("c", [Message("user", ())], encode)
    assert len(calls) == 5, "that of c was the oldest"
    kept.encoded("e", [Message("user", ())] * 9, encode)
    kept.encoded("e", [Message("user", ())] * 9, encode)
    assert len(calls) == 5 + 18, "what is too large is not kept"

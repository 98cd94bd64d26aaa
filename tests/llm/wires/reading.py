"""How the tests have an answer read by a `Format`, without a network."""

from __future__ import annotations

from typing import Any

import msgspec

from agentrt.context.messages import Message
from agentrt.context.replies import ModelReply
from agentrt.llm.providers import PROVIDERS, named
from agentrt.llm.wires import Asked, Format, Reader
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs import LLM, Capabilities
from agentrt.specs.content import text

from ..calling import Shown

WORDS = (Message("user", text("Look.")),)


def asked(model: str = "openai/any", **changes: Any) -> Asked:
    """A question to a model."""
    provider, name = named(model)
    llm = LLM(model=model, base_url="http://127.0.0.1:9/v1", **changes)
    return Asked(ModelRequest(llm, WORDS, ()), PROVIDERS[provider], name, Capabilities(), {}, None, official=False)


def reader(form: Format, watch: Watch | None = None, **changes: Any) -> Reader:
    """What reads an answer."""
    return form.reader(asked(**changes), watch or Watch())


def streamed(form: Format, *events: Any, **changes: Any) -> ModelReply:
    """The reply that a stream of events is; what was shown of it is its text, and its reasoning."""
    shown = Shown()
    reads = reader(form, shown, **changes)
    for event in events:
        if reads.take(encoded(event)):
            break
    reply = reads.reply()
    assert (shown.of("text"), shown.of("reasoning")) == (reply.text, reply.reasoning)
    return reply


def whole(form: Format, answer: Any, **changes: Any) -> ModelReply:
    """The reply that an answer is."""
    reads = reader(form, **changes)
    reads.whole(encoded(answer))
    return reads.reply()


def encoded(value: Any) -> bytes:
    """JSON, of what is not bytes already."""
    return value if isinstance(value, bytes) else msgspec.json.encode(value)

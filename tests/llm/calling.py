"""How the tests call a model: through litellm, at a provider whose words are scripted."""

from __future__ import annotations

from typing import Any

import anyio

from agentrt.context.messages import Message
from agentrt.protocols import ModelRequest, Watch
from agentrt.specs import LLM
from agentrt.specs.content import text
from agentrt.testing import ScriptedProvider, WireName
from tests import samples

WIRES: tuple[WireName, ...] = ("chat", "responses", "anthropic")


def llm(provider: ScriptedProvider, wire: WireName, **changes: Any) -> LLM:
    """The model that `provider` answers for on a wire."""
    make = {"chat": provider.llm, "responses": provider.responses_llm, "anthropic": provider.anthropic_llm}
    return make[wire](**changes)


def request(llm: Any, *messages: Message) -> ModelRequest:
    """What a model is asked: to look, unless there are messages."""
    given = messages or (Message("user", text("Look.")),)
    return ModelRequest(llm, (Message("system", text("Be short.")), *given), (samples.definition("look"),))


class Shown(Watch):
    """Keeps what was shown, and says when the first piece came."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str]] = []
        self.begun = anyio.Event()

    def show(self, channel: str, piece: str) -> None:
        self.pieces.append((channel, piece))
        self.begun.set()

    def of(self, channel: str) -> str:
        """All of a channel."""
        return "".join(piece for shown, piece in self.pieces if shown == channel)

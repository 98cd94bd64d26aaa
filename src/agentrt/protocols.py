"""The seams: what the runtime asks of a model, a tool, an analyzer and a storage. One to three methods each.

Those of a storage are in `storing`, those of a tool in `executing`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

import msgspec

from .context.condensing import Condensed, Room
from .context.judging import CriticResult
from .context.messages import Message
from .context.replies import ModelReply
from .events import ActionEvent, Event
from .executing import Calls as Calls
from .executing import Files as Files
from .executing import Lease as Lease
from .executing import Made as Made
from .executing import Masking as Masking
from .executing import Models as Models
from .executing import Observation as Observation
from .executing import Recollection as Recollection
from .executing import ToolContext as ToolContext
from .executing import ToolExecutor as ToolExecutor
from .executing import Watchful as Watchful
from .security.rating import Rating, Scene
from .specs import LLM, AnyLLM, Capabilities, ToolDefinition, Workspace
from .specs.llm import known_of
from .storing import Committed as Committed
from .storing import History as History
from .storing import Journal as Journal
from .storing import Listing as Listing
from .storing import Records as Records
from .storing import Shelf as Shelf
from .storing import Storage as Storage


class Speech(msgspec.Struct, frozen=True):
    """Sound that a model is to write down: an MP3, and how many seconds it lasts."""

    mp3: bytes
    seconds: float


class ModelRequest(msgspec.Struct, frozen=True):
    """All that a model is given."""

    llm: AnyLLM
    messages: Sequence[Message]
    tools: tuple[ToolDefinition, ...]
    conversation: str = ""
    """Whose call it is: calls are shared out fairly between conversations, and one's prompts are cached together."""
    speech: Speech | None = None
    """Of a model that writes down what is said; `messages` only name it then."""

    @property
    def seconds(self) -> float:
        """How long the sound lasts that goes along."""
        return 0.0 if self.speech is None else self.speech.seconds

    @property
    def one(self) -> LLM:
        """The model, where the choice was made. Raises `TypeError` where it was not."""
        if not isinstance(self.llm, LLM):
            raise TypeError(f"{type(self.llm).__name__} is no single model: RoutedClient chooses one")
        return self.llm


class FailedTry(msgspec.Struct, frozen=True):
    """A try of a model call that failed, and after `wait` seconds another one follows, of `next_model`."""

    attempt: int
    model: str
    next_model: str
    code: str
    detail: str
    wait: float = 0.0


class Watch:
    """Sees a model call; this one looks away. Subclass it to show, to stop or to note what happens."""

    def show(self, channel: Literal["text", "reasoning"], piece: str) -> None:
        """A piece of the reply has come."""

    async def begin(self, request: ModelRequest, known: Capabilities) -> int | None:
        """A try is about to be sent to one model; how many tokens its answer may have, None when it may have any.

        Raises `ModelError` to keep it from being sent.
        """
        return None

    async def failed(self, failure: FailedTry) -> None:
        """A try has failed, what it showed is void, and another one follows when this returns."""


class ModelClient(Protocol):
    """Calls models. A class that names this one as its base needs only `complete`."""

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The reply. Raises `ModelError`; cancelling it closes the connection."""
        ...

    async def prepare(self, llm: AnyLLM) -> None:
        """Load what the first call needs. Raises `UnknownModel` or `MissingKey` when no call can work."""
        return

    def known(self, llm: LLM) -> Capabilities:
        """What is known of a model that was prepared."""
        return known_of(llm)


class SecurityAnalyzer(Protocol):
    """Rates actions before they run."""

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """The rating. Whatever it raises counts as HIGH."""
        ...


class Critic(Protocol):
    """Judges what an agent has finished."""

    async def evaluate(self, events: Sequence[Event], workspace: Workspace) -> CriticResult:
        """How good the work is, given what the model has seen and done. What it raises ends the run."""
        ...


class Condenser(Protocol):
    """Makes a view shorter."""

    async def condense(self, view: Sequence[Event], room: Room) -> Condensed | None:
        """What of a view is to be forgotten, so that the rest has room; None where it has nothing to offer.

        Events are forgotten by their ids: a call with its batch and its results, and never the first ones. What it
        raises, and what breaks that law, is noted, and the view is condensed without it.
        """
        ...


Sleep = Callable[[float], Awaitable[None]]
Clock = Callable[[], float]
Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls a function after so many seconds, on the event loop; what it returns takes that back."""


def call_later(seconds: float, then: Callable[[], None]) -> Callable[[], None]:
    """The `Later` of the running event loop."""
    return asyncio.get_running_loop().call_later(seconds, then).cancel

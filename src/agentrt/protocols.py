"""The protocols that extensions implement: a model client, a tool, an analyzer, a storage. One to three methods each.

The protocols of a storage are defined in `storing`, those of a tool in `executing`.
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
from .executing import Losable as Losable
from .executing import Made as Made
from .executing import Masking as Masking
from .executing import Models as Models
from .executing import Observation as Observation
from .executing import Recollection as Recollection
from .executing import ToolContext as ToolContext
from .executing import ToolExecutor as ToolExecutor
from .executing import Watchful as Watchful
from .placing import Place as Place
from .placing import PlaceType as PlaceType
from .placing import Setting as Setting
from .security.rating import Rating, Scene
from .specs import LLM, AnyLLM, Capabilities, ToolDefinition, WorkspaceSpec
from .specs.llm import known_of
from .storing import Committed as Committed
from .storing import History as History
from .storing import Journal as Journal
from .storing import Listing as Listing
from .storing import Records as Records
from .storing import Shelf as Shelf
from .storing import Storage as Storage


class Speech(msgspec.Struct, frozen=True):
    """Sound to be transcribed by a model: an MP3, and its length in seconds."""

    mp3: bytes
    seconds: float


class ModelRequest(msgspec.Struct, frozen=True):
    """The complete input of a model call."""

    llm: AnyLLM
    messages: Sequence[Message]
    tools: tuple[ToolDefinition, ...]
    conversation: str = ""
    """The id of the calling conversation. Calls are shared fairly between conversations, and the prompts of one are
    cached together.
    """
    speech: Speech | None = None
    """The input of a transcription model; `messages` only name it then."""

    embeds: bool = False
    """Whether the model is an embedding model; the reply has a vector for each message's text then."""

    @property
    def is_special(self) -> bool:
        """Whether it is no chat: speech to be transcribed, or texts to be embedded."""
        return self.speech is not None or self.embeds

    @property
    def seconds(self) -> float:
        """The length of the attached sound in seconds."""
        return 0.0 if self.speech is None else self.speech.seconds

    @property
    def one(self) -> LLM:
        """The chosen model. Raises `TypeError` if no single model was chosen."""
        if not isinstance(self.llm, LLM):
            raise TypeError(f"{type(self.llm).__name__} is not a single model: RoutedClient chooses one")
        return self.llm


class FailedTry(msgspec.Struct, frozen=True):
    """A failed attempt of a model call; after `wait` seconds another attempt follows, with `next_model`."""

    attempt: int
    model: str
    next_model: str
    code: str
    detail: str
    wait: float = 0.0


class Watch:
    """Observes a model call; this base class does nothing. Subclass it to show, to stop or to record the call."""

    def show(self, channel: Literal["text", "reasoning"], piece: str) -> None:
        """Receive a piece of the reply."""

    async def begin(self, request: ModelRequest, known: Capabilities) -> int | None:
        """Called before an attempt is sent to a model. Return the most tokens that its answer may have, or None for no
        limit.

        Raise `ModelError` to prevent the attempt.
        """
        return None

    async def failed(self, failure: FailedTry) -> None:
        """Called after a failed attempt. The pieces that it showed are void, and another attempt follows when this
        returns.
        """


class ModelClient(Protocol):
    """Calls models. A subclass needs to define only `complete`."""

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Return the reply. Raises `ModelError`; cancelling closes the connection."""
        ...

    async def prepare(self, llm: AnyLLM) -> None:
        """Load what the first call needs. Raises `UnknownModel` or `MissingKey` when no call can work."""
        return

    def known(self, llm: LLM) -> Capabilities:
        """Return the known capabilities of a model that was prepared."""
        return known_of(llm)


class SecurityAnalyzer(Protocol):
    """Rates the risk of actions before they run."""

    async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
        """Return the rating. Any exception counts as HIGH."""
        ...


class Critic(Protocol):
    """Judges an agent's finished work."""

    async def evaluate(self, events: Sequence[Event], workspace: WorkspaceSpec) -> CriticResult:
        """Return how good the work is, given what the model has seen and done. An exception ends the run."""
        ...


class Condenser(Protocol):
    """Shortens a view: the events that the model sees."""

    async def condense(self, view: Sequence[Event], room: Room) -> Condensed | None:
        """Return the events to forget, so that the rest has room; None if there is nothing to forget.

        Events are forgotten by their ids: a call together with its batch and its results, and never the first events.
        An exception, or an invalid result, is recorded, and the view is condensed without this condenser.
        """
        ...


Sleep = Callable[[float], Awaitable[None]]
Clock = Callable[[], float]
Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls a function after a number of seconds, on the event loop. It returns a function that cancels the call."""


def call_later(seconds: float, then: Callable[[], None]) -> Callable[[], None]:
    """Schedule a call on the running event loop; a `Later`."""
    return asyncio.get_running_loop().call_later(seconds, then).cancel

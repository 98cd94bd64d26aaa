"""The seams: what the runtime asks of a model, a tool, an analyzer and a storage. One to three methods each.

Those of a storage are in `storing`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

import msgspec

from .context.condensing import Condensed, Room
from .context.judging import CriticResult
from .context.messages import Message
from .context.replies import ModelReply
from .events import ActionEvent, Event, InputGiven, ObservationEvent
from .listing import Hit
from .security.rating import Rating, Scene
from .specs import LLM, AnyLLM, BlobReference, Capabilities, Content, ToolDefinition, Workspace
from .specs.content import TEXT, text
from .specs.flow import Label
from .specs.llm import known_of
from .specs.memory import Scope
from .state import Seen
from .storing import Committed as Committed
from .storing import History as History
from .storing import Journal as Journal
from .storing import Listing as Listing
from .storing import Records as Records
from .storing import Shelf as Shelf
from .storing import Storage as Storage

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ModelRequest(msgspec.Struct, frozen=True):
    """All that a model is given."""

    llm: AnyLLM
    messages: Sequence[Message]
    tools: tuple[ToolDefinition, ...]
    conversation: str = ""
    """Whose call it is: calls are shared out fairly between conversations, and one's prompts are cached together."""

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


_BLOCKS = get_args(Content)


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's result; subclasses add fields, which the log keeps and the model does not see.

    `still_running` says that it only says so: an agent that asks again and again does not repeat itself. `labels` say
    that it holds what nobody vouches for. `found` are tools that can be called from then on.
    """

    content: tuple[Content, ...] = ()
    is_error: bool = False
    still_running: bool = False
    labels: tuple[Label, ...] = ()
    found: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """A text, or a list, becomes a tuple. Raises `TypeError` for what is no content."""
        given: Any = self.content
        if type(given) is not tuple:
            given = text(given) if isinstance(given, str) else tuple(given)
            msgspec.structs.force_setattr(self, "content", given)
        if not all(isinstance(block, _BLOCKS) for block in given):
            raise TypeError("Observation(content=...): expected a text, or a list of TextContent, ImageContent")


class Files(Protocol):
    """Files as a conversation's commands see them, by absolute path; links lead where they lead for those.

    All methods are for a thread, since they block, and raise `ToolError`.
    """

    def status(self, path: str) -> os.stat_result | None:
        """What stands at a path, links followed; None where nothing does."""
        ...

    def real(self, path: str) -> str:
        """The path, without links in it, of a file or directory that is there."""
        ...

    def names(self, path: str) -> list[tuple[str, bool, bool]]:
        """What is in a directory, by name: each, whether it is a directory once links are followed, and whether it is a
        link.
        """
        ...

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Have a file, which may be new, hold these bytes; whole or not at all."""
        ...

    def move(self, path: str, target: str) -> None:
        """Have a file stand at another path, where nothing is."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file."""
        ...


class Masking(Protocol):
    """Takes secrets out of a text that comes in pieces; what may be the beginning of one waits for the next piece."""

    def feed(self, piece: str) -> str:
        """Take a piece; what may be shown now."""
        ...

    def flush(self) -> str:
        """The text has ended: what was held back."""
        ...


class Recollection(Protocol):
    """What a conversation may look up of its past, and what it may note for later ones."""

    @property
    def view(self) -> Sequence[Seen]:
        """What the agent sees now."""
        ...

    async def events(self) -> list[Event]:
        """The events that led to where the conversation is."""
        ...

    async def results(self, tool: str) -> list[ObservationEvent]:
        """The results of a tool among them, also those that came just now."""
        ...

    async def event(self, seq: int) -> Event | None:
        """One of them; None where there is none of that seq."""
        ...

    async def earlier(self, words: str, limit: int) -> Sequence[Hit]:
        """Where words stand in the earlier conversations of the same owner in the same workspace, the best first.

        Raises `ConfigurationError` where they cannot be searched.
        """
        ...

    async def memory(self, scope: Scope) -> str:
        """What is noted for later conversations. Raises `ToolError`."""
        ...

    async def memorize(self, scope: Scope, change: Callable[[str], str]) -> str:
        """Have `change` make the notes of what they are; what they are then. Raises `ToolError`."""
        ...


class Models(Protocol):
    """What a tool asks of the models that the user has saved as profiles."""

    async def switch(self, profile: str) -> str:
        """Have the agent go on with one, from its next call on; its name. Raises `ToolError`."""
        ...

    async def look(self, number: int, question: str, profile: str) -> str:
        """What one that sees says of an image among what the agent sees, from 1; "": the agent's own model.

        Raises `ToolError`.
        """
        ...


class Lease(Protocol[T_co]):
    """A share of something that several tools use, until it is given back."""

    @property
    def value(self) -> T_co:
        """What is shared."""
        ...

    @property
    def ended(self) -> bool:
        """Whether it is closed, or about to be: another lease opens it anew."""
        ...

    def end(self) -> None:
        """Have it closed for all who share it: it does not work any more."""
        ...

    def release(self) -> None:
        """Give it back; the last one who does closes it."""
        ...


class ToolContext(Protocol):
    """What a tool has of its conversation."""

    @property
    def recollection(self) -> Recollection:
        """Its past, and what is noted for later."""
        ...

    @property
    def models(self) -> Models:
        """Saved models."""
        ...

    @property
    def workspace(self) -> Workspace:
        """Where it works."""
        ...

    @property
    def files(self) -> Files:
        """The files that it may reach."""
        ...

    @property
    def conversation(self) -> str:
        """What names the conversation in the environment of the processes that it starts: no other one has it."""
        ...

    async def previous(self) -> msgspec.Raw | None:
        """The details of this tool's last result that is still in view, also from before a restart."""
        ...

    def output(self, text: str) -> None:
        """Show a piece of output while the tool runs; it is not stored."""
        ...

    async def ask(
        self, message: str, schema: Mapping[str, Any] | None = None, url: str = "", asks: str = ""
    ) -> InputGiven | None:
        """What a person answers to a form with that schema, or to the wish that an address is opened, whenever it is.

        None where there is nobody to ask: the agent's policy asks nobody, or it works for another conversation.
        """
        ...

    def start_soon(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run something beside the calls, until the executor was closed; when it fails the executor is made anew."""
        ...

    async def lease(
        self, kind: str, opened: Callable[[], AbstractAsyncContextManager[T]], *, tree: bool = False
    ) -> Lease[T]:
        """A share of what the tools of this conversation have in common under that name; with `tree`, also those of the
        conversations that it delegates to. It is opened where there is none, in a task of its own. The executor gives
        it back when it is closed. Raises what opening it does.
        """
        ...

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        """Store bytes beside the log, durable when this returns."""
        ...

    async def spill(self, text: str) -> str | None:
        """Write what a model is not shown of a result, without secrets, to a file that its own tools read; the file's
        path, or None where none can be written. The newest few files stay while the tool is open.
        """
        ...

    async def secrets(self, text: str) -> Mapping[str, str]:
        """The secrets of the conversation that `text` names, for one execution.

        Raises `ToolError` when one cannot be had.
        """
        ...

    def masked(self, text: str, *, by_line: bool = False) -> str:
        """`text` without secrets: for what is cut, numbered or compared before it is returned, since a part of one is
        not seen as one. With `by_line` there are as many lines as before.
        """
        ...

    def masking(self) -> Masking:
        """The same for a text that comes in pieces, also from call to call."""
        ...


class ToolExecutor(Protocol):
    """Runs one tool's calls for one conversation."""

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        """The result. Raises `ToolError` with a text for the model; cancelling it ends all that it started."""
        ...

    async def aclose(self) -> None:
        """Give up what it holds."""
        ...


@runtime_checkable
class Watchful(Protocol):
    """An executor that may have something at work between two calls."""

    async def at_work(self) -> bool:
        """Whether it has: its conversation is kept in memory meanwhile."""
        ...


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

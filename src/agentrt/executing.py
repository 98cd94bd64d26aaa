"""The seams of a tool: what its executor is given of a conversation, and what it gives back."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar, get_args, runtime_checkable

import msgspec

from .events import ActionEvent, AgentErrorEvent, Event, InputGiven, ObservationEvent, UserRejectObservation
from .listing import Hit
from .specs import BlobReference, Content, Workspace
from .specs.content import TEXT, text
from .specs.flow import Label
from .specs.memory import Scope
from .state import Seen

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

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

    async def see(self, images: Sequence[Content], question: str, profile: str = "") -> str:
        """What one that sees says of images. Raises `ToolError`."""
        ...

    async def hear(self, mp3: bytes, seconds: float, model: str) -> str:
        """What is said in a piece of sound, as a model writes it down: a saved one, or any that litellm knows.

        Raises `ToolError`.
        """
        ...


class Made(msgspec.Struct, frozen=True):
    """A call that the code of an action has made, with its result."""

    action: ActionEvent
    result: ObservationEvent | UserRejectObservation | AgentErrorEvent


class Calls(Protocol):
    """What the code that a tool runs may call: the other tools of the agent, each as an action of its own."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tools that it may call."""
        ...

    @property
    def resumed(self) -> bool:
        """Whether this action was begun before, by a process that has ended: see `OnCrash.RESUME`."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Made:
        """Have a tool do something, once it was rated and whoever is to be asked has agreed.

        Raises `ToolError` for what cannot be called.
        """
        ...

    async def made(self) -> Sequence[Made]:
        """All calls of this action, in their order, once each of them has its result."""
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
    def calls(self) -> Calls:
        """The other tools."""
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

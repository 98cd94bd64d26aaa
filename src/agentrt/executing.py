"""The protocols of a tool: what its executor gets from a conversation, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar, get_args, runtime_checkable

import msgspec

from .events import ActionEvent, AgentErrorEvent, Event, InputGiven, ObservationEvent, UserRejectObservation
from .listing import Hit
from .placing import Files as Files
from .placing import Place as Place
from .specs import BlobReference, Content, WorkspaceSpec
from .specs.content import TEXT, text
from .specs.flow import Label
from .specs.memory import Scope
from .state import Seen

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_BLOCKS = get_args(Content)


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's result; subclasses add fields, which the log keeps and the model does not see.

    With `still_running`, it only says that the call is still running: an agent that asks again and again does not
    repeat itself. `labels` are the sources of untrusted content in it. `found` are deferred tools that can be called
    from then on.
    """

    content: tuple[Content, ...] = ()
    is_error: bool = False
    still_running: bool = False
    labels: tuple[Label, ...] = ()
    found: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Convert `content` from a text or a list to a tuple. Raises `TypeError` if it is not content."""
        given: Any = self.content
        if type(given) is not tuple:
            given = text(given) if isinstance(given, str) else tuple(given)
            msgspec.structs.force_setattr(self, "content", given)
        if not all(isinstance(block, _BLOCKS) for block in given):
            raise TypeError("Observation(content=...): expected a text, or a list of TextContent, ImageContent")


_NO_DETAILS = msgspec.Raw(b"null")
_COMMON_FIELDS = frozenset(Observation.__struct_fields__)


def details_of(observation: Observation) -> msgspec.Raw:
    """Return the fields that a tool adds to its result, as JSON, as the log keeps them; null if there are none."""
    if type(observation) is Observation:
        return _NO_DETAILS
    fields = {name: getattr(observation, name) for name in observation.__struct_fields__ if name not in _COMMON_FIELDS}
    return msgspec.Raw(msgspec.json.encode(fields or None))


class Masking(Protocol):
    """Removes secrets from a text that comes in pieces; a possible beginning of a secret waits for the next piece."""

    def feed(self, piece: str) -> str:
        """Take a piece, and return the text that may be shown now."""
        ...

    def flush(self) -> str:
        """End the text, and return the part that was held back."""
        ...


class Recollection(Protocol):
    """A conversation's access to its past, to earlier conversations, and to notes for later ones."""

    @property
    def view(self) -> Sequence[Seen]:
        """The places of the events that the agent sees now."""
        ...

    async def events(self) -> list[Event]:
        """Return the events that led to the head, up to the first call that has no result yet."""
        ...

    async def results(self, tool: str) -> list[ObservationEvent]:
        """Return the results of a tool among all events that led to the head, also the newest ones."""
        ...

    async def event(self, seq: int) -> Event | None:
        """Return the event with this seq; None if the agent does not see it and has not seen it."""
        ...

    async def earlier(self, words: str, limit: int) -> Sequence[Hit]:
        """Return where words occur in earlier conversations of the same owner in the same workspace, the best first.

        Raises `ConfigurationError` if they cannot be searched.
        """
        ...

    async def nearest(
        self, query: str, limit: int, models: Models, hide: Callable[[str], str], *, earlier: bool
    ) -> Sequence[Hit]:
        """Return the events nearest in meaning to a query, by the agent's embedding model: of those that it no longer
        sees, or of the newest `earlier` conversations. `hide` removes secrets from a text. Raises `ToolError`.
        """
        ...

    async def memory(self, scope: Scope) -> str:
        """Return the notes for later conversations. Raises `ToolError`."""
        ...

    async def memorize(self, scope: Scope, change: Callable[[str], str]) -> str:
        """Replace the notes by what `change` makes of them, and return the new ones. Raises `ToolError`."""
        ...


class Models(Protocol):
    """A tool's access to the agent's model, and to those that the user has saved as profiles."""

    async def switch(self, profile: str) -> str:
        """Have the agent use a saved model from its next call on, and return its name. Raises `ToolError`."""
        ...

    async def look(self, number: int, question: str, profile: str) -> str:
        """Return what a vision model says about an image that the agent sees, numbered from 1. `profile` names the
        model; "": the agent's own.

        Raises `ToolError`.
        """
        ...

    async def see(self, images: Sequence[Content], question: str, profile: str = "") -> str:
        """Return what a vision model says about images. Raises `ToolError`."""
        ...

    async def hear(self, mp3: bytes, seconds: float, model: str) -> str:
        """Return a transcript of speech by a model: a saved one, or any that litellm knows.

        Raises `ToolError`.
        """
        ...

    @property
    def embeddings(self) -> str:
        """The agent's embedding model; "" if it has none."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return the vectors of texts by the agent's embedding model. Raises `ToolError`."""
        ...


class Made(msgspec.Struct, frozen=True):
    """A call made by the code of an action, with its result."""

    action: ActionEvent
    result: ObservationEvent | UserRejectObservation | AgentErrorEvent


class Calls(Protocol):
    """The calls that the code in a tool's call may make: of the agent's other tools, each as an action of its own."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tools that the code may call."""
        ...

    @property
    def resumed(self) -> bool:
        """Whether this action was begun before, by a process that has ended: see `OnCrash.RESUME`."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Made:
        """Call a tool, once the call was rated and, if necessary, confirmed; return the call with its result.

        Raises `ToolError` if the tool cannot be called.
        """
        ...

    async def made(self) -> Sequence[Made]:
        """Return all calls of this action, in order, once each of them has its result."""
        ...


class Lease(Protocol[T_co]):
    """A share of a resource that several tools use, until it is given back."""

    @property
    def value(self) -> T_co:
        """The shared resource."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the resource is closed, or about to be: another lease opens it anew."""
        ...

    def end(self) -> None:
        """Have the resource closed for all users, because it does not work any more."""
        ...

    def release(self) -> None:
        """Give the share back; the last one to be given back closes the resource."""
        ...


class ToolContext(Protocol):
    """A tool's access to its conversation."""

    @property
    def recollection(self) -> Recollection:
        """The conversation's past, and its notes for later ones."""
        ...

    @property
    def models(self) -> Models:
        """The agent's model and the saved ones."""
        ...

    @property
    def calls(self) -> Calls:
        """The other tools."""
        ...

    @property
    def workspace(self) -> WorkspaceSpec:
        """The workspace of the conversation."""
        ...

    @property
    def place(self) -> Place:
        """Where it acts: it starts its processes there, and nowhere else."""
        ...

    @property
    def files(self) -> Files:
        """The files of the place that the tool may reach."""
        ...

    @property
    def conversation(self) -> str:
        """The unique name of the conversation in the environment of the processes that it starts."""
        ...

    async def previous(self) -> msgspec.Raw | None:
        """Return the details of this tool's last result, at least of those in view, also from before a restart."""
        ...

    def output(self, text: str) -> None:
        """Show a piece of output while the tool runs; it is not stored."""
        ...

    async def ask(
        self, message: str, schema: Mapping[str, Any] | None = None, url: str = "", asks: str = ""
    ) -> InputGiven | None:
        """Ask a person to fill in a form with that schema, or to open an address; return the answer, whenever it comes.

        None if there is nobody to ask: the agent's policy asks nobody, or it works for another conversation.
        """
        ...

    def start_soon(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a function beside the calls, until the executor is closed. If it fails, the executor is made anew."""
        ...

    async def lease(
        self, kind: str, opened: Callable[[], AbstractAsyncContextManager[T]], *, tree: bool = False
    ) -> Lease[T]:
        """Return a share of the resource of that name that this conversation's tools share; with `tree`, also the tools
        of the other conversations in its tree of delegations. It is opened if it is not open, in a task of its own. The
        executor gives the share back when it is closed. Raises what opening raises.
        """
        ...

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        """Store bytes beside the log, durable when this returns."""
        ...

    async def spill(self, text: str) -> str | None:
        """Write the part of a result that the model is not shown, without secrets, to a file that the agent's tools can
        read. Return the file's path; None if it cannot be written. The newest few files stay while the tool is open.
        """
        ...

    async def secrets(self, text: str) -> Mapping[str, str]:
        """Return the secrets of the conversation that `text` names, for one execution.

        Raises `ToolError` if the value of one cannot be had.
        """
        ...

    def masked(self, text: str, *, by_line: bool = False) -> str:
        """Return `text` without secrets: for text that is cut, numbered or compared before it is returned, since a part
        of a secret is not recognized. With `by_line`, the number of lines stays the same.
        """
        ...

    def masking(self) -> Masking:
        """Return the same for a text that comes in pieces, even over several calls."""
        ...


class ToolExecutor(Protocol):
    """Runs one tool's calls for one conversation."""

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        """Return the result. Raises `ToolError` with a text for the model; cancelling ends all that it started."""
        ...

    async def aclose(self) -> None:
        """Release the resources that it holds."""
        ...


@runtime_checkable
class Losable(Protocol):
    """An executor that holds a process between two calls, such as a shell or a kernel, which may end by itself."""

    def lost(self, action: Any) -> bool:
        """Return whether a call would find that the process of an earlier call has ended."""
        ...


@runtime_checkable
class Watchful(Protocol):
    """An executor that may have work running between two calls."""

    async def at_work(self) -> bool:
        """Return whether it has; its conversation is kept in memory meanwhile."""
        ...

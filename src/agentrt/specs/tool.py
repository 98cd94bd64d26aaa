"""Tools in the form that the model and the log see."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

import msgspec

from ..errors import ConfigurationError
from .flow import Label
from .given import Given, Seconds

ALWAYS = ("think", "finish")
"""The tools that every agent has, in addition to those that it names."""


class OnCrash(StrEnum):
    """How to treat a call that was running when the process died."""

    RETRY = "retry"
    """Run the call again: it is idempotent."""
    ASK = "ask"
    """Tell the model that the outcome is unknown."""
    FAIL = "fail"
    """Tell the model that the call failed."""
    RESUME = "resume"
    """Pass the call to the executor again, marked as already begun. The executor reports the outcome instead of
    starting anew. The same applies when a conversation was left.
    """


class ToolAnnotations(Given, frozen=True, omit_defaults=True):
    """Hints about a tool's effects (the fields of the Model Context Protocol)."""

    title: str = ""
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


class Same(Given, frozen=True, omit_defaults=True):
    """Defines which calls count as "the same" for a permanent answer: those with the same `argument`, whatever the
    others are.

    If an argument in `unless` has the value given there, only a call with exactly the same arguments counts.
    """

    argument: str
    unless: dict[str, str | bool] = msgspec.field(default_factory=dict)


class Edits(Given, frozen=True, omit_defaults=True):
    """The arguments that hold the text that a call takes out of a file, and the text that it puts in.

    A person who is asked to approve a call sees both as a change.
    """

    removes: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()


class Tool(Given, frozen=True, omit_defaults=True, dict=True):
    """A tool of an agent: its name and the parameters of its implementation."""

    name: str
    params: dict[str, str | int | float | bool | None] = msgspec.field(default_factory=dict)

    @property
    def implementation(self) -> Any:
        """The function or `ToolType` that was given instead of a `Tool`; it is code, and not in the log."""
        return self.__dict__.get("_implementation")


class ClientTool(Given, frozen=True, omit_defaults=True):
    """A tool that the program executes, or the client of a server.

    `schema` is the JSON schema of its arguments, an object. A call without a result after `deadline` seconds has
    failed; None: there is no time limit. Raises `ConfigurationError` for an invalid tool.
    """

    name: str
    description: str
    schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    deadline: Seconds | None = None
    annotations: ToolAnnotations = ToolAnnotations()

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"ClientTool(name={self.name!r}): invalid name: use letters, digits, '_' and '-', at most 64 characters"
            )
        if self.name in ALWAYS:
            raise ConfigurationError(f"ClientTool(name={self.name!r}): the name is reserved: every agent has this tool")
        if self.schema.get("type") != "object":
            raise ConfigurationError('ClientTool(schema=...): expected that of an object, {"type": "object", ...}')
        if self.deadline is not None and self.deadline <= 0:
            raise ConfigurationError(f"ClientTool(deadline={self.deadline:g}): give more than 0 seconds, or None")


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class Executed(Protocol):
    """A tool with its executor: a `ToolType`."""

    @property
    def name(self) -> str: ...

    @property
    def executor(self) -> Any: ...


AnyTool: TypeAlias = "Tool | str | Executed | Callable[..., Any]"
"""What an agent takes for a tool: a `Tool`, the name of one, or a function or a `ToolType` that is one."""


def as_tool(given: Any) -> Any:
    """Convert a tool given as a name, a function or a `ToolType` to a `Tool`; return other values as they are.

    Raises `ConfigurationError` for a function without a name.
    """
    if isinstance(given, str):
        return Tool(given)
    if isinstance(given, Tool | dict) or not (callable(given) or hasattr(given, "executor")):
        return given
    name = getattr(given, "name", None) or getattr(given, "__name__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise ConfigurationError(f"{given!r} has no name that a model could call: make it a tool with tool(name=...)")
    made = Tool(name)
    vars(made)["_implementation"] = given  # not a field, since the log stores the fields
    return made


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The description of a tool, without its code; `parameters` is a JSON schema of an object.

    The model sees the name, the description and the parameters.
    """

    name: str
    description: str
    parameters: msgspec.Raw
    annotations: ToolAnnotations = ToolAnnotations()
    on_crash: OnCrash = OnCrash.ASK
    holds_resource: bool = False
    """Whether it keeps a resource between calls that a crash destroys, such as a shell."""
    labels: tuple[Label, ...] = ()
    """The sources of its results, if these are untrusted."""
    same: Same | None = None
    """Which calls a permanent answer covers; None: all calls of the tool, or only the identical call."""
    headline: tuple[str, ...] = ()
    """Templates for a call in one line (see `headline_of`); empty: the arguments as they were sent."""
    edits: Edits | None = None
    """Where a call has the text that it changes in a file; None: it has none."""
    aliases: tuple[str, ...] = ()
    """Other names by which models call it."""
    shell: str = ""
    """The argument that takes a shell command; "" if there is none."""
    leaves: str = ""
    """The argument that is true if a call runs outside of what confines the others; "" if there is none. A person is
    asked about each such call.
    """
    harmless: bool = False
    """Whether it affects only the conversation, and needs no confirmation because of its risk."""
    ends_turn: bool = False
    """Whether a successful call ends the run."""
    delegates: bool = False
    """Whether a separate conversation carries out a call."""
    invokes: str = ""
    """The argument that names a skill, whose text is the result; "" if there is none."""
    recalls: bool = False
    """Whether it brings back events that a condensation removed from the view."""
    stands: bool = False
    """Whether its last result stays in the view after a condensation, such as a plan."""
    looks: bool = False
    """Whether it asks a vision model about an image, by the image's number in the view."""
    server: str = ""
    """The MCP server that provides the tool; "": this program."""
    remote: str = ""
    """The name of the tool on that server."""
    changed: bool = False
    """Whether its description differs from the first one seen from that server: each call needs confirmation then."""
    dispatches: bool = False
    """Whether a call of it runs another tool: the one named by its argument `name`, with its `arguments`."""
    client: bool = False
    """Whether the program, or the client of a server, executes it."""
    deadline: float | None = None
    """The time limit in seconds for a result then; None: no limit."""
    parts: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """The names for parts of the tool in a list of allowed tools, in lower case. Each maps to the argument patterns of
    the calls that belong to the part.
    """

    @property
    def may_write(self) -> bool:
        """Whether a call of it may change files, as far as known without arguments."""
        return not (self.annotations.read_only or self.harmless)

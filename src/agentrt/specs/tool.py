"""Tools as the model and the log see them."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

import msgspec

from ..errors import ConfigurationError
from .flow import Label
from .given import Given, Seconds

ALWAYS = ("think", "finish")
"""The tools that every agent has, whatever it names."""


class OnCrash(StrEnum):
    """What happens to a call that was running when the process died."""

    RETRY = "retry"
    """It is idempotent: run it again."""
    ASK = "ask"
    """Tell the model that the outcome is unknown."""
    FAIL = "fail"
    """Tell the model that it failed."""
    RESUME = "resume"
    """Give it to the executor again, as one that was begun: it does not begin anew, but says what has become of it.
    So it is when a conversation is left, too.
    """


class ToolAnnotations(Given, frozen=True, omit_defaults=True):
    """Hints about a tool's effects (the fields of the Model Context Protocol)."""

    title: str = ""
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


class Same(Given, frozen=True, omit_defaults=True):
    """What is "the same again" for an answer that holds always: the same `argument`, whatever the others are.

    Where an argument in `unless` has the value there, it is the same call, with all of its arguments.
    """

    argument: str
    unless: dict[str, str | bool] = msgspec.field(default_factory=dict)


class Tool(Given, frozen=True, omit_defaults=True, dict=True):
    """A tool that an agent has: its name and the parameters of its implementation."""

    name: str
    params: dict[str, str | int | float | bool | None] = msgspec.field(default_factory=dict)

    @property
    def implementation(self) -> Any:
        """The function or `ToolType` that was given in its place; it is code, so no log has it."""
        return self.__dict__.get("_implementation")


class ClientTool(Given, frozen=True, omit_defaults=True):
    """A tool that whoever holds the conversation executes: the program, or the client of a server.

    `schema` is the JSON schema of its arguments, an object. Without a result within `deadline` seconds the call has
    failed; None: it is waited for as long as it takes. Raises `ConfigurationError` for what cannot be one.
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
                f"ClientTool(name={self.name!r}): a model calls it so: give it letters, digits, '_' and '-', 64 at most"
            )
        if self.name in ALWAYS:
            raise ConfigurationError(f"ClientTool(name={self.name!r}): every agent has such a tool: take another name")
        if self.schema.get("type") != "object":
            raise ConfigurationError('ClientTool(schema=...): expected that of an object, {"type": "object", ...}')
        if self.deadline is not None and self.deadline <= 0:
            raise ConfigurationError(f"ClientTool(deadline={self.deadline:g}): give more than 0 seconds, or None")


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def as_tool(given: Any) -> Any:
    """A tool that was given by its name, as a function or as a `ToolType`, as a `Tool`; anything else as it is.

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
    vars(made)["_implementation"] = given  # beside the fields, which the log has
    return made


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool says of itself, but for the code; `parameters` is a JSON schema of an object.

    The model is shown the name, the description and the parameters.
    """

    name: str
    description: str
    parameters: msgspec.Raw
    annotations: ToolAnnotations = ToolAnnotations()
    on_crash: OnCrash = OnCrash.ASK
    holds_resource: bool = False
    """Whether it keeps something alive between calls that a crash takes away, as a shell does."""
    labels: tuple[Label, ...] = ()
    """Where its results come from, when nobody vouches for what they say."""
    same: Same | None = None
    """What an answer that holds always remembers; None: the tool, or the whole call."""
    headline: tuple[str, ...] = ()
    """Templates of a line about a call (see `headline_of`); none: the arguments as they were sent."""
    aliases: tuple[str, ...] = ()
    """Other names that models call it by."""
    shell: str = ""
    """The argument that takes a shell command; "" where there is none."""
    harmless: bool = False
    """Whether it touches only the conversation, so that nobody is asked about it because of its risk."""
    ends_turn: bool = False
    """Whether a call of it that succeeds ends the run."""
    delegates: bool = False
    """Whether a conversation of its own does what a call asks for."""
    invokes: str = ""
    """The argument that names a skill, whose text is the result; "" where there is none."""
    recalls: bool = False
    """Whether it brings back what a condensation took out of the view."""
    looks: bool = False
    """Whether it asks a model that sees about an image, by its number in what the model sees."""
    server: str = ""
    """The MCP server whose tool it is; "": it is of this program."""
    remote: str = ""
    """What that server calls it."""
    changed: bool = False
    """Whether it says something else of itself than when it was first seen there: a person is asked about each call."""
    dispatches: bool = False
    """Whether a call of it is one of the tool that its argument `name` names, with its `arguments`."""
    client: bool = False
    """Whether whoever holds the conversation executes it."""
    deadline: float | None = None
    """Seconds in which it must have a result then; None: any."""
    parts: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """The names under which a list of allowed tools knows a part of it, in small letters: each with the arguments that
    such a call has, as patterns."""

    @property
    def may_write(self) -> bool:
        """Whether a call of it may change files, as far as it says without arguments."""
        return not (self.annotations.read_only or self.harmless)

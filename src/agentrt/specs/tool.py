"""Tools as the model and the log see them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from ..errors import ConfigurationError
from .flow import Label
from .given import Given

FINISH = "finish"
THINK = "think"
DELEGATE = "delegate"
TERMINAL = "terminal"


class OnCrash(StrEnum):
    """What happens to a call that was running when the process died."""

    RETRY = "retry"
    """It is idempotent: run it again."""
    ASK = "ask"
    """Tell the model that the outcome is unknown."""
    FAIL = "fail"
    """Tell the model that it failed."""


class ToolAnnotations(Given, frozen=True, omit_defaults=True):
    """Hints about a tool's effects (the fields of the Model Context Protocol)."""

    title: str = ""
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


class Tool(Given, frozen=True, omit_defaults=True, dict=True):
    """A tool that an agent has: its name and the parameters of its implementation."""

    name: str
    params: dict[str, str | int | float | bool | None] = msgspec.field(default_factory=dict)

    @property
    def implementation(self) -> Any:
        """The function or `ToolType` that was given in its place; it is code, so no log has it."""
        return self.__dict__.get("_implementation")


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
    """A tool as it is offered to the model; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: msgspec.Raw
    annotations: ToolAnnotations = ToolAnnotations()
    on_crash: OnCrash = OnCrash.ASK
    holds_resource: bool = False
    """Whether it keeps something alive between calls that a crash takes away, as a shell does."""
    labels: tuple[Label, ...] = ()
    """Where its results come from, when nobody vouches for what they say."""

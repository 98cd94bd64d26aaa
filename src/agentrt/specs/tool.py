"""Tools as the model and the log see them."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from .flow import Label

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


class ToolAnnotations(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hints about a tool's effects (the fields of the Model Context Protocol)."""

    title: str = ""
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool that an agent has: its name and the parameters of its implementation."""

    name: str
    params: dict[str, str | int | float | bool | None] = {}


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

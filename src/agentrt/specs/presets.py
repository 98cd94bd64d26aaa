"""Presets: sets of tools for a kind of work, or for a family of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ..errors import ConfigurationError
from .llm import AnyLLM, members
from .tool import Tool

PresetName: TypeAlias = Literal["default", "gpt5", "gemini", "planning", "codeact", "browsing"]


class Preset(msgspec.Struct, frozen=True):
    """The tools of an agent, and additional instructions."""

    tools: tuple[Tool, ...]
    told: str = ""


def _tools(*names: str) -> tuple[Tool, ...]:
    return tuple(map(Tool, names))


_SEARCH = ("grep", "glob")

SETS: Mapping[str, tuple[str, ...]] = {
    "browser": tuple(
        f"browser_{action}"
        for action in (
            *("navigate", "click", "type", "get_state", "get_content", "scroll", "go_back", "list_tabs", "switch_tab"),
            *("close_tab", "get_storage", "set_storage", "start_recording", "stop_recording"),
        )
    ),
}
"""Names that stand for several tools; each of these gets the parameters that were given for the name."""


def unfolded(tools: Iterable[Any]) -> tuple[Any, ...]:
    """Return tools with each name of a set replaced by the tools in it."""
    found = list[Any]()
    for tool in tools:
        names = SETS.get(tool.name) if isinstance(tool, Tool) and "_implementation" not in vars(tool) else None
        found += [tool] if names is None else [Tool(name, tool.params) for name in names]
    return tuple(found)


PRESETS: Mapping[str, Preset] = {
    "default": Preset(_tools("terminal", "file_editor", *_SEARCH, "task_tracker")),
    "gpt5": Preset(_tools("terminal", "apply_patch", *_SEARCH, "task_tracker")),
    "gemini": Preset(_tools("terminal", "read_file", "write_file", "edit", "list_directory", *_SEARCH, "task_tracker")),
    "planning": Preset(
        _tools(*_SEARCH, "planning_file_editor"),
        "You plan a change and do not make it. Look at the code until you know what has to be done, and write the plan"
        " with planning_file_editor: what is wanted, what is there, the approach and why, the steps in their order,"
        " each with its files, and how it is checked. Ask where the task leaves open what matters. Then finish with a"
        " summary.",
    ),
    "codeact": Preset(_tools("terminal", "file_editor")),
    "browsing": Preset(unfolded(_tools("browser", "fetch", "web_search", "terminal", "task_tracker"))),
}

_FAMILIES: Mapping[str, tuple[str, ...]] = {"gpt5": ("gpt-5", "gpt5", "codex"), "gemini": ("gemini",)}
"""Parts of model names, for families of models that have their own preset."""


def preset_for(llm: AnyLLM) -> str:
    """Return the name of the preset for a model; of several models, for the first."""
    model = members(llm)[0].model.lower()
    found = (name for name, parts in _FAMILIES.items() if any(part in model for part in parts))
    return next(found, "default")


def preset_of(name: str | None, llm: AnyLLM) -> Preset:
    """Return the preset with a name; for None, the preset for the model. Raises `ConfigurationError`."""
    chosen = preset_for(llm) if name is None else name
    if chosen not in PRESETS:
        raise ConfigurationError(f"unknown preset {chosen!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[chosen]

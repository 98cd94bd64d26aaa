"""Presets: sets of tools that suit a kind of work, or a family of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ..errors import ConfigurationError
from .llm import AnyLLM, members
from .tool import Tool

PresetName: TypeAlias = Literal["default", "gpt5", "gemini", "planning", "codeact", "browsing"]


class Preset(msgspec.Struct, frozen=True):
    """The tools of an agent, and what it is told besides."""

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
"""Names that stand for several tools, each with the parameters of the one that is named."""


def unfolded(tools: Iterable[Any]) -> tuple[Any, ...]:
    """Tools, with those of a set in the place of its name."""
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
"""Parts of the names of models that have a preset of their own."""


def preset_for(llm: AnyLLM) -> str:
    """The name of the preset that suits a model, of several the first."""
    model = members(llm)[0].model.lower()
    found = (name for name, parts in _FAMILIES.items() if any(part in model for part in parts))
    return next(found, "default")


def preset_of(name: str | None, llm: AnyLLM) -> Preset:
    """The preset of a name, or for None that of the model. Raises `ConfigurationError`."""
    chosen = preset_for(llm) if name is None else name
    if chosen not in PRESETS:
        raise ConfigurationError(f"there is no preset {chosen!r}: there are {', '.join(PRESETS)}")
    return PRESETS[chosen]

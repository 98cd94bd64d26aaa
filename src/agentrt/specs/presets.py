"""Presets: sets of tools that suit a kind of work, or a family of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

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
    "browsing": Preset(_tools("terminal", "fetch", "web_search", "task_tracker")),
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

"""Upcasters: functions that convert a record of an older schema version to the next version. Pure.

An upcaster does not change once its version was released, since the meaning of a log does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from .events import SCHEMA_VERSION

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


def _tag_llm(record: dict[str, Any]) -> dict[str, Any]:
    """Tag the only kind of model of version 1, since version 2 has several kinds."""
    if record["type"] == "ConversationCreated":
        record["agent"]["llm"]["type"] = "LLM"
    elif record["key"] == "llm":
        record["value"]["type"] = "LLM"
    return record


_TERMINAL = (
    "bash shell sh cmd command execute execute_bash execute_command run run_command run_bash bash_tool run_terminal_cmd"
    " shell_command run_shell_command"
)
_EDITOR = "str_replace str_replace_editor str_replace_based_edit_tool edit_file editor edit text_editor"

_DECLARED: Mapping[str, Mapping[str, Any]] = {
    "terminal": {
        "same": {"argument": "command", "unless": {"is_input": True}},
        "headline": ["$ {command}", "(waits for more output){command:empty}"],
        "aliases": _TERMINAL.split(),
        "shell": "command",
    },
    "file_editor": {
        "same": {"argument": "path", "unless": {"command": "view"}},
        "headline": ["{command} {path}"],
        "aliases": _EDITOR.split(),
    },
    "task_tracker": {"aliases": ["todo", "todos", "todo_write", "todo_list", "task_list", "plan", "update_plan"]},
    "think": {"headline": ["{thought}"], "aliases": ["thinking", "thought"], "harmless": True},
    "finish": {
        "headline": ["{message}"],
        "aliases": ["done", "submit", "complete", "attempt_completion", "task_complete"],
        "harmless": True,
        "ends_turn": True,
    },
    "delegate": {"headline": ["to {agent}: {task}", "{task}"], "delegates": True},
}


def _declare(record: dict[str, Any]) -> dict[str, Any]:
    """Add to the definitions of the built-in tools what was known by their names before version 4."""
    record["tools"] = [{**tool, **_DECLARED.get(tool["name"], {})} for tool in record.get("tools", ())]
    return record


def _imply_end(record: dict[str, Any]) -> dict[str, Any]:
    """Mark the end of the run as implied (`state/implied.py`): only version 4 has an event for it."""
    record["implied"] = True
    return record


UPCASTERS: Mapping[tuple[int, str], Upcaster] = {
    (1, "ConversationCreated"): _tag_llm,
    (1, "ConversationStateUpdateEvent"): _tag_llm,
    (3, "RunRequested"): _imply_end,
    (3, "SystemPromptEvent"): _declare,
}
"""The upcasters, by schema version and type; each converts a record of that version to the next one."""


class Schema(msgspec.Struct, frozen=True):
    """A version of the schema, and the upcasters that lead to it."""

    version: int
    upcasters: Mapping[tuple[int, str], Upcaster]


CURRENT = Schema(SCHEMA_VERSION, UPCASTERS)
"""The schema of this version of the program."""

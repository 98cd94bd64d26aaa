"""The built-in tools, and how to make more."""

from __future__ import annotations

from .definition import Tools, ToolType
from .delegate import delegate, task
from .depends import Depends
from .file_editor import file_editor
from .finish import finish, output_schema, structured
from .functions import AnyTool, as_tool_types, distinct, tool, tools_in
from .invoke_skill import invoke_skill
from .memory import memory
from .recall import recall
from .simple import task_tracker, think
from .terminal import terminal

BUILT_IN = (terminal, file_editor, task_tracker, think, finish, delegate, task, invoke_skill, recall, memory)
"""Every tool that an agent can name without passing its implementation."""

__all__ = [
    "BUILT_IN",
    "AnyTool",
    "Depends",
    "ToolType",
    "Tools",
    "as_tool_types",
    "delegate",
    "distinct",
    "finish",
    "invoke_skill",
    "memory",
    "output_schema",
    "recall",
    "structured",
    "task",
    "tool",
    "tools_in",
]

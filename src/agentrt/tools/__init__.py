"""The built-in tools, and how to make more."""

from __future__ import annotations

from .definition import Tools, ToolType, tool
from .delegate import delegate
from .file_editor import file_editor
from .finish import finish, output_schema, structured
from .simple import task_tracker, think
from .terminal import terminal

BUILT_IN = (terminal, file_editor, task_tracker, think, finish, delegate)
"""Every tool that an agent can name without passing its implementation."""

__all__ = ["BUILT_IN", "ToolType", "Tools", "output_schema", "structured", "tool"]

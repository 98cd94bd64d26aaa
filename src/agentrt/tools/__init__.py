"""The built-in tools, and how to make more."""

from __future__ import annotations

from .built_in import BUILT_IN
from .definition import Tools, ToolType
from .depends import Depends
from .finish import output_schema, structured
from .functions import AnyTool, as_tool_types, distinct, tool, tools_in

__all__ = [
    "BUILT_IN",
    "AnyTool",
    "Depends",
    "ToolType",
    "Tools",
    "as_tool_types",
    "distinct",
    "output_schema",
    "structured",
    "tool",
    "tools_in",
]

"""The built-in tools, and how to make more."""

from __future__ import annotations

from .browser import BROWSER_TOOLS, browse
from .definition import Tools, ToolType
from .delegate import delegate, task
from .depends import Depends
from .documents import read_document
from .files import edit, file_editor, list_directory, planning_file_editor, read_file, write_file
from .finish import finish, output_schema, structured
from .functions import AnyTool, as_tool_types, distinct, tool, tools_in
from .inspect_image import inspect_image
from .invoke_skill import invoke_skill
from .ipython import ipython
from .memory import memory
from .patch import apply_patch
from .recall import recall
from .search import glob, grep
from .simple import task_tracker, think
from .switch_llm import switch_llm
from .terminals import terminal
from .web import fetch, web_search

BUILT_IN = (
    terminal, file_editor, apply_patch, grep, glob,
    read_file, write_file, edit, list_directory, planning_file_editor, read_document,
    task_tracker, think, finish, delegate, task, invoke_skill, recall, memory,
    switch_llm, inspect_image, fetch, web_search, *BROWSER_TOOLS, browse,
    ipython,
)  # fmt: skip
"""Every tool that an agent can name without passing its implementation."""

__all__ = [
    "BUILT_IN",
    "AnyTool",
    "Depends",
    "ToolType",
    "Tools",
    "apply_patch",
    "as_tool_types",
    "browse",
    "delegate",
    "distinct",
    "fetch",
    "finish",
    "glob",
    "grep",
    "invoke_skill",
    "ipython",
    "memory",
    "output_schema",
    "read_document",
    "recall",
    "structured",
    "task",
    "tool",
    "tools_in",
    "web_search",
]

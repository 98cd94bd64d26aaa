"""`BUILT_IN`: the tools that an agent can name without passing their implementation. Each is imported when it is used
first, since all of them together are a hundred modules.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from ..loading import load_now
from .definition import ToolType

_MODULES = {
    "terminal": "agentrt.tools.terminals.terminal",
    "file_editor": "agentrt.tools.files.file_editor",
    "apply_patch": "agentrt.tools.patch.apply_patch",
    "grep": "agentrt.tools.search.grep",
    "glob": "agentrt.tools.search.glob",
    "read_file": "agentrt.tools.files.read_file",
    "write_file": "agentrt.tools.files.write_file",
    "edit": "agentrt.tools.files.edit",
    "list_directory": "agentrt.tools.files.list_directory",
    "git_diff": "agentrt.tools.files.git_diff",
    "planning_file_editor": "agentrt.tools.files.planning_file_editor",
    "read_document": "agentrt.tools.documents.read_document",
    "task_tracker": "agentrt.tools.simple",
    "think": "agentrt.tools.simple",
    "finish": "agentrt.tools.finish",
    "delegate": "agentrt.tools.delegate",
    "task": "agentrt.tools.delegate",
    "invoke_skill": "agentrt.tools.invoke_skill",
    "recall": "agentrt.tools.recall",
    "memory": "agentrt.tools.memory",
    "switch_llm": "agentrt.tools.switch_llm",
    "inspect_image": "agentrt.tools.inspect_image",
    "fetch": "agentrt.tools.web.fetch",
    "web_search": "agentrt.tools.web.web_search",
    "browser_navigate": "agentrt.tools.browser.toolset",
    "browser_click": "agentrt.tools.browser.toolset",
    "browser_type": "agentrt.tools.browser.toolset",
    "browser_get_state": "agentrt.tools.browser.toolset",
    "browser_get_content": "agentrt.tools.browser.toolset",
    "browser_scroll": "agentrt.tools.browser.toolset",
    "browser_go_back": "agentrt.tools.browser.toolset",
    "browser_list_tabs": "agentrt.tools.browser.toolset",
    "browser_switch_tab": "agentrt.tools.browser.toolset",
    "browser_close_tab": "agentrt.tools.browser.toolset",
    "browser_get_storage": "agentrt.tools.browser.toolset",
    "browser_set_storage": "agentrt.tools.browser.toolset",
    "browser_start_recording": "agentrt.tools.browser.toolset",
    "browser_stop_recording": "agentrt.tools.browser.toolset",
    "browse": "agentrt.tools.browser.browse",
    "ipython": "agentrt.tools.ipython.ipython",
}
"""The module of each tool; there, its name is that of a variable, too."""

DELEGATING = frozenset({"delegate", "task"})
"""Those that delegate."""


class BuiltIn(Mapping[str, ToolType]):
    """The built-in tools by name, in the order in which they are shown. A value imports its module."""

    def __init__(self) -> None:
        self._loaded = dict[str, ToolType]()

    def __getitem__(self, name: str) -> ToolType:
        if name not in self._loaded:
            self._loaded[name] = cast(ToolType, getattr(load_now(_MODULES[name]), name))
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def overlaid(self, *brought: dict[str, ToolType]) -> Mapping[str, ToolType]:
        """Return these tools and others; of several with one name, the first one that is brought counts."""
        return ChainMap(*brought, cast(dict[str, ToolType], self))

    def unloaded(self, names: Iterable[str]) -> list[str]:
        """Return those of some names that are built-in tools which are not imported yet."""
        return [name for name in names if name in _MODULES and name not in self._loaded]

    def load(self, names: Iterable[str]) -> None:
        """Import some tools. For a thread."""
        for name in names:
            self[name]


BUILT_IN = BuiltIn()

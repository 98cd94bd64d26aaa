"""`refuse_links`: keeps a file, whose place the model does not choose, from being written where a link leads."""

from __future__ import annotations

from ...errors import ToolError
from ...protocols import ToolContext


def refuse_links(path: str, context: ToolContext) -> None:
    """Raise `ToolError` if a component of a path below the workspace is a symbolic link, even a dangling one."""
    directory = context.workspace.path
    for name in path.split("/"):
        if context.files.status(directory) is None:
            return
        below = f"{directory}/{name}"
        if any(entry == name and is_link for entry, _, is_link in context.files.names(directory)):
            raise ToolError(
                f"{below} is a link, and would lead elsewhere: remove it in the terminal, or have a person do so"
            )
        directory = below

"""Writing where a path says, and not where a link leads: for files whose place the model does not choose."""

from __future__ import annotations

from ...errors import ToolError
from ...protocols import ToolContext


def refuse_links(path: str, context: ToolContext) -> None:
    """Raises `ToolError` where a part of a path, from the workspace on, is a link: also one to what is not there."""
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

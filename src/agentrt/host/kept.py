"""The kept files of a conversation's workspace, for readers, even while the conversation sleeps."""

from __future__ import annotations

from ..decisions.file_history import FileHistory, file_history
from ..errors import WorkspaceError
from ..events import ConversationCreated
from ..storing import Storage
from ..workspaces.kept_files import KeptFiles
from ..workspaces.local import LocalFiles
from ..workspaces.trees import Trees


def kept_files(storage: Storage, created: ConversationCreated) -> KeptFiles:
    """Return the kept files of one conversation."""
    name, parent = created.conversation_id, created.parent
    origins = () if parent is None else (storage.beside(parent),)
    trees = Trees(storage.beside(name), created.workspace.directory, origins)

    async def history() -> FileHistory:
        return file_history([event async for event in storage.history(name).read(0)])

    return KeptFiles(trees, history, keeps=created.agent.checkpoints)


def files_of(storage: Storage, created: ConversationCreated) -> LocalFiles:
    """Return the files of a conversation's workspace, as they are and as they were kept.

    Raises `WorkspaceError` for a kind whose files only its place has.
    """
    if not created.workspace.seen_here:
        raise WorkspaceError("elsewhere", "only the place of this workspace has its files: open the conversation")
    return LocalFiles(created.workspace.directory, kept_files(storage, created))

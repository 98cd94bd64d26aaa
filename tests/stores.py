"""What stands in a store of files, for tests that look into it: directories, keys, rules."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from agentrt import PermissionRule
from agentrt.server.auth.keyring import Keyring
from agentrt.server.principals import Scope
from agentrt.storage import open_storage
from agentrt.storage.shelf import FileShelf
from agentrt.storing import Storage
from agentrt.workspaces.project_rules import project_rules


def directory(store: Storage, name: str) -> Path:
    """Where the files of a conversation are."""
    return Path(store.where(name)).parent


def keyring(root: Path) -> Keyring:
    """The keys of a store."""
    return Keyring(FileShelf(root))


async def make_key(root: Path, owner: str, scopes: Iterable[Scope]) -> str:
    """Make a key; its text."""
    return await keyring(root).create(owner, scopes)


async def rules_in(root: Path, workspace: Path | str) -> tuple[PermissionRule, ...]:
    """The rules that a store has for a workspace."""
    async with open_storage(root, lazy=True) as storage:
        return await project_rules(storage, str(workspace))

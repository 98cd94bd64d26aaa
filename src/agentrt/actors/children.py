"""`Children`: how the conversations that another one delegates to are opened, and when they are only left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeAlias

from ..ledger import Child
from ..state import State

if TYPE_CHECKING:
    from .group import ConversationGroup

Children: TypeAlias = Callable[[str, Child, State], AbstractAsyncContextManager["ConversationGroup"]]
"""Opens a child conversation, given its id, its entry in the ledger and the state of its parent; begins it if it does
not exist. Others may have it open, too. If the body raises an exception, the child is stopped, and has left memory when
this exits. Raises `ConfigurationError` or `LogError`."""

Leaving: TypeAlias = Callable[[str], bool]
"""Returns whether a conversation is only left, not interrupted: for the id of a background task, or for "", which
stands for everything else that it delegated."""

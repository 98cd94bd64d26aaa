"""`Conversation`: the caller's interface to a running agent."""

from .conversation import Conversation
from .run import Run
from .sync import run_sync
from .workspace import Workspace

__all__ = ["Conversation", "Run", "Workspace", "run_sync"]

"""`Conversation`: the caller's interface to a running agent."""

from .conversation import Conversation
from .run import Run
from .sync import run_sync

__all__ = ["Conversation", "Run", "run_sync"]

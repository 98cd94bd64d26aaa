"""`Conversation`: a person's end of an agent at work."""

from .conversation import Conversation
from .run import Run
from .sync import run_sync

__all__ = ["Conversation", "Run", "run_sync"]

"""`Conversation`: a person's end of an agent at work."""

from .conversation import Conversation
from .run import Run

__all__ = ["Conversation", "Run"]

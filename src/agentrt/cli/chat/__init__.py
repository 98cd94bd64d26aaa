"""`agentrt chat`: a conversation in the terminal."""

from .command import chat

__all__ = ["chat"]

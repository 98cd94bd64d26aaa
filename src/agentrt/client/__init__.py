"""Reaching a server: the remote end of a conversation, over REST and a WebSocket that is made anew when it is cut."""

from .remote import RemoteEnd

__all__ = ["RemoteEnd"]

"""The client for a server: a remote conversation, over REST and a WebSocket that reconnects when it is cut."""

from .remote import RemoteEnd

__all__ = ["RemoteEnd"]

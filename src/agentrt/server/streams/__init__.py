"""Following conversations live: by WebSocket, and by server-sent events."""

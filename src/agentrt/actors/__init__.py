"""The actors of a conversation."""

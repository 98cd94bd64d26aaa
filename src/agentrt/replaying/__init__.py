"""Replays conversations with their recorded replies and results, to find what the runtime now does differently."""

from .comparing import Difference
from .player import Replay, replay

__all__ = ["Difference", "Replay", "replay"]

"""Recorded conversations run again, with the recorded words and results: what does the runtime now do otherwise?"""

from .comparing import Difference
from .player import Replay, replay

__all__ = ["Difference", "Replay", "replay"]

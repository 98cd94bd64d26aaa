"""A browser: the `browser_*` tools of the OpenHands SDK, and `browse` with BrowserGym's action space."""

from .browse import browse
from .toolset import BROWSER_TOOLS

__all__ = ["BROWSER_TOOLS", "browse"]

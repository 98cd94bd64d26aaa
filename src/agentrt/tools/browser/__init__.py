"""A browser: the reference's set of `browser_*` tools, and `browse` with BrowserGym's action space."""

from .browse import browse
from .toolset import BROWSER_TOOLS

__all__ = ["BROWSER_TOOLS", "browse"]

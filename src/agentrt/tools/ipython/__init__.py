"""`ipython`: Python code in a kernel that keeps its state, and calls the agent's other tools (extra `jupyter`)."""

from .ipython import ipython

__all__ = ["ipython"]

"""The terminal: persistent shells side by side, and screens for full-screen programs."""

from .terminal import terminal

__all__ = ["terminal"]

"""The terminal: shells that last, side by side, and the screens of programs that fill one."""

from .terminal import terminal

__all__ = ["terminal"]

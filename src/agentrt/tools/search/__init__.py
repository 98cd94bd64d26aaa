"""Search in files: `grep` and `glob`, by ripgrep where it is installed and by a program of our own elsewhere."""

from .glob import glob
from .grep import grep

__all__ = ["glob", "grep"]

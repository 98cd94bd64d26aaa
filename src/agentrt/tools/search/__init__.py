"""Search in files: `grep` and `glob`, with ripgrep if it is installed, else with a program of our own."""

from .glob import glob
from .grep import grep

__all__ = ["glob", "grep"]

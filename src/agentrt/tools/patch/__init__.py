"""Patches as models of OpenAI write them: `apply_patch`."""

from .apply_patch import apply_patch

__all__ = ["apply_patch"]

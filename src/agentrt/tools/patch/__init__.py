"""`apply_patch`: applies patches in the format of OpenAI's models."""

from .apply_patch import apply_patch

__all__ = ["apply_patch"]

"""`read_document`, and what it has a model see and hear."""

from .read_document import read_document

__all__ = ["read_document"]

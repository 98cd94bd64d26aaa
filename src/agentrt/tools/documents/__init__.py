"""`read_document`, and how models see and hear what is in a document."""

from .read_document import read_document

__all__ = ["read_document"]

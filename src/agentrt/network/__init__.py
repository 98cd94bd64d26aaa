"""Requests to hosts that a model, a page or a server names: to public addresses, and with bounded answers."""

from .addresses import Guard, is_public
from .exchange import Answer, Bounds, Question

__all__ = ["Answer", "Bounds", "Guard", "Question", "is_public"]

"""Requests to hosts that a model, a page or a server names: only public addresses are asked, and answers are bounded."""

from .addresses import Guard, is_public
from .exchange import Answer, Bounds, Question

__all__ = ["Answer", "Bounds", "Guard", "Question", "is_public"]

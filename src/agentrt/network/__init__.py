"""Requests to hosts that a model, a page or a server names: only to public addresses, with bounded answers."""

from .addresses import AddressRefused, Guard, HostUnknown, is_public
from .exchange import Answer, Bounds, Question

__all__ = ["AddressRefused", "Answer", "Bounds", "Guard", "HostUnknown", "Question", "is_public"]

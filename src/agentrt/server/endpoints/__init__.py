"""The REST operations, a module a resource."""

from __future__ import annotations

from ..routing import Endpoint
from . import controls, conversations, health

ENDPOINTS: tuple[Endpoint, ...] = (*health.ENDPOINTS, *conversations.ENDPOINTS, *controls.ENDPOINTS)

__all__ = ["ENDPOINTS"]

"""The REST operations, a module a resource."""

from __future__ import annotations

from ..routing import Endpoint
from . import controls, conversations, health
from .documentation import documentation

_OPERATIONS = (*health.ENDPOINTS, *conversations.ENDPOINTS, *controls.ENDPOINTS)

ENDPOINTS: tuple[Endpoint, ...] = (*_OPERATIONS, documentation(_OPERATIONS))

__all__ = ["ENDPOINTS"]

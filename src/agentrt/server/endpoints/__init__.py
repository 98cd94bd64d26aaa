"""The REST operations, one module for each resource."""

from __future__ import annotations

from ..auth.endpoints import ENDPOINTS as KEYS
from ..routing import Endpoint
from . import (
    checkpoints,
    commands,
    controls,
    conversations,
    files,
    finding,
    git,
    health,
    history,
    metrics,
    models,
    projects,
    servers,
    settings,
)
from .documentation import documentation

_OPERATIONS = (
    *health.ENDPOINTS,
    *metrics.ENDPOINTS,
    *conversations.ENDPOINTS,
    *controls.ENDPOINTS,
    *history.ENDPOINTS,
    *files.ENDPOINTS,
    *git.ENDPOINTS,
    *commands.ENDPOINTS,
    *checkpoints.ENDPOINTS,
    *servers.ENDPOINTS,
    *models.ENDPOINTS,
    *projects.ENDPOINTS,
    *finding.ENDPOINTS,
    *settings.ENDPOINTS,
    *KEYS,
)

ENDPOINTS: tuple[Endpoint, ...] = (*_OPERATIONS, documentation(_OPERATIONS))

__all__ = ["ENDPOINTS"]

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
    workspaces,
)
from .documentation import documentation
from .workspaces import with_held

_OPERATIONS = (
    *health.ENDPOINTS,
    *metrics.ENDPOINTS,
    *conversations.ENDPOINTS,
    *controls.ENDPOINTS,
    *history.ENDPOINTS,
    *with_held((*files.ENDPOINTS, *git.ENDPOINTS, *commands.ENDPOINTS)),
    *workspaces.ENDPOINTS,
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

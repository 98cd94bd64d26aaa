"""`SecurityActor`: rates actions before they run."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from ..decisions import AssessRisk
from ..events import ActionEvent, RiskAssessed
from ..protocols import SecurityAnalyzer
from ..security.rating import Rating
from ..security.rules import rate_action
from ..specs import LocalWorkspace, SecurityRisk
from .dispatcher import Perform
from .event_log import Log


class RuleAnalyzer:
    """Rates by the fixed rules of `agentrt.security`."""

    async def assess(self, action: ActionEvent, workspace: LocalWorkspace) -> Rating:
        """The rating."""
        return Rating(*rate_action(action, workspace))


class SecurityActor(AbstractAsyncContextManager["SecurityActor"]):
    """Performs `AssessRisk`; an analyzer that fails counts as HIGH."""

    def __init__(self, log: Log, analyzer: SecurityAnalyzer, workspace: LocalWorkspace) -> None:
        self._log, self._analyzer, self._workspace = log, analyzer, workspace

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        """Rate one action."""
        assert isinstance(message.command, AssessRisk)
        action = message.command.action
        try:
            rating = await self._analyzer.assess(action, self._workspace)
        except Exception as failure:  # fails closed, whatever it is
            rating = Rating(SecurityRisk.HIGH, f"the analyzer failed: {type(failure).__name__}: {failure}")
        assessed = RiskAssessed(action_id=action.id, risk=rating.risk, reason=rating.reason, caused_by=action.id)
        await self._log.append(assessed, command=message.command.id)

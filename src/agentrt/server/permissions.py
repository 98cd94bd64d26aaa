"""Which scope each control needs; for REST and for sockets."""

from __future__ import annotations

from ..controls import (
    AddRule,
    Configure,
    Confirm,
    Control,
    Grant,
    Reject,
    SetConfirmationPolicy,
    SetSecurityAnalyzer,
)
from .principals import Scope

_APPROVING = (Confirm, Reject, AddRule, Configure, SetConfirmationPolicy, SetSecurityAnalyzer, Grant)


def scope_of(kind: type[Control]) -> Scope:
    """What a principal needs for a control."""
    return Scope.APPROVE if issubclass(kind, _APPROVING) else Scope.STEER

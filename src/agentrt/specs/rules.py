"""Permission rules: what a person decided once and for all."""

from __future__ import annotations

from typing import Literal, TypeAlias

from .given import Given

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Scope: TypeAlias = Literal["session", "project"]
"""How far a rule that was remembered holds: in its conversation, or in all conversations in its workspace."""


class PermissionRule(Given, frozen=True, omit_defaults=True):
    """Actions of the tools that `tool` matches, with an argument that `pattern` matches, are allowed, asked or denied.

    Both are shell-style patterns ("*", "git *"), held against the whole; `argument` names the argument that `pattern`
    is for, "" means all text in all of them, however deep. Of the rules that match an action one that denies comes
    before one that asks, and that before one that allows.
    """

    verdict: Verdict
    tool: str = "*"
    pattern: str = "*"
    argument: str = ""

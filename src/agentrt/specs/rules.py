"""Permission rules: permanent decisions of a person."""

from __future__ import annotations

from typing import Literal, TypeAlias

from .given import Given

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Scope: TypeAlias = Literal["session", "project"]
"""The scope of a saved rule: its conversation, or all conversations in its workspace."""


class PermissionRule(Given, frozen=True, omit_defaults=True):
    """Allows, asks for or denies actions of the tools that `tool` matches, with an argument that `pattern` matches.

    Both are shell-style patterns ("*", "git *") that must match the whole text. `argument` names the argument for
    `pattern`; "" means all text in all arguments, at any depth. If several rules match an action, a rule that denies
    takes precedence over one that asks, and that over one that allows.
    """

    verdict: Verdict
    tool: str = "*"
    pattern: str = "*"
    argument: str = ""

"""`Steering`: the settings of a conversation: its rules, model, secrets and title."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..controls import (
    AddRule,
    Agree,
    Answer,
    AnyControl,
    Configure,
    Grant,
    LoadPlugin,
    RemoveRule,
    Rename,
    Reply,
    SetConfirmationPolicy,
    SetSecurityAnalyzer,
    SetTags,
    SwitchLLM,
    checked,
)
from ..events import Cursor
from ..secrets import AnySecret
from ..specs import AnyLLM, ConfirmationPolicy, PermissionRule
from ..specs.llm import as_llm
from ..specs.rules import Scope
from .reading import Reading


class Steering(Reading):
    """The part of a `Conversation` that changes its settings."""

    __slots__ = ()

    async def do(self, control: AnyControl, by: str | None = None) -> Reply:
        """Carry out a control. The log records the principal `by` as its author. The methods below all use this.

        Raises the errors of the matching method.
        """
        return await self._end.do(checked(control), by)

    async def add_rule(self, rule: PermissionRule, scope: Scope = "session") -> Cursor:
        """Add a permission rule that applies from now on: in this conversation, or in all conversations in its
        workspace.
        """
        return await self._do(AddRule(rule, scope))

    async def remove_rule(self, rule: PermissionRule, scope: Scope = "session") -> Cursor:
        """Remove an added rule: from this conversation and those that it delegates to. With "project", also from
        conversations that begin in its workspace from now on. `state.ledger.added` lists the added rules.

        Raises `ConfigurationError` for a rule that was not added. Also for a rule that asks or denies and was added
        elsewhere: remove it there.
        """
        return await self._do(RemoveRule(rule, scope))

    async def configure(self, **changes: Any) -> Cursor:
        """Change fields of the agent from now on: `configure(llm=..., confirmation=..., hooks=...)`.

        Raises `ConfigurationError` for an unknown field or an invalid value. The tools and instructions cannot be
        changed.
        """
        raws = {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in changes.items()}
        return await self._do(Configure(raws))

    async def set_confirmation_policy(self, policy: ConfirmationPolicy) -> Cursor:
        """Set the confirmation policy from now on. Without an analyzer this also sets the analyzer "rules", so that the
        policy always has ratings to act on.
        """
        return await self._do(SetConfirmationPolicy(policy))

    async def set_security_analyzer(self, *names: str) -> Cursor:
        """Set the analyzers that rate actions from now on; the highest of their ratings counts. Without names, actions
        are not rated, unless a person may have to be asked.
        """
        return await self._do(SetSecurityAnalyzer(names))

    async def switch_llm(self, llm: AnyLLM | str) -> Cursor:
        """Change the model from the next call on. Raises `UnknownModel` or `MissingKey`."""
        return await self._do(SwitchLLM(as_llm(llm)))

    async def update_secrets(self, secrets: Mapping[str, AnySecret | None]) -> Cursor:
        """Add, replace or, with None, remove secrets. Old values stay hidden. Raises `ConfigurationError`."""
        return await self._end.set_secrets(secrets)

    async def rename(self, title: str) -> Cursor:
        """Give the conversation a title."""
        return await self._do(Rename(title))

    async def set_tags(self, tags: Mapping[str, str]) -> Cursor:
        """Replace the tags. Keys consist of lowercase letters and digits, values have at most 256 characters. Raises
        `ConfigurationError` for others.
        """
        return await self._do(SetTags(dict(tags)))

    async def grant(self, amount: float) -> Cursor:
        """Allow the conversation to spend `amount` USD beyond `Limits.max_cost`. Raises `ConfigurationError` for an
        invalid amount.
        """
        return await self._do(Grant(amount))

    async def agree(self, digest: str) -> Cursor:
        """Agree to run the programs of a project or a plugin, here and in all conversations that find the same
        programs.

        `state.unagreed` lists the programs that wait for consent. Raises `ConfigurationError` for any other digest.
        """
        return await self._do(Agree(digest=digest))

    async def load_plugin(self, source: str, ref: str = "", repo_path: str = "") -> Cursor:
        """Load a plugin: a directory, a git address at a revision `ref`, `github:owner/repo`, or `NAME@MARKETPLACE`.

        Raises `ConfigurationError` for a plugin that cannot be read.
        """
        return await self._do(LoadPlugin(source=source, ref=ref, repo_path=repo_path))

    async def _do(self, control: AnyControl) -> Cursor:
        reply = await self.do(control)
        assert isinstance(reply, Cursor)
        return reply

    async def _ask(self, control: AnyControl) -> str:
        reply = await self.do(control)
        assert isinstance(reply, Answer)
        return reply.text

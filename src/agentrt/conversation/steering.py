"""`Steering`: what a person sets of a conversation: its rules, model, secrets, title."""

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
    """The part of a `Conversation` that sets how it goes on."""

    __slots__ = ()

    async def do(self, control: AnyControl, by: str | None = None) -> Reply:
        """Carry out a control, which stands in the log as asked `by` that principal; what the methods below do, too.

        Raises what the method of it does.
        """
        return await self._end.do(checked(control), by)

    async def add_rule(self, rule: PermissionRule, scope: Scope = "session") -> Cursor:
        """Have a permission rule hold from now on: in this conversation, or in all that work in its workspace."""
        return await self._do(AddRule(rule, scope))

    async def remove_rule(self, rule: PermissionRule, scope: Scope = "session") -> Cursor:
        """Have a rule that was added hold no more: in this conversation and those that it delegates to, and by
        "project" in none that begins in its workspace from now on. `state.ledger.added` has those that were added.

        Raises `ConfigurationError` for one that was not, and for one that asks or denies and came from elsewhere: that
        is taken back there.
        """
        return await self._do(RemoveRule(rule, scope))

    async def configure(self, **changes: Any) -> Cursor:
        """Change fields of the agent from now on: `configure(llm=..., confirmation=..., hooks=...)`.

        Raises `ConfigurationError` for a field that there is not, or a value that cannot be. Its tools and instructions
        stay as they were at the beginning.
        """
        raws = {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in changes.items()}
        return await self._do(Configure(raws))

    async def set_confirmation_policy(self, policy: ConfirmationPolicy) -> Cursor:
        """Who is asked from now on; without an analyzer this sets the rules, so that no policy is silently off."""
        return await self._do(SetConfirmationPolicy(policy))

    async def set_security_analyzer(self, *names: str) -> Cursor:
        """Who rates actions from now on, of several the highest; nobody, when none is named and nobody is asked."""
        return await self._do(SetSecurityAnalyzer(names))

    async def switch_llm(self, llm: AnyLLM | str) -> Cursor:
        """Which model answers from the next call on. Raises `UnknownModel` or `MissingKey`."""
        return await self._do(SwitchLLM(as_llm(llm)))

    async def update_secrets(self, secrets: Mapping[str, AnySecret | None]) -> Cursor:
        """Add, replace or, with None, remove secrets; what was one stays hidden. Raises `ConfigurationError`."""
        return await self._end.set_secrets(secrets)

    async def rename(self, title: str) -> Cursor:
        """Give the conversation a title."""
        return await self._do(Rename(title))

    async def set_tags(self, tags: Mapping[str, str]) -> Cursor:
        """Replace the tags. Raises `ConfigurationError` for a key that is not of small letters and digits, or a value
        of more than 256 characters.
        """
        return await self._do(SetTags(dict(tags)))

    async def grant(self, amount: float) -> Cursor:
        """Allow it to spend so many USD more than `Limits.max_cost` says. Raises `ConfigurationError` for no amount."""
        return await self._do(Grant(amount))

    async def agree(self, digest: str) -> Cursor:
        """Have the programs of a project or a plugin run, here and in all conversations that find the same.

        What waits for that is in `state.unagreed`. Raises `ConfigurationError` for what does not.
        """
        return await self._do(Agree(digest=digest))

    async def load_plugin(self, source: str, ref: str = "", repo_path: str = "") -> Cursor:
        """Load a plugin: a directory, a git address at a revision `ref`, `github:owner/repo`, or `NAME@MARKETPLACE`.

        Raises `ConfigurationError` for one that cannot be read.
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

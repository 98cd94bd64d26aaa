"""Permission rules of a workspace: a document for each workspace, in the storage, where no agent can write it.

The document follows the logs: a conversation's `RuleAdded` or `RuleRemoved` is logged first. Before that, a separate
document, the intent, names the conversation. A crash in between leaves the intent: until the next runtime writes the
rules document, readers of the rules also look into that conversation's log.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError, ConversationMissing, LogCorrupt, LogFailed, LogLocked
from ..events import Event, RuleAdded, RuleRemoved
from ..specs.rules import PermissionRule
from ..storing import Shelf, Storage, replaced

RULES, INTENTS = "rules", "intents"
"""The kinds of the documents."""

_Change = tuple[PermissionRule, bool]
"""A rule, and whether it is added; otherwise it is removed."""

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class ProjectRule(PermissionRule, frozen=True, omit_defaults=True):
    """A rule of a workspace, and the event that added it: "" and 0 if no conversation added it."""

    conversation: str = ""
    seq: int = 0

    @property
    def rule(self) -> PermissionRule:
        """The rule alone."""
        return PermissionRule(self.verdict, self.tool, self.pattern, self.argument)


class ProjectRules(msgspec.Struct, frozen=True):
    """The rules of a workspace."""

    workspace: str
    rules: tuple[ProjectRule, ...] = ()


class Intent(msgspec.Struct, frozen=True):
    """The note that a conversation may log rules of a workspace after its event `after`."""

    workspace: str
    conversation: str
    after: int
    id: str


async def project_rules(storage: Storage, workspace: str) -> tuple[PermissionRule, ...]:
    """Return the rules of a workspace, including those that were logged and are not in its document yet.

    Raises `ConfigurationError` for a document or a log that cannot be read: otherwise calls that it denies would be
    allowed.
    """
    changes: list[_Change] = []
    async for intent in _intents(storage.shelf):
        if intent.workspace == workspace:
            with _readable(intent):
                history = storage.history(intent.conversation)
                changes += _changes(intent, [event async for event in history.read(intent.after)])
    held = await storage.shelf.get(RULES, _name(workspace))  # after the intents: one may be fulfilled meanwhile
    rules = _held(storage.shelf, workspace, None if held is None else held[0]).rules
    return tuple(each.rule for each in _changed(rules, changes))


async def change_project_rules(
    storage: Storage, workspace: str, *, add: Iterable[PermissionRule] = (), remove: Iterable[PermissionRule] = ()
) -> tuple[PermissionRule, ...]:
    """Remove and add rules, and return the rules that hold now. Raises `ConfigurationError`."""
    async for intent in _intents(storage.shelf):
        if intent.workspace == workspace:
            await _recover(storage, intent)
    changes = [*((rule, False) for rule in remove), *((_of(rule), True) for rule in add)]
    await _change(storage.shelf, workspace, changes)
    return await project_rules(storage, workspace)


async def recover_project_rules(storage: Storage) -> None:
    """Write to the workspaces' documents the rules that a crash kept out. Raises `ConfigurationError` for an unreadable
    intent; for an unreadable log or document it only logs a warning.
    """
    async for intent in _intents(storage.shelf):
        try:
            await _recover(storage, intent)
        except ConfigurationError as error:
            _log.warning("%s", error)


async def intend(shelf: Shelf, intent: Intent) -> None:
    """Note, durably, that a conversation is about to log rules. Raises `ConfigurationError`."""
    await shelf.put(INTENTS, intent.id, msgspec.json.encode(intent), 0)


async def fulfil(shelf: Shelf, intent: Intent, logged: Iterable[Event]) -> None:
    """Write the rules that were logged since to the document, and delete the intent. Raises `ConfigurationError`."""
    if changes := _changes(intent, logged):
        await _change(shelf, intent.workspace, changes)
    await shelf.delete(INTENTS, intent.id)


async def _recover(storage: Storage, intent: Intent) -> None:
    """Fulfil an intent from the conversation's log, unless the conversation is open: then its process does that."""
    try:
        with _readable(intent):
            journal = await storage.open(intent.conversation, lambda event: None, lambda state: None)
            try:
                logged = [event async for event in journal.read(intent.after, 1 << 62)]
                await fulfil(storage.shelf, intent, logged)
            finally:
                await storage.release(intent.conversation)
            return
        await fulfil(storage.shelf, intent, ())
    except LogLocked:
        pass


@contextmanager
def _readable(intent: Intent) -> Iterator[None]:
    """Ignore a missing conversation: it logged nothing, or it was deleted after its rules were written.

    Raises `ConfigurationError` for a log that cannot be read.
    """
    try:
        yield
    except ConversationMissing:
        pass
    except (LogCorrupt, LogFailed) as error:
        raise ConfigurationError(
            f"conversation {intent.conversation} may have added permission rules for {intent.workspace}, and its log"
            f" cannot be read: {error}. Restore it, or look at the rules with 'agentrt rules' once you have deleted it"
        ) from error


async def _intents(shelf: Shelf) -> AsyncIterator[Intent]:
    for name in await shelf.names(INTENTS):
        if (found := await shelf.get(INTENTS, name)) is not None:
            yield _decoded(shelf, INTENTS, name, found[0], Intent)


def _changes(intent: Intent, logged: Iterable[Event]) -> list[_Change]:
    changes: list[_Change] = []
    for event in logged:
        if event.seq > intent.after and event.source == "user":
            match event:
                case RuleAdded(scope="project"):
                    changes.append((_of(event.rule, intent.conversation, event.seq), True))
                case RuleRemoved(scope="project"):
                    changes.append((event.rule, False))
                case _:
                    pass
    return changes


async def _change(shelf: Shelf, workspace: str, changes: Iterable[_Change]) -> None:
    def changed(data: bytes | None) -> bytes:
        held = _held(shelf, workspace, data)
        return msgspec.json.format(msgspec.json.encode(replace(held, rules=_changed(held.rules, changes))))

    await replaced(shelf, RULES, _name(workspace), changed)


def _changed(rules: Iterable[ProjectRule], changes: Iterable[_Change]) -> tuple[ProjectRule, ...]:
    held = {each.rule: each for each in rules}
    for rule, added in changes:
        if isinstance(rule, ProjectRule) and added:
            held.setdefault(rule.rule, rule)
        else:
            held.pop(rule, None)
    return tuple(held.values())


def _of(rule: PermissionRule, conversation: str = "", seq: int = 0) -> ProjectRule:
    return ProjectRule(rule.verdict, rule.tool, rule.pattern, rule.argument, conversation, seq)


def _held(shelf: Shelf, workspace: str, data: bytes | None) -> ProjectRules:
    if data is None:
        return ProjectRules(workspace)
    return _decoded(shelf, RULES, _name(workspace), data, ProjectRules)


def _decoded(shelf: Shelf, kind: str, name: str, data: bytes, shape: type[_T]) -> _T:
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        where = shelf.where(kind, name)
        raise ConfigurationError(f"cannot read the permission rules in {where}: {error}; fix or remove it") from error


def _name(workspace: str) -> str:
    return sha256(workspace.encode(errors="surrogateescape")).hexdigest()[:32]

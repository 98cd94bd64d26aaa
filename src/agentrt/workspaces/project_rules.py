"""Permission rules that hold for a workspace: a document for each, in the storage, so that no agent in it writes them.

The document follows the logs: a conversation's `RuleAdded` or `RuleRemoved` is logged first. Before that an intent
names the conversation. A crash between the two leaves the intent, and the next reader of the rules fulfils it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from hashlib import sha256

import msgspec

from ..errors import ConfigurationError, ConversationMissing, LogCorrupt, LogFailed, LogLocked
from ..events import Event, RuleAdded, RuleRemoved
from ..specs.rules import PermissionRule
from ..storing import Shelf, Storage, replaced

RULES, INTENTS = "rules", "intents"
"""The kinds of the documents."""

_log = logging.getLogger(__name__)


class ProjectRule(PermissionRule, frozen=True, omit_defaults=True):
    """A rule of a workspace, and the event that added it: "" and 0 when that was no conversation."""

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
    """A conversation may log rules of a workspace after its event `after`."""

    workspace: str
    conversation: str
    after: int
    id: str


async def project_rules(storage: Storage, workspace: str) -> tuple[PermissionRule, ...]:
    """The rules that hold for a workspace. What a crash kept from them is added.

    Raises `ConfigurationError` for a document or a log that cannot be read: what it denies would be allowed.
    """
    await _recover_those(storage, workspace)
    found = await storage.shelf.get(RULES, _name(workspace))
    return tuple(held.rule for held in _held(storage.shelf, workspace, None if found is None else found[0]))


async def change_project_rules(
    storage: Storage, workspace: str, *, add: Iterable[PermissionRule] = (), remove: Iterable[PermissionRule] = ()
) -> tuple[PermissionRule, ...]:
    """Add and take back rules, and give those that hold now. Raises `ConfigurationError`."""
    await _recover_those(storage, workspace)
    changes = [*((rule, False) for rule in remove), *((_of(rule), True) for rule in add)]
    return tuple(held.rule for held in await _change(storage.shelf, workspace, changes))


async def intend(shelf: Shelf, intent: Intent) -> None:
    """Note, durably, that a conversation is about to log rules. Raises `ConfigurationError`."""
    await shelf.put(INTENTS, intent.id, msgspec.json.encode(intent), 0)


async def fulfil(shelf: Shelf, intent: Intent, logged: Iterable[Event]) -> None:
    """Have the rules that were logged since hold, and forget the intent. Raises `ConfigurationError`."""
    changes: list[tuple[PermissionRule, bool]] = []
    for event in logged:
        if event.seq > intent.after and event.source == "user":
            match event:
                case RuleAdded(scope="project"):
                    changes.append((_of(event.rule, intent.conversation, event.seq), True))
                case RuleRemoved(scope="project"):
                    changes.append((event.rule, False))
                case _:
                    pass
    if changes:
        await _change(shelf, intent.workspace, changes)
    await shelf.delete(INTENTS, intent.id)


async def recover_project_rules(storage: Storage) -> None:
    """Add to all workspaces' rules what a crash kept from them."""
    async for intent in _intents(storage.shelf):
        try:
            await _recover(storage, intent)
        except ConfigurationError as error:
            _log.warning("%s", error)


async def _recover_those(storage: Storage, workspace: str) -> None:
    async for intent in _intents(storage.shelf):
        if intent.workspace == workspace:
            await _recover(storage, intent)


async def _recover(storage: Storage, intent: Intent) -> None:
    """Fulfil an intent from the conversation's log, unless the conversation is open: then its process does that."""
    events: list[Event] = []
    try:
        journal = await storage.open(intent.conversation, lambda event: None, lambda state: None)
        try:
            events = [event async for event in journal.read(intent.after, 1 << 62)]
        finally:
            await storage.release(intent.conversation)
    except LogLocked:
        return
    except ConversationMissing:
        pass  # nothing was logged, or it was deleted after its rules had been written
    except (LogCorrupt, LogFailed) as error:
        raise ConfigurationError(
            f"conversation {intent.conversation} may have added permission rules for {intent.workspace}, and its log"
            f" cannot be read: {error}. Look at it with 'agentrt rules', then remove"
            f" {storage.shelf.where(INTENTS, intent.id)}"
        ) from error
    await fulfil(storage.shelf, intent, events)


async def _change(
    shelf: Shelf, workspace: str, changes: Iterable[tuple[PermissionRule, bool]]
) -> tuple[ProjectRule, ...]:
    changes = list(changes)

    def change(data: bytes | None) -> bytes:
        held = {each.rule: each for each in _held(shelf, workspace, data)}
        for rule, added in changes:
            if isinstance(rule, ProjectRule) and added:
                held.setdefault(rule.rule, rule)
            else:
                held.pop(rule, None)
        return msgspec.json.format(msgspec.json.encode(ProjectRules(workspace, tuple(held.values()))))

    return _held(shelf, workspace, await replaced(shelf, RULES, _name(workspace), change))


def _of(rule: PermissionRule, conversation: str = "", seq: int = 0) -> ProjectRule:
    return ProjectRule(rule.verdict, rule.tool, rule.pattern, rule.argument, conversation, seq)


def _held(shelf: Shelf, workspace: str, data: bytes | None) -> tuple[ProjectRule, ...]:
    if data is None:
        return ()
    try:
        return msgspec.json.decode(data, type=ProjectRules).rules
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        where = shelf.where(RULES, _name(workspace))
        raise ConfigurationError(f"cannot read the permission rules in {where}: {error}; fix or remove it") from error


async def _intents(shelf: Shelf) -> AsyncIterator[Intent]:
    for name in await shelf.names(INTENTS):
        if (found := await shelf.get(INTENTS, name)) is not None:  # else it is fulfilled meanwhile
            try:
                yield msgspec.json.decode(found[0], type=Intent)
            except msgspec.MsgspecError:
                continue  # no intent of ours


def _name(workspace: str) -> str:
    return sha256(workspace.encode(errors="surrogateescape")).hexdigest()[:32]

"""Permission rules that hold for a workspace: a document for each, in the storage, so that no agent in it writes them.

The document follows the logs: a conversation's `RuleAdded` or `RuleRemoved` is logged first. Before that an intent in
the document names the conversation. A crash between the two leaves it, and the next reader of the rules fulfils it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError, ConversationMissing, LogCorrupt, LogFailed, LogLocked
from ..events import Event, RuleAdded, RuleRemoved
from ..specs.rules import PermissionRule
from ..storing import Shelf, Storage, replaced

RULES = "rules"
"""The kind of the documents."""

_log = logging.getLogger(__name__)


class ProjectRule(PermissionRule, frozen=True, omit_defaults=True):
    """A rule of a workspace, and the event that added it: "" and 0 when that was no conversation."""

    conversation: str = ""
    seq: int = 0

    @property
    def rule(self) -> PermissionRule:
        """The rule alone."""
        return PermissionRule(self.verdict, self.tool, self.pattern, self.argument)


class Intent(msgspec.Struct, frozen=True):
    """A conversation may log rules of the workspace after its event `after`."""

    conversation: str
    after: int
    id: str


class ProjectRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """The rules of a workspace, and those that may have been logged and are not among them yet."""

    workspace: str
    rules: tuple[ProjectRule, ...] = ()
    intents: tuple[Intent, ...] = ()


async def project_rules(storage: Storage, workspace: str) -> tuple[PermissionRule, ...]:
    """The rules that hold for a workspace. What a crash kept from them is added.

    Raises `ConfigurationError` for a document or a log that cannot be read: what it denies would be allowed.
    """
    found = await storage.shelf.get(RULES, _name(workspace))
    held = _held(storage.shelf, workspace, None if found is None else found[0])
    for intent in held.intents:
        held = await _recover(storage, workspace, intent) or held
    return tuple(each.rule for each in held.rules)


async def change_project_rules(
    storage: Storage, workspace: str, *, add: Iterable[PermissionRule] = (), remove: Iterable[PermissionRule] = ()
) -> tuple[PermissionRule, ...]:
    """Add and take back rules, and give those that hold now. Raises `ConfigurationError`."""
    await project_rules(storage, workspace)
    changes = [*((rule, False) for rule in remove), *((_of(rule), True) for rule in add)]
    held = await _change(storage.shelf, workspace, lambda held: replace(held, rules=_changed(held.rules, changes)))
    return tuple(each.rule for each in held.rules)


async def intend(shelf: Shelf, workspace: str, intent: Intent) -> None:
    """Note, durably, that a conversation is about to log rules. Raises `ConfigurationError`."""
    await _change(shelf, workspace, lambda held: replace(held, intents=(*held.intents, intent)))


async def fulfil(shelf: Shelf, workspace: str, intent: Intent, logged: Iterable[Event]) -> ProjectRules:
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

    def change(held: ProjectRules) -> ProjectRules:
        left = tuple(each for each in held.intents if each.id != intent.id)
        return replace(held, rules=_changed(held.rules, changes), intents=left)

    return await _change(shelf, workspace, change)


async def recover_project_rules(storage: Storage) -> None:
    """Add to all workspaces' rules what a crash kept from them."""
    for name in await storage.shelf.names(RULES):
        try:
            found = await storage.shelf.get(RULES, name)
            held = _held(storage.shelf, "", None if found is None else found[0], name)
            for intent in held.intents:
                await _recover(storage, held.workspace, intent)
        except ConfigurationError as error:
            _log.warning("%s", error)


async def _recover(storage: Storage, workspace: str, intent: Intent) -> ProjectRules | None:
    """Fulfil an intent from the conversation's log; None while the conversation is open: its process does that."""
    events: list[Event] = []
    try:
        journal = await storage.open(intent.conversation, lambda event: None, lambda state: None)
        try:
            events = [event async for event in journal.read(intent.after, 1 << 62)]
        finally:
            await storage.release(intent.conversation)
    except LogLocked:
        return None
    except ConversationMissing:
        pass  # nothing was logged, or it was deleted after its rules had been written
    except (LogCorrupt, LogFailed) as error:
        raise ConfigurationError(
            f"conversation {intent.conversation} may have added permission rules for {workspace}, and its log cannot be"
            f" read: {error}. Restore it, or look at the rules with 'agentrt rules' once you have deleted it"
        ) from error
    return await fulfil(storage.shelf, workspace, intent, events)


async def _change(shelf: Shelf, workspace: str, change: Callable[[ProjectRules], ProjectRules]) -> ProjectRules:
    def changed(data: bytes | None) -> bytes:
        return msgspec.json.format(msgspec.json.encode(change(_held(shelf, workspace, data))))

    return _held(shelf, workspace, await replaced(shelf, RULES, _name(workspace), changed))


def _changed(rules: Iterable[ProjectRule], changes: Iterable[tuple[PermissionRule, bool]]) -> tuple[ProjectRule, ...]:
    held = {each.rule: each for each in rules}
    for rule, added in changes:
        if isinstance(rule, ProjectRule) and added:
            held.setdefault(rule.rule, rule)
        else:
            held.pop(rule, None)
    return tuple(held.values())


def _of(rule: PermissionRule, conversation: str = "", seq: int = 0) -> ProjectRule:
    return ProjectRule(rule.verdict, rule.tool, rule.pattern, rule.argument, conversation, seq)


def _held(shelf: Shelf, workspace: str, data: bytes | None, name: str = "") -> ProjectRules:
    if data is None:
        return ProjectRules(workspace)
    try:
        return msgspec.json.decode(data, type=ProjectRules)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        where = shelf.where(RULES, name or _name(workspace))
        raise ConfigurationError(f"cannot read the permission rules in {where}: {error}; fix or remove it") from error


def _name(workspace: str) -> str:
    return sha256(workspace.encode(errors="surrogateescape")).hexdigest()[:32]

"""Permission rules that hold for a workspace: a file for each, outside of it, so that no agent in it can write them.

The file follows the logs: a conversation's `RuleAdded` or `RuleRemoved` is logged first. Before that an intent beside
the file names the conversation. A crash between the two leaves the intent, and the next reader of the rules fulfils it.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

from ..errors import ConfigurationError, LogCorrupt, LogLocked
from ..events import Event, RuleAdded, RuleRemoved
from ..specs.rules import PermissionRule
from .disk import make_directories, replace_file, sync_directory
from .locks import Locks
from .reading import read_log

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


def project_rules(root: Path, workspace: str) -> tuple[PermissionRule, ...]:
    """The rules that hold for a workspace, in the store `root`; for a thread. What a crash kept from them is added.

    Raises `ConfigurationError` for a file or a log that cannot be read: what it denies would be allowed.
    """
    for intent in _intents(root, workspace):
        _recover(root, intent)
    return tuple(held.rule for held in _held(root, workspace))


def change_project_rules(
    root: Path, workspace: str, *, add: Iterable[PermissionRule] = (), remove: Iterable[PermissionRule] = ()
) -> tuple[PermissionRule, ...]:
    """Add and take back rules, and give those that hold now; for a thread. Raises `ConfigurationError` or `OSError`."""
    for intent in _intents(root, workspace):
        _recover(root, intent)
    changes = [*((rule, False) for rule in remove), *((_of(rule), True) for rule in add)]
    return tuple(held.rule for held in _change(root, workspace, changes))


def intend(root: Path, intent: Intent) -> None:
    """Note, durably, that a conversation is about to log rules; for a thread. Raises `OSError`."""
    path = _intent_file(root, intent)
    make_directories(path.parent)
    replace_file(path, msgspec.json.encode(intent), durable=True)


def fulfil(root: Path, intent: Intent, logged: Iterable[Event]) -> None:
    """Have the rules that were logged since hold, and forget the intent; for a thread. Raises as `project_rules` does,
    or `OSError`.
    """
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
        _change(root, intent.workspace, changes)
    path = _intent_file(root, intent)
    path.unlink(missing_ok=True)
    sync_directory(path.parent)


def recover_project_rules(root: Path) -> None:
    """Add to all workspaces' rules what a crash kept from them; for a thread. Raises `OSError`."""
    for intent in _intents(root):
        try:
            _recover(root, intent)
        except ConfigurationError as error:
            _log.warning("%s", error)


def _recover(root: Path, intent: Intent) -> None:
    """Fulfil an intent from the conversation's log, unless the conversation is open: then its process does that."""
    locks = Locks(root / "lock")
    events: list[Event] = []
    try:
        locks.acquire(intent.conversation)
        read_log(root / "conversations" / intent.conversation, events.append)
    except LogLocked:
        return
    except FileNotFoundError:
        pass  # nothing was logged, or it was deleted after its rules had been written
    except LogCorrupt as error:
        raise ConfigurationError(
            f"conversation {intent.conversation} may have added permission rules for {intent.workspace}, and its log"
            f" cannot be read: {error}. Look at it with 'agentrt rules', then remove {_intent_file(root, intent)}"
        ) from error
    finally:
        locks.close()
    fulfil(root, intent, events)


def _change(root: Path, workspace: str, changes: Iterable[tuple[PermissionRule, bool]]) -> tuple[ProjectRule, ...]:
    path = _file(root, workspace)
    with _alone(path.parent):
        held = {each.rule: each for each in _held(root, workspace)}
        for rule, added in changes:
            if isinstance(rule, ProjectRule) and added:
                held.setdefault(rule.rule, rule)
            else:
                held.pop(rule, None)
        made = ProjectRules(workspace, tuple(held.values()))
        replace_file(path, msgspec.json.format(msgspec.json.encode(made)), durable=True)
    return tuple(held.values())


def _of(rule: PermissionRule, conversation: str = "", seq: int = 0) -> ProjectRule:
    return ProjectRule(rule.verdict, rule.tool, rule.pattern, rule.argument, conversation, seq)


def _held(root: Path, workspace: str) -> tuple[ProjectRule, ...]:
    path = _file(root, workspace)
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProjectRules).rules
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read the permission rules in {path}: {error}; fix or remove it") from error


def _intents(root: Path, workspace: str | None = None) -> Iterator[Intent]:
    for path in sorted((root / "rules" / "intents").glob("*.json")):
        with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):  # fulfilled meanwhile; cut by a crash
            intent = msgspec.json.decode(path.read_bytes(), type=Intent)
            if workspace in (None, intent.workspace):
                yield intent


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    make_directories(directory)
    with open(directory / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _intent_file(root: Path, intent: Intent) -> Path:
    return root / "rules" / "intents" / f"{intent.id}.json"


def _file(root: Path, workspace: str) -> Path:
    return root / "rules" / f"{sha256(workspace.encode(errors='surrogateescape')).hexdigest()[:32]}.json"

"""Permission rules that hold for a workspace: a file for each, outside of it, so that no agent in it can write them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec

from ..errors import ConfigurationError
from ..specs.rules import PermissionRule
from .disk import make_directories, replace_file


class ProjectRules(msgspec.Struct, frozen=True):
    """The rules of a workspace."""

    workspace: str
    rules: tuple[PermissionRule, ...] = ()


def project_rules(root: Path, workspace: str) -> tuple[PermissionRule, ...]:
    """The rules that were remembered for a workspace, in the store `root`; for a thread.

    Raises `ConfigurationError` for a file that cannot be read: what it denies would be allowed.
    """
    path = _file(root, workspace)
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProjectRules).rules
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read the permission rules in {path}: {error}; mend or remove it") from error


def change_project_rules(
    root: Path, workspace: str, *, add: Iterable[PermissionRule] = (), remove: Iterable[PermissionRule] = ()
) -> tuple[PermissionRule, ...]:
    """Add and take back rules, and give those that hold now; for a thread. Raises `ConfigurationError` or `OSError`."""
    path, gone = _file(root, workspace), set(remove)
    make_directories(path.parent)
    with open(path.parent / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = [rule for rule in project_rules(root, workspace) if rule not in gone]
        rules = tuple(dict.fromkeys([*kept, *add]))
        replace_file(path, msgspec.json.format(msgspec.json.encode(ProjectRules(workspace, rules))))
        os.chmod(path, 0o600)
    return rules


def _file(root: Path, workspace: str) -> Path:
    return root / "rules" / f"{sha256(workspace.encode(errors='surrogateescape')).hexdigest()[:32]}.json"

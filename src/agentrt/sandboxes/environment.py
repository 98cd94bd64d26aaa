"""What a shell has as its environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "HISTFILE": "/dev/null"}
"""Variables of a shell whose output nobody pages through."""

_SECRET = re.compile(
    r"(?:^|_)(?:\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?|PAT|(?:SSH)?PASS)\d*(?:_|$)"
    r"|\w_PWD$|_AUTH$|_AUTH_CONFIG$",
    re.IGNORECASE,
)
_SETTING = re.compile(r"(?i)|\d{1,5}|true|false|yes|no|on|off|none|auto")
"""Values that are no secret whatever their name says: `MAX_TOKENS=4096`."""

_LOGIN = re.compile(r"://(?:[^/\s:@]*:[^/\s@]+|[^/\s:@]{16,})@")
"""A password in an address, `postgres://user:password@host`, or a token, `https://token@host`."""

_NEEDED = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "USER"})
"""Variables that no shell does without, whatever happens to stand in them."""

Masked: TypeAlias = Callable[[str], str]
"""A text without secrets."""


def environment(base: Mapping[str, str], masked: Masked = str) -> dict[str, str]:
    """The environment of a shell: that of the process without what is or looks like a secret, and quiet terminals."""
    plain = {name: value for name, value in base.items() if not looks_secret(name, value)}
    hidden = secret_variables(plain, masked)
    return {**{name: value for name, value in plain.items() if name not in hidden}, **QUIET}


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable is a secret by its name, or has a password in an address."""
    return bool(_SECRET.search(name) and not _SETTING.fullmatch(value)) or _LOGIN.search(value) is not None


def is_setting(value: str) -> bool:
    """Whether a value is no secret, whatever its name says."""
    return _SETTING.fullmatch(value) is not None


def secret_variables(variables: Mapping[str, str], masked: Masked) -> frozenset[str]:
    """The variables that have a secret in their value."""
    return frozenset(name for name, value in variables.items() if name not in _NEEDED and masked(value) != value)

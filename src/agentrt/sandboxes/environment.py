"""The environment variables of a shell."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ..placing import Masked

QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "HISTFILE": "/dev/null"}
"""Variables of a shell that no person uses: plain output, no pager, no history file."""

_SECRET = re.compile(
    r"(?:(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?|(?:^|_)(?:PAT|(?:SSH)?PASS))\d*+(?:_|$)"
    r"|\w_PWD$|_AUTH$|_AUTH_CONFIG$",
    re.IGNORECASE,
)
_SETTING = re.compile(r"(?i)|\d{1,5}|true|false|yes|no|on|off|none|auto")
"""Values that are never secrets, whatever the variable's name: `MAX_TOKENS=4096`."""

_LOGIN = re.compile(r"://(?:[^/\s:@]*:[^/\s@]+|[^/\s:@]{16,})@")
"""A password or a token in an address: `postgres://user:password@host`, `https://token@host`."""

_NEEDED = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "USER"})
"""Variables that a shell needs. They are kept even if a secret occurs in their value."""


def environment(base: Mapping[str, str], masked: Masked = str) -> dict[str, str]:
    """Return the environment of a shell: `base` without variables that are or look like secrets, and `QUIET`."""
    plain = {name: value for name, value in base.items() if not looks_secret(name, value)}
    hidden = secret_variables(plain, masked)
    return {**{name: value for name, value in plain.items() if name not in hidden}, **QUIET}


def looks_secret(name: str, value: str) -> bool:
    """Return whether a variable is a secret by its name, or has a password in an address."""
    return bool(_SECRET.search(name) and not _SETTING.fullmatch(value)) or _LOGIN.search(value) is not None


_USUAL = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|EDITOR|VISUAL|CI|PWD|COLUMNS|LINES"
    r"|LC_\w+|PYTHON\w+|PIP_\w+|UV_\w+|POETRY_\w+|NPM_CONFIG_\w+|NODE_\w+|VIRTUAL_ENV|CONDA_\w+|JAVA_\w+|GO\w+|CARGO_\w+"
    r"|RUSTUP_\w+|GIT_(?:AUTHOR|COMMITTER)_\w+|DEBIAN_FRONTEND|MAKEFLAGS|CC|CXX|CPP|LD|AR|(?:C|CXX|CPP|LD)FLAGS|PKG_CONFIG_\w+"
    r"|(?:HTTPS?|ALL|NO|FTP)_PROXY|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|[A-Z]\w*_(?:HOME|ROOT|PREFIX)",
    re.IGNORECASE,
)
"""Names of variables that programs need to find their files and to speak their user's language."""


def passed(base: Mapping[str, str], more: Collection[str] = ()) -> dict[str, str]:
    """Return what programs behind a wall get of an environment: the usual variables, and those with the names in
    `more`. Those that are or look like secrets are not among the usual ones.
    """
    return {
        name: value
        for name, value in base.items()
        if name in more or (_USUAL.fullmatch(name) and not looks_secret(name, value))
    }


def has_login(text: str) -> bool:
    """Return whether a text has a password in an address."""
    return _LOGIN.search(text) is not None


def is_setting(value: str) -> bool:
    """Return whether a value is never a secret, whatever the variable's name."""
    return _SETTING.fullmatch(value) is not None


def secret_variables(variables: Mapping[str, str], masked: Masked) -> frozenset[str]:
    """Return the names of the variables whose values contain a secret, except for those that a shell needs."""
    text = "\0".join(variables.values())
    if masked(text) == text:  # as before almost every command
        return frozenset()
    return frozenset(name for name, value in variables.items() if name not in _NEEDED and masked(value) != value)

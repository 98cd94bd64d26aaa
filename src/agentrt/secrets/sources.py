"""Where a secret's value comes from, as a program says it. None of these shows a value, and none can be encoded."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from ..errors import ConfigurationError
from ..specs.secrets import EnvironmentSecret

SecretFunction: TypeAlias = Callable[[], str | Awaitable[str]]

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = re.compile(
    r"(?i:_*agentrt_).*|_|(?:BASH|COMP_|LD_).*|ENV|E?UID|GROUPS|HOME|IFS|OLDPWD|PATH|PPID|PROMPT_COMMAND|PS[0-4]|PWD"
    r"|SHELL|SHELLOPTS|TERM"
)
"""Variables that the shell itself goes by, or that the runtime does."""

SHORTEST = 4
"""Characters that a secret has at least."""


class StaticSecret:
    """A value that is known; a `str` in its place says the same."""

    def __init__(self, value: str, description: str = "") -> None:
        self.value, self.description = value, description

    def __repr__(self) -> str:
        return f"StaticSecret(<hidden>, description={self.description!r})"


class LookupSecret:
    """The body of what a URL answers to a GET, without the space around it.

    The values of `headers` are secrets themselves; the URL is none, and stands in the log. Raises `ConfigurationError`
    for a URL that is not http or https or has a password in it, and for what is no header.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, description: str = "") -> None:
        self.url, self.headers, self.description = url, dict(headers or {}), description
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("a secret is looked up at a whole URL, of http or https")
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError(
                f"the URL at {parts.hostname} has a user or a password in it: send them in a header"
            )
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or any(character in value for character in "\r\n\0"):
                raise ConfigurationError(f"{name!r} is no header of one line: it cannot be sent to {parts.hostname}")

    def __repr__(self) -> str:
        hidden = dict.fromkeys(self.headers, "<hidden>")
        return f"LookupSecret({self.url!r}, headers={hidden}, description={self.description!r})"


class CallableSecret:
    """What a function returns, or the awaitable that it returns; a function in its place says the same.

    One that is not async is called in a thread.
    """

    def __init__(self, function: SecretFunction, description: str = "") -> None:
        self.function, self.description = function, description

    def __repr__(self) -> str:
        return f"CallableSecret({getattr(self.function, '__name__', '...')}, description={self.description!r})"


SecretSource: TypeAlias = StaticSecret | EnvironmentSecret | LookupSecret | CallableSecret
AnySecret: TypeAlias = str | SecretSource | SecretFunction


def source_of(name: str, secret: AnySecret) -> SecretSource:
    """What was given under a name, as a source. Raises `ConfigurationError` for what cannot be one."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} is no name of a secret: use letters, digits and '_', as for a variable")
    if _TAKEN.fullmatch(name):
        raise ConfigurationError(f"{name!r} is no name of a secret: a shell goes by that variable, choose another")
    if isinstance(secret, str):
        return StaticSecret(secret)
    if isinstance(secret, StaticSecret | EnvironmentSecret | LookupSecret | CallableSecret):
        return secret
    if callable(secret):
        return CallableSecret(secret)
    raise ConfigurationError(
        f"secret {name!r} is a {type(secret).__name__}: give a str, a function, EnvironmentSecret or LookupSecret"
    )


def usable(name: str, value: object) -> str:
    """The value of a secret. Raises `ConfigurationError` for one that no variable can hold, or no mask hide."""
    if not isinstance(value, str):
        raise ConfigurationError(f"the value of secret {name!r} is a {type(value).__name__}, and must be a str")
    if len(value.strip()) < SHORTEST:
        raise ConfigurationError(
            f"secret {name!r} has less than {SHORTEST} characters: they would be found in any text"
        )
    if "\0" in value:
        raise ConfigurationError(f"secret {name!r} has a NUL in it, which no variable can hold")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"secret {name!r} is not text that UTF-8 can write") from None
    return value

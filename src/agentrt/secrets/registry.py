"""`SecretRegistry`: the secrets of one conversation."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import anyio

from ..errors import ConfigurationError, ToolError
from ..protocols import Clock
from ..specs.secrets import EnvironmentSecret, SavedSecret, Token
from .cipher import Cipher
from .lookups import fetch
from .mask import Mask
from .saving import KnownSource, MissingSecret, restored, saved
from .sources import AnySecret, CallableSecret, LookupSecret, StaticSecret, source_of, usable

FRESH = 60.0
"""Seconds for which a value that was looked up is used again."""

_PAST = "past"
"""The place for which retired values are encrypted: the same in every log, because a fork has those of its parent."""

_AT = "@"
"""Separates a token from the place it is encrypted for, if that is not `_PAST`."""

RETRY_AFTER = 60.0
"""Seconds for which a failed lookup is not repeated."""

_NO_SECRET_HEADERS = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "user-agent"})
_SHORTEST_IN_HEADER = 8


class _Kept:
    """The result of a lookup, and until when it is valid; `value` is None if the lookup failed."""

    def __init__(self, value: str | None, failure: str, until: float) -> None:
        self.value, self.failure, self.until = value, failure, until


class SecretRegistry:
    """The sources of secrets by name, and the mask of all values that any of them ever had.

    Static values, variables of the environment and a lookup's headers are masked from `update` on; a value that is
    looked up is masked once it is known. A new value replaces `mask` and increases `version`.
    """

    def __init__(
        self,
        secrets: Mapping[str, AnySecret] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.mask, self.version = Mask(), 0
        self.listeners: list[Callable[[], None]] = []
        """Called when the mask has been replaced."""
        self._environment, self._clock = os.environ if environment is None else environment, clock
        self._sources: dict[str, KnownSource] = {}
        self._kept: dict[str, _Kept] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self._past: dict[str, None] = {}
        """Retired values: those of secrets that were replaced or removed."""
        self._unsaved: list[str] = []
        """The retired values that no log has."""
        self._sealed: list[Token] = []
        """Tokens of retired secrets that this process could not decrypt; no log has them as retired."""
        self.used = False
        """Whether there ever was a secret. If so, the mask is worth keeping even without secrets."""
        self.update(secrets or {})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the secrets that a tool may use, in the order in which they came."""
        return tuple(self._sources)

    @property
    def descriptions(self) -> dict[str, str]:
        """The descriptions of the secrets, by name; empty if none was given."""
        return {name: source.description for name, source in self._sources.items()}

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the secrets whose values were not restored: they must be given again."""
        return tuple(name for name, source in self._sources.items() if isinstance(source, MissingSecret))

    def update(self, secrets: Mapping[str, AnySecret]) -> None:
        """Add secrets, or replace those of the same name, whose values stay masked.

        Raises `ConfigurationError`, and changes nothing, for a name or a value that cannot be used.
        """
        self._take({name: source_of(name, secret) for name, secret in secrets.items()})

    def remove(self, *names: str) -> None:
        """Forget secrets; their values stay masked."""
        for name in names:
            self._retire(self._known(name))
            if isinstance(source := self._sources.get(name), MissingSecret):
                self._sealed += [f"{token}{_AT}{place}" for place, token in source.tokens().items()]
            for known in (self._sources, self._kept, self._locks):
                known.pop(name, None)

    def copy(self) -> SecretRegistry:
        """Return a registry with the same secrets, for a fork; a change in one does not affect the other."""
        other = SecretRegistry(environment=self._environment, clock=self._clock)
        other.mask, other.version = self.mask, self.version
        other._sources, other._kept = dict(self._sources), dict(self._kept)
        other._past, other._unsaved, other._sealed = dict(self._past), [*self._past], list(self._sealed)
        other.used = self.used
        return other

    @contextlib.contextmanager
    def undone_when(self, refused: type[Exception]) -> Iterator[None]:
        """Undo what the body has changed if it raises `refused`; all values stay masked."""
        sources, kept, past = dict(self._sources), dict(self._kept), dict(self._past)
        unsaved, sealed, used = list(self._unsaved), list(self._sealed), self.used
        try:
            yield
        except refused:
            self._sources, self._kept, self._past = sources, kept, past
            self._unsaved, self._sealed, self.used = unsaved, sealed, used
            raise

    def seed(self, values: Iterable[str]) -> None:
        """Mask values that no tool may use, such as the keys of models."""
        self._learn(values)

    def saved(self, cipher: Cipher | None = None, scope: str = "") -> dict[str, SavedSecret]:
        """Return the sources as the log may hold them: with values encrypted for `scope`, such as an id, or without."""
        return saved(self._sources, cipher, scope)

    @property
    def has_unsaved(self) -> bool:
        """Whether there is a retired value that `retired` has not returned yet."""
        return bool(self._unsaved or self._sealed)

    def retired(self, cipher: Cipher | None = None) -> tuple[Token, ...]:
        """Return the values that were retired since the last call, encrypted. Without a cipher, return only those that
        were already encrypted.
        """
        values, tokens = self._unsaved, self._sealed
        self._unsaved, self._sealed = [], []
        return (*tokens, *(cipher.encrypt(value, _PAST) for value in values if cipher is not None))

    def restore(
        self,
        secrets: Mapping[str, SavedSecret],
        cipher: Cipher | None = None,
        scope: str = "",
        past: Iterable[Token] = (),
    ) -> tuple[str, ...]:
        """Take over what `saved` and `retired` returned; return the names of the secrets whose values are missing.

        Raises `ConfigurationError` if one cannot be decrypted.
        """
        sources = restored(secrets, cipher, scope)
        if cipher is not None:
            found = [
                cipher.decrypt(token, place or _PAST) for token, _, place in (kept.partition(_AT) for kept in past)
            ]
            self._learn(found)
            self._past |= dict.fromkeys(found)
        self._take(sources)
        return tuple(name for name, source in sources.items() if isinstance(source, MissingSecret))

    async def value(self, name: str) -> str:
        """Return the current value. Raises `ToolError` if there is no such secret, or its value is not available."""
        match source := self._sources.get(name):
            case StaticSecret():
                return source.value
            case EnvironmentSecret():
                return self._of_environment(name, source)
            case LookupSecret() | CallableSecret():
                return await self._looked_up(name, source)
            case MissingSecret():
                raise ToolError(f"secret {name!r} was not kept over a restart: ask the user for it (update_secrets)")
            case None:
                raise ToolError(f"unknown secret {name!r} (known: {', '.join(self.names) or 'none'})")

    async def named_in(self, text: str, *, by_server: bool = False) -> dict[str, str]:
        """Return the values of the secrets whose names are in a text as whole words, as in `$NAME`. Look up no others.

        The text is a command, or else the configuration of an MCP server. Raises `ToolError` if one is not available.
        """
        named = [
            name
            for name, source in self._sources.items()
            if name in text and re.search(rf"(?<!\w){name}(?!\w)", text, re.ASCII)
            if by_server or not (isinstance(source, EnvironmentSecret) and source.servers_only)
        ]
        values: dict[str, str] = {}
        failures: list[ToolError] = []

        async def ask(name: str) -> None:
            try:
                values[name] = await self.value(name)
            except ToolError as failure:
                failures.append(failure)

        async with anyio.create_task_group() as group:
            for name in named:
                group.start_soon(ask, name)
        if failures:
            raise ToolError("; ".join(map(str, failures))) from failures[0]
        return {name: values[name] for name in named}

    def _take(self, sources: Mapping[str, KnownSource]) -> None:
        self._learn([value for name, source in sources.items() for value in self._values(name, source)])
        self.remove(*sources)
        self._sources |= sources
        self.used = self.used or bool(sources)

    def _values(self, name: str, source: KnownSource) -> list[str]:
        """Return the values that are known without a lookup."""
        match source:
            case StaticSecret():
                return [usable(name, source.value)]
            case EnvironmentSecret() if source.variable in self._environment:
                return [usable(name, self._environment[source.variable])]
            case LookupSecret():
                return [part for header, value in source.headers.items() for part in _secret_parts(header, value)]
            case _:
                return []

    def _known(self, name: str) -> list[str]:
        """Return the values that a secret has had until now."""
        source, kept = self._sources.get(name), self._kept.get(name)
        found = [kept.value] if kept is not None and kept.value is not None else []
        with contextlib.suppress(ConfigurationError):  # a variable has changed, and is not usable
            found += self._values(name, source) if source is not None else []
        return found

    def _replaced(self, name: str, before: _Kept | None) -> None:
        """Retire a secret's earlier value, unless it is still the value."""
        now = self._kept.get(name)
        if before is not None and before.value is not None and (now is None or now.value != before.value):
            self._retire([before.value])

    def _retire(self, values: Iterable[str]) -> None:
        for value in values:
            if value not in self._past:
                self._past[value] = None
                self._unsaved.append(value)

    def _learn(self, values: Iterable[str]) -> None:
        mask = self.mask.adding(values)
        if mask is not self.mask:
            self.mask = mask
            self.version += 1
            for listener in self.listeners:
                listener()

    def _of_environment(self, name: str, source: EnvironmentSecret) -> str:
        if source.variable not in self._environment:
            raise ToolError(f"secret {name!r} is not available: the environment has no variable {source.variable}")
        try:
            value = usable(name, self._environment[source.variable])
        except ConfigurationError as error:
            raise ToolError(str(error)) from None
        self._learn([value])
        before, self._kept[name] = self._kept.get(name), _Kept(value, "", 0.0)
        self._replaced(name, before)
        return value

    async def _looked_up(self, name: str, source: LookupSecret | CallableSecret) -> str:
        async with self._locks.setdefault(name, anyio.Lock()):  # callers at the same time share one lookup
            kept = self._kept.get(name)
            if kept is None or kept.until <= self._clock():
                before, kept = kept, await self._ask(name, source)
                if self._sources.get(name) is source:
                    self._kept[name] = kept
                    self._replaced(name, before)
                else:  # it was removed or replaced meanwhile
                    self._replaced(name, kept)
        if kept.value is None:
            wait = max(kept.until - self._clock(), 0)
            raise ToolError(f"{kept.failure}. It is tried again after {wait:.0f} s at the earliest.")
        return kept.value

    async def _ask(self, name: str, source: LookupSecret | CallableSecret) -> _Kept:
        try:
            value = usable(name, await fetch(source))
        except (ToolError, ConfigurationError) as failure:
            said = f"secret {name!r} is not available: {failure}"
            return _Kept(None, self.mask.text(said), self._clock() + RETRY_AFTER)
        self._learn([value])
        return _Kept(value, "", self._clock() + FRESH)


def _secret_parts(header: str, value: str) -> list[str]:
    """Return the parts of a header that are masked: its value, and each word of it, as in `Bearer abc`."""
    if header.lower() in _NO_SECRET_HEADERS:
        return []
    return [part for part in (value, *value.split()) if len(part) >= _SHORTEST_IN_HEADER]

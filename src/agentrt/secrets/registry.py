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
"""Where values belong that came to an end: in any log, since a fork has those of its parent."""

_AT = "@"
"""Stands between a token and where it belonged, when that is elsewhere."""

RETRY_AFTER = 60.0
"""Seconds for which a lookup that failed is not made again."""

_NO_SECRET_HEADERS = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "user-agent"})
_SHORTEST_IN_HEADER = 8


class _Kept:
    """How a lookup ended, and until when that counts; `value` is None where it failed."""

    def __init__(self, value: str | None, failure: str, until: float) -> None:
        self.value, self.failure, self.until = value, failure, until


class SecretRegistry:
    """Names with their sources, and the mask of all values that any of them ever had.

    A static value, a variable of the environment and a lookup's headers are masked from `update` on, what is looked up
    from when it is known. `mask` is replaced when a value is new, and `version` rises.
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
        """Told when the mask was replaced."""
        self._environment, self._clock = os.environ if environment is None else environment, clock
        self._sources: dict[str, KnownSource] = {}
        self._kept: dict[str, _Kept] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self._past: dict[str, None] = {}
        """Values that came to an end."""
        self._unsaved: list[str] = []
        """Those of them that no log has."""
        self._sealed: list[Token] = []
        """Tokens that nobody here could decrypt, of secrets that came to an end; no log has them as such."""
        self.used = False
        """Whether there ever was a secret: then the mask is worth keeping when there is none any more."""
        self.update(secrets or {})

    @property
    def names(self) -> tuple[str, ...]:
        """Those that a tool may name, in the order in which they came."""
        return tuple(self._sources)

    @property
    def descriptions(self) -> dict[str, str]:
        """What each is for, by its name; empty where nothing was said."""
        return {name: source.description for name, source in self._sources.items()}

    @property
    def missing(self) -> tuple[str, ...]:
        """Those whose value was not saved: they have to be given again."""
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
        """Another one with the same secrets, for a fork: what changes in one does not in the other."""
        other = SecretRegistry(environment=self._environment, clock=self._clock)
        other.mask, other.version = self.mask, self.version
        other._sources, other._kept = dict(self._sources), dict(self._kept)
        other._past, other._unsaved, other._sealed = dict(self._past), [*self._past], list(self._sealed)
        other.used = self.used
        return other

    @contextlib.contextmanager
    def undone_when(self, refused: type[Exception]) -> Iterator[None]:
        """Take back what the body changes when it raises `refused`; all values stay masked."""
        sources, kept, past = dict(self._sources), dict(self._kept), dict(self._past)
        unsaved, sealed, used = list(self._unsaved), list(self._sealed), self.used
        try:
            yield
        except refused:
            self._sources, self._kept, self._past = sources, kept, past
            self._unsaved, self._sealed, self.used = unsaved, sealed, used
            raise

    def seed(self, values: Iterable[str]) -> None:
        """Mask values that no tool may have, such as the keys of models."""
        self._learn(values)

    def saved(self, cipher: Cipher | None = None, scope: str = "") -> dict[str, SavedSecret]:
        """The sources as the log may hold them: with values encrypted for `scope`, such as an id, or without."""
        return saved(self._sources, cipher, scope)

    @property
    def has_unsaved(self) -> bool:
        """Whether a value came to an end that `retired` has not given yet."""
        return bool(self._unsaved or self._sealed)

    def retired(self, cipher: Cipher | None = None) -> tuple[Token, ...]:
        """The values that came to an end since this was asked last, encrypted; none without a cipher, but for those
        that were encrypted before.
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
        """Take over what `saved` and `retired` gave; the names of those that did not come back.

        Raises `ConfigurationError` when one cannot be decrypted.
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
        """The value now. Raises `ToolError` when there is no such secret, or it cannot be had."""
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
                raise ToolError(f"there is no secret {name!r} (there are: {', '.join(self.names) or 'none'})")

    async def named_in(self, text: str) -> dict[str, str]:
        """The values of the secrets whose names stand in a text as whole words, as in `$NAME`; no others are looked up.

        Raises `ToolError` when one cannot be had.
        """
        named = [name for name in self._sources if name in text and re.search(rf"(?<!\w){name}(?!\w)", text, re.ASCII)]
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
        """Those that are known without asking."""
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
        """The values that a secret had until now."""
        source, kept = self._sources.get(name), self._kept.get(name)
        found = [kept.value] if kept is not None and kept.value is not None else []
        with contextlib.suppress(ConfigurationError):  # of a variable that was changed meanwhile
            found += self._values(name, source) if source is not None else []
        return found

    def _replaced(self, name: str, before: _Kept | None) -> None:
        """Note what was a secret's value, unless it still is."""
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
        async with self._locks.setdefault(name, anyio.Lock()):  # who comes meanwhile shares what comes of it
            kept = self._kept.get(name)
            if kept is None or kept.until <= self._clock():
                before, kept = kept, await self._ask(name, source)
                if self._sources.get(name) is source:
                    self._kept[name] = kept
                    self._replaced(name, before)
                else:  # it was taken back meanwhile
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
    """What of a header is masked: its value, and the words of that, as of `Bearer abc`."""
    if header.lower() in _NO_SECRET_HEADERS:
        return []
    return [part for part in (value, *value.split()) if len(part) >= _SHORTEST_IN_HEADER]

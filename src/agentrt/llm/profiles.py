"""`ProfileStore`: models with their settings under names, in one file; `LLMRegistry`: the models of a program."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ..errors import ConfigurationError, ProfileMissing, VersionConflict
from ..specs import LLM, AnyLLM
from ..specs.llm import members
from ..storage import Document, default_store
from .masking import holds_key

VERSION = 1

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")


class _File(msgspec.Struct, frozen=True):
    version: int = VERSION
    profiles: dict[str, AnyLLM] = {}


_decoder = msgspec.json.Decoder(_File)


class ProfileStore:
    """Profiles, each a spec without a key, in one JSON file of mode 0600 that is replaced as a whole.

    The file is `profiles.json` in the store of conversations: the directory in AGENTRT_HOME, else `~/.agentrt`. The
    calls block; when two processes save at the same time, both changes are kept. Each method raises
    `ConfigurationError` if the file is broken or cannot be read or written.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path) if path is not None else profiles_file()
        self._document = Document(self.path)

    def names(self) -> tuple[str, ...]:
        """Return the names of the profiles, sorted."""
        return tuple(sorted(self._read()))

    def all(self) -> dict[str, AnyLLM]:
        """Return all profiles, by name."""
        return dict(sorted(self._read().items()))

    def load(self, name: str) -> AnyLLM:
        """Return a profile. Raises `ProfileMissing`."""
        profiles = self._read()
        if name not in profiles:
            raise ProfileMissing(name, tuple(sorted(profiles)))
        return profiles[name]

    def save(self, name: str, llm: AnyLLM) -> None:
        """Create or replace a profile. Raises `ConfigurationError` for a spec that contains a key."""
        if not _NAME.fullmatch(name):
            raise ConfigurationError(f"invalid name of a profile {name!r}: use letters, digits, '.', '_' and '-'")
        for member in members(llm):
            refuse_keys(member)
        self._change(lambda profiles: profiles | {name: llm})

    def remove(self, name: str) -> None:
        """Remove a profile. Raises `ProfileMissing`."""

        def without(profiles: dict[str, AnyLLM]) -> dict[str, AnyLLM]:
            if name not in profiles:
                raise ProfileMissing(name, tuple(sorted(profiles)))
            return {other: llm for other, llm in profiles.items() if other != name}

        self._change(without)

    def _read(self) -> dict[str, AnyLLM]:
        return self._held()[0]

    def _held(self) -> tuple[dict[str, AnyLLM], int]:
        """Return the profiles, and the version of the file."""
        if (found := self._document.read()) is None:
            return {}, 0
        try:
            file = _decoder.decode(found[0])
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ConfigurationError(f"cannot read the profiles in {self.path}: {error}; fix or move it") from error
        if file.version != VERSION:
            raise ConfigurationError(
                f"the profiles in {self.path} are of version {file.version}, not {VERSION}: update agentrt"
            )
        return file.profiles, found[1]

    def _change(self, change: Callable[[dict[str, AnyLLM]], dict[str, AnyLLM]]) -> None:
        while True:
            profiles, version = self._held()
            whole = msgspec.json.encode(_File(VERSION, dict(sorted(change(profiles).items()))))
            with suppress(VersionConflict):  # another process was first: what it made is changed
                self._document.write(msgspec.json.format(whole, indent=2) + b"\n", version)
                return


def saved_profile(name: str) -> AnyLLM | None:
    """Return a profile from the user's file; None if it does not exist or the file cannot be read. For a thread."""
    try:
        return ProfileStore().load(name)
    except ConfigurationError:
        return None


class LLMRegistry:
    """The models that a program uses, each under its own `usage_id`."""

    def __init__(self) -> None:
        self._llms: dict[str, LLM] = {}

    def add(self, llm: AnyLLM) -> None:
        """Register a model, or all models of a router or fallback.

        Raises `ConfigurationError`, and registers none, if two different models have the same usage_id.
        """
        added = dict(self._llms)
        for member in members(llm):
            other = added.setdefault(member.usage_id, member)
            if other != member:
                raise ConfigurationError(
                    f"two different models have the usage_id {member.usage_id!r}, {other.model} and {member.model}:"
                    " give each its own"
                )
        self._llms = added

    def get(self, usage_id: str) -> LLM:
        """Return the model with a usage_id. Raises `ConfigurationError`."""
        if usage_id not in self._llms:
            known = ", ".join(self.usage_ids()) or "none"
            raise ConfigurationError(f"no model has the usage_id {usage_id!r}: add it (known: {known})")
        return self._llms[usage_id]

    def usage_ids(self) -> tuple[str, ...]:
        """Return the registered ids, in the order of registration."""
        return tuple(self._llms)


def profiles_file(store: Path | str | None = None) -> Path:
    """Return the path of a store's profiles: in its directory, or else in that of the user's own store."""
    return (default_store() if store is None or "://" in str(store) else Path(store)) / "profiles.json"


def refuse_keys(llm: LLM, what: str = "a profile") -> None:
    """Raise `ConfigurationError` for a model with a key in it, which `what` never has."""
    for field in ("extra_headers", "extra_body"):
        for name in getattr(llm, field):
            if holds_key(name):
                raise ConfigurationError(
                    f"{name!r} in {field} of {llm.model!r} holds a key, and {what} has none:"
                    " name the environment variable that has it as api_key_env"
                )
    if llm.api_key is not None:
        raise ConfigurationError(
            f"api_key of {llm.model!r} stays out of {what}: name the environment variable that has it as api_key_env"
        )
    if llm.api_key_env is not None and not _VARIABLE.fullmatch(llm.api_key_env):
        raise ConfigurationError(
            f"api_key_env of {llm.model!r} is not the name of an environment variable:"
            f" the key itself stays out of {what}"
        )
    if llm.base_url is not None and urlsplit(llm.base_url).password is not None:
        raise ConfigurationError(f"base_url of {llm.model!r} holds a password, and {what} has none: use api_key_env")

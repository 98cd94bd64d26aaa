"""`SavedSettings`: what an admin has changed of a server's agent, and its keys, in the store of the server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError, MissingKey
from ..mcp.hiding import without_secrets
from ..runtime import Runtime
from ..secrets import EnvironmentSecret
from ..secrets.sources import source_of, usable
from ..specs import Agent
from ..specs.agent import replaced as with_fields
from ..specs.arguments import check_names
from ..specs.llm import members
from ..specs.secrets import Token
from ..storing import replaced
from .permissions import BASELINE

KIND, NAME = "settings", "server"
"""The kind of the document, and its name."""

VERSION = 1

_MADE = "MCP_"
"""The beginning of the names that secrets in the configuration of MCP servers get."""

_log = logging.getLogger(__name__)


class Change(msgspec.Struct, frozen=True):
    """A field of the agent, as JSON. It holds while the server's options give what it replaced (`over`): whoever starts
    the server with another `--model` later means that one.
    """

    value: Any
    over: Any = None


class _File(msgspec.Struct, frozen=True, omit_defaults=True):
    version: int = VERSION
    changes: dict[str, Change] = {}
    secrets: dict[str, Token] = {}


class SavedSettings:
    """The agent of a server as its `options` and the saved changes give it, and the secrets that were saved.

    A saved secret is a variable of the runtime, above that of the process's environment: the key of a provider, or what
    an MCP server refers to as `${NAME}`. It is encrypted in the store. Every async method raises `ConfigurationError`
    for a document that cannot be read or written.
    """

    def __init__(self, runtime: Runtime, options: Agent | None) -> None:
        self._runtime, self._options = runtime, options
        self._file = _File()
        self.agent = options
        """The agent of a conversation that is begun without its own."""
        self.changed: tuple[str, ...] = ()
        """The fields of it that were changed here."""
        self.unreadable: frozenset[str] = frozenset()
        """Saved secrets that cannot be decrypted."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the saved secrets."""
        return tuple(sorted(self._file.secrets))

    async def load(self) -> None:
        """Read what was saved. What cannot be used is left out, and logged: the server starts with its options."""
        try:
            found = await self._runtime.store.shelf.get(KIND, NAME)
            file = self._held(found[0] if found is not None else None)
        except ConfigurationError as error:
            _log.warning("the saved settings are not used: %s", error)
            return
        self._file = file
        if file.secrets:
            await self._decrypt(file.secrets)
        try:
            self._take(file)
        except (ConfigurationError, msgspec.ValidationError) as error:
            _log.warning("the saved changes of the agent are not used: %s", error)

    async def configure(self, changes: Mapping[str, Any], reset: Collection[str] = ()) -> None:
        """Change fields of the agent, given as JSON or values, and `reset` others to what the options give. Secrets in
        the configuration of MCP servers are saved as secrets.

        Raises `ConfigurationError` for a value that is not valid, `msgspec.ValidationError` for JSON of another form.
        """
        check_names("Agent", Agent, (*changes, *reset))
        file = await self._look()
        kept = {name: change for name, change in file.changes.items() if name not in reset}
        before, _ = _changed(self._options, kept)
        agent = with_fields(before or BASELINE, changes)
        if any(member.api_key is not None for member in members(agent.llm)):
            raise ConfigurationError(
                "a key is not saved with the model: save it under the name of its variable (OPENAI_API_KEY), which"
                " `api_key_env` may name"
            )
        values: dict[str, str] = {}
        if "mcp_servers" in changes:
            servers, values = without_secrets(agent.mcp_servers, file.secrets)
            agent = replace(agent, mcp_servers=servers)
        if "llm" in changes or before is not None:
            self._runtime.check(agent)
            self._runtime.check_tools(agent)
            with suppress(MissingKey):  # which may be saved later
                await self._runtime.client.prepare(agent.llm)
        tokens = await self._encrypted(values)
        made = {name: Change(_json(agent, name), _json(self._options, name)) for name in changes}

        def change(file: _File) -> _File:
            changes = {name: change for name, change in file.changes.items() if name not in reset} | made
            gone = {name for name in file.secrets if name.startswith(_MADE)} - _variables(agent)
            secrets = {name: token for name, token in file.secrets.items() if name not in gone} | tokens
            return _File(VERSION, changes, secrets)

        await self._put(change, values)

    async def save_secret(self, name: str, value: str) -> None:
        """Save a secret, in place of one with this name. Raises `ConfigurationError` for a name or value that no
        variable can have.
        """
        source_of(name, value)
        value = usable(name, value.strip())
        tokens = await self._encrypted({name: value})
        await self._put(lambda file: replace(file, secrets=file.secrets | tokens), {name: value})

    async def remove_secret(self, name: str) -> bool:
        """Remove a saved secret. Return whether there was one."""
        there = name in (await self._look()).secrets
        await self._put(
            lambda file: replace(file, secrets={other: token for other, token in file.secrets.items() if other != name})
        )
        return there

    def secrets_for(self, agent: Agent) -> dict[str, EnvironmentSecret]:
        """Return the variables that the server's own MCP servers refer to, for a conversation whose agent has them. No
        command of the conversation gets them.
        """
        own = self.agent.mcp_servers if self.agent is not None else {}
        names = (
            name for key, server in own.items() if agent.mcp_servers.get(key) == server for name in server.variables
        )
        return {name: EnvironmentSecret(name, servers_only=True) for name in names if name in self._runtime.variables}

    async def _look(self) -> _File:
        found = await self._runtime.store.shelf.get(KIND, NAME)
        return self._held(found[0] if found is not None else None)

    async def _put(self, change: Callable[[_File], _File], values: Mapping[str, str] = {}) -> None:
        """Replace the document, and use it from now on, with the `values` of new secrets."""
        data = await replaced(
            self._runtime.store.shelf, KIND, NAME, lambda held: msgspec.json.encode(change(self._held(held)))
        )
        self._file = self._held(data)
        saved = self._runtime.variables.maps[0]
        saved.update(values)
        for name in saved.keys() - self._file.secrets.keys():
            del saved[name]
        self.unreadable = (self.unreadable - values.keys()) & self._file.secrets.keys()
        self._take(self._file)

    def _take(self, file: _File) -> None:
        self.agent, self.changed = _changed(self._options, file.changes)

    def _held(self, data: bytes | None) -> _File:
        if data is None:
            return _File()
        where = self._runtime.store.shelf.where(KIND, NAME)
        try:
            file = msgspec.json.decode(data, type=_File)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ConfigurationError(f"cannot read the settings in {where}: {error}; fix or move it") from error
        if file.version != VERSION:
            raise ConfigurationError(f"the settings in {where} are of version {file.version}: update agentrt")
        return file

    async def _encrypted(self, values: Mapping[str, str]) -> dict[str, Token]:
        if not values:
            return {}
        cipher = await self._runtime.key.made()
        return {name: cipher.encrypt(value, _place(name)) for name, value in values.items()}

    async def _decrypt(self, tokens: Mapping[str, Token]) -> None:
        """Put the saved secrets above the environment."""
        unreadable = set[str]()
        try:
            cipher, problem = await self._runtime.key.there(), "its key is not there"
        except ConfigurationError as error:
            cipher, problem = None, str(error)
        for name, token in tokens.items():
            try:
                if cipher is None:
                    raise ConfigurationError(problem)
                self._runtime.variables.maps[0][name] = cipher.decrypt(token, _place(name))
            except ConfigurationError as error:
                _log.warning("the saved secret %s cannot be read, so save it again: %s", name, error)
                unreadable.add(name)
        self.unreadable = frozenset(unreadable)


def _changed(options: Agent | None, changes: Mapping[str, Change]) -> tuple[Agent | None, tuple[str, ...]]:
    """Return the agent with the changes that hold, and their names. Without a model, there is no agent."""
    holding = {name: change.value for name, change in changes.items() if change.over == _json(options, name)}
    if options is None and "llm" not in holding:
        return None, ()
    return (with_fields(options or BASELINE, holding) if holding else options), tuple(holding)


def _json(agent: Agent | None, name: str) -> Any:
    return None if agent is None else msgspec.json.decode(msgspec.json.encode(getattr(agent, name)))


def _variables(agent: Agent) -> set[str]:
    return {name for server in agent.mcp_servers.values() for name in server.variables}


def _place(name: str) -> str:
    return f"{KIND}/{name}"

"""`SavedSettings`: what an admin has changed of a server's agent, and its keys, in the store of the server."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any

import anyio
import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError, MissingKey
from ..llm.masking import holds_key
from ..llm.profiles import refuse_keys
from ..mcp.hiding import without_secrets
from ..runtime import Runtime
from ..sandboxes.environment import is_setting, looks_secret
from ..secrets import HIDDEN, EnvironmentSecret, Mask
from ..secrets.sources import source_of, usable
from ..specs import LLM, Agent
from ..specs.agent import replaced as with_fields
from ..specs.arguments import check_names
from ..specs.llm import members
from ..specs.mcp import MCPServer, rooted
from ..specs.secrets import Token
from ..storing import replaced
from .permissions import BASELINE, llms_of

KIND, NAME = "settings", "server"
"""The kind of the document, and its name."""

VERSION = 1

MEMBERS: Mapping[str, Mapping[str, Any]] = {"context": {"load_user_skills": True}, "mcp_servers": {}}
"""The fields whose members are changed one by one, with what they are if the agent has none."""

FRESH = 1.0
"""Seconds after which the document is looked at again."""

WHAT = "the settings, where a key is a secret of its own"

_log = logging.getLogger(__name__)


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field of the agent, or a member of a field, as JSON; null for a member that is gone.

    It holds while the server's options give what it replaced: whoever starts the server with another `--model` later
    means that one.
    """

    value: Any
    over: str = ""
    """The digest of what the options gave."""
    secrets: tuple[str, ...] = ()
    """The saved secrets that were made for it."""


class _File(msgspec.Struct, frozen=True, omit_defaults=True):
    version: int = VERSION
    changes: dict[str, Change] = {}
    """By path: "llm", "mcp_servers/tracker"."""
    secrets: dict[str, Token] = {}


class SavedSettings:
    """The agent of a server as its `options` and the saved changes give it, and the secrets that were saved.

    A saved secret is a variable of the runtime, above that of the process's environment: the key of a provider, or what
    an MCP server refers to as `${NAME}`. It is encrypted in the store, which several processes may share. Every async
    method raises `ConfigurationError` for a document that cannot be read or written.
    """

    def __init__(self, runtime: Runtime, options: Agent | None) -> None:
        self._runtime, self._options, self._file = runtime, options, _File()
        self._base: dict[str, Any] = _builtins(options) if options is not None else {}
        self._version, self._looked = 0, 0.0
        self._lock = anyio.Lock()
        self._values = runtime.secrets()
        """Has the log masked."""
        runtime.log_mask.watch(self._values)
        self.agent = options
        """The agent of a conversation that is begun without its own."""
        self.changed: tuple[str, ...] = ()
        """The paths of what was changed here."""
        self.unreadable: frozenset[str] = frozenset()
        """Saved secrets that cannot be decrypted."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the saved secrets."""
        return tuple(sorted(self._file.secrets))

    @property
    def shown(self) -> Any:
        """The agent as JSON values, without the secrets that the options may have in it."""
        return None if self.agent is None else Mask(_secrets_in(self.agent)).json(_builtins(self.agent))

    async def load(self) -> None:
        """Read what was saved. What cannot be used is left out, and logged: the server starts with its options."""
        try:
            await self.refresh()
        except ConfigurationError as error:
            _log.warning("the saved settings are not used: %s", error)

    async def latest(self) -> Agent | None:
        """Return the agent, as any process has saved it up to a second ago."""
        if time.monotonic() - self._looked >= FRESH:
            with suppress(ConfigurationError):
                await self.refresh()
        return self.agent

    async def refresh(self) -> None:
        """Read what another process has saved since."""
        async with self._lock:
            self._looked = time.monotonic()
            found = await self._runtime.store.shelf.get(KIND, NAME)
            data, version = found or (None, 0)
            if version != self._version or not version:
                await self._use(self._held(data), {})
                self._version = version

    async def configure(self, changes: Mapping[str, Any], reset: Collection[str] = ()) -> None:
        """Change fields of the agent, given as JSON or values, and `reset` others to what the options give. The members
        of `MEMBERS` are changed one by one. Secrets in the configuration of MCP servers are saved as secrets.

        Raises `ConfigurationError` for a value that is not valid, `msgspec.ValidationError` for JSON of another form.
        """
        check_names("Agent", Agent, (*changes, *(path.partition("/")[0] for path in reset)))
        given = _flat(changes)
        await self.refresh()
        kept = {path: one for path, one in self._file.changes.items() if not _is_at(path, reset)}
        made, values = dict[str, Change](), dict[str, str]()
        for path, value in given.items():
            stored, secrets = _without_secrets(path, value)
            made[path] = Change(stored, _digest(self._base, path), tuple(secrets))
            values |= secrets
        before, _ = self._agent(kept)
        agent, _ = self._agent({**kept, **made})
        if agent is not None:
            self._check(agent, before)
            with suppress(MissingKey):  # which may be saved later
                await self._runtime.client.prepare(agent.llm)
        tokens = await self._encrypted(values)

        def change(file: _File) -> _File:
            changes = {path: one for path, one in file.changes.items() if not _is_at(path, reset)} | made
            gone = _made(file.changes) - _made(changes)
            return _File(VERSION, changes, {n: t for n, t in file.secrets.items() if n not in gone} | tokens)

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
        await self.refresh()
        there = name in self._file.secrets
        await self._put(
            lambda file: replace(file, secrets={other: token for other, token in file.secrets.items() if other != name})
        )
        return there

    def lent_to(self, agent: Agent, path: str) -> tuple[Agent, dict[str, EnvironmentSecret]]:
        """Return an agent, and the variables that the server's own MCP servers in it refer to, as secrets that no
        command gets. Variables that are no secrets, such as `${HOME}`, or are in the workspace's `path` are filled in.
        """
        secrets: dict[str, EnvironmentSecret] = {}

        def lent(agent: Agent, own: Agent) -> Agent:
            servers = {
                name: self._filled(server, secrets, path) if own.mcp_servers.get(name) == server else server
                for name, server in agent.mcp_servers.items()
            }
            agents = {n: lent(one, own.agents[n]) if n in own.agents else one for n, one in agent.agents.items()}
            if servers == agent.mcp_servers and agents == agent.agents:
                return agent
            return replace(agent, mcp_servers=servers, agents=agents)

        return (agent if self.agent is None else lent(agent, self.agent)), secrets

    def _filled(self, server: MCPServer, secrets: dict[str, EnvironmentSecret], path: str) -> MCPServer:
        """Return a server with its plain variables filled in; note the others in `secrets`."""
        for name in server.variables:
            value = self._runtime.variables.get(name)
            if value is not None and name not in self._file.secrets and (_is_plain(name, value) or value in path):
                server = rooted(server, name, value)
            elif value is not None or name in server.required:
                secrets[name] = EnvironmentSecret(name, servers_only=True)
        return server

    def _agent(self, changes: Mapping[str, Change]) -> tuple[Agent | None, tuple[str, ...]]:
        """Return the agent with the changes that hold, and their paths. Without a model, there is no agent.

        Raises `ConfigurationError` if one does not fit.
        """
        holding = {path: one.value for path, one in changes.items() if one.over == _digest(self._base, path)}
        if self._options is None and "llm" not in holding:
            return None, ()
        try:
            return self._with(holding), tuple(holding)
        except (ConfigurationError, msgspec.ValidationError) as error:
            bad = [path for path in holding if path in self._file.changes and not self._fits(path, holding[path])]
            if bad and self._file.changes.get(bad[0]) is changes[bad[0]]:
                raise ConfigurationError(f"the saved change of {bad[0]!r} is not valid: reset it ({error})") from error
            raise

    def _with(self, holding: Mapping[str, Any]) -> Agent:
        fields: dict[str, Any] = {}
        for path, value in holding.items():
            name, _, member = path.partition("/")
            if not member:
                fields[name] = value
                continue
            inner = dict(fields.get(name) or self._base.get(name) or MEMBERS[name])
            inner.pop(member, None)
            fields[name] = inner if value is None else inner | {member: value}
        return with_fields(self._options or BASELINE, fields) if fields else self._options or BASELINE

    def _fits(self, path: str, value: Any) -> bool:
        try:
            self._with({path: value})
        except (ConfigurationError, msgspec.ValidationError):
            return False
        return True

    def _check(self, agent: Agent, before: Agent | None) -> None:
        """Raise `ConfigurationError` for names that are not known here, and for secrets where none is kept apart."""
        known = [] if before is None else list(_members(before))
        for llm in _members(agent):
            if llm not in known:
                refuse_keys(llm, WHAT)
        for name, other in agent.agents.items():
            if before is None or before.agents.get(name) != other:
                for one in _below(other):
                    if without_secrets(one.mcp_servers)[1]:
                        raise ConfigurationError(f"agents/{name}: name the secrets of its MCP servers as ${{NAME}}")
        self._runtime.check(agent)
        self._runtime.check_tools(agent)

    async def _put(self, change: Callable[[_File], _File], values: Mapping[str, str] = {}) -> None:
        """Replace the document, and use it from now on, with the `values` of new secrets."""
        async with self._lock:
            with anyio.CancelScope(shield=True):  # what is saved is used
                data = await replaced(
                    self._runtime.store.shelf, KIND, NAME, lambda held: msgspec.json.encode(change(self._held(held)))
                )
                self._version = 0
                await self._use(self._held(data), values)

    async def _use(self, file: _File, values: Mapping[str, str]) -> None:
        """Use a document: its changes, and its secrets, of which `values` are known."""
        saved, before = self._runtime.variables.maps[0], self._file.secrets
        self._file = file
        unreadable = {name for name in self.unreadable if file.secrets.get(name) == before.get(name)}
        for name in saved.keys() - file.secrets.keys():
            del saved[name]
        for name, token in file.secrets.items():
            if name not in values and before.get(name) == token and (name in saved or name in unreadable):
                continue
            try:
                saved[name] = values[name] if name in values else await self._decrypted(name, token)
                unreadable.discard(name)
                self._values.seed((saved[name],))
                self._runtime.hide(saved[name])
            except ConfigurationError as error:
                _log.warning("the saved secret %s cannot be read, so save it again: %s", name, error)
                saved.pop(name, None)
                unreadable.add(name)
        self.unreadable = frozenset(unreadable & file.secrets.keys())
        try:
            self.agent, self.changed = self._agent(file.changes)
        except (ConfigurationError, msgspec.ValidationError) as error:
            _log.warning("the saved changes of the agent are not used: %s", error)
            self.agent, self.changed = self._options, tuple(file.changes)

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
        return {name: cipher.encrypt(value, f"{KIND}/{name}") for name, value in values.items()}

    async def _decrypted(self, name: str, token: Token) -> str:
        cipher = await self._runtime.key.there()
        if cipher is None:
            raise ConfigurationError("its key is not there")
        return cipher.decrypt(token, f"{KIND}/{name}")


def _flat(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes by path. Raises `ConfigurationError` for members that are not in an object."""
    flat: dict[str, Any] = {}
    for name, given in changes.items():
        value = _builtins(given)
        if name not in MEMBERS:
            flat[name] = value
        elif isinstance(value, dict):
            inner = value.get("mcpServers", value) if name == "mcp_servers" else value
            flat |= {f"{name}/{member}": one for member, one in inner.items()}
        else:
            raise ConfigurationError(f"{name}: expected an object with the members that change; null removes one")
    return flat


def _without_secrets(path: str, value: Any) -> tuple[Any, dict[str, str]]:
    """Return a change with `${NAME}` in place of the secrets of an MCP server, and the secrets by NAME.

    A name says for which address or command it is, so that no other server with the same name ever gets its value.
    """
    name, _, member = path.partition("/")
    if name != "mcp_servers" or value is None:
        return value, {}
    (given,) = with_fields(BASELINE, {name: {member: value}}).mcp_servers.values()
    if HIDDEN.encode() in msgspec.json.encode(given):
        raise ConfigurationError(f"{path}: {HIDDEN} stands for a secret that is not shown: give it again")
    servers, values = without_secrets({member: given})
    text = msgspec.json.encode(servers[member]).decode()
    mark = sha256(servers[member].where.encode()).hexdigest()[:6].upper()
    for one in values:
        text = text.replace(f"${{{one}}}", f"${{{one}_{mark}}}")
    return msgspec.json.decode(text), {f"{one}_{mark}": secret for one, secret in values.items()}


def _secrets_in(agent: Agent) -> Iterator[str]:
    """Yield the secrets that an agent has in the clear."""
    for one in _below(agent):
        yield from without_secrets(one.mcp_servers)[1].values()
    for llm in _members(agent):
        for given in (llm.extra_headers, llm.extra_body):
            yield from (str(value) for name, value in given.items() if holds_key(name))
        if llm.base_url is not None and "@" in llm.base_url:
            yield llm.base_url.partition("://")[2].partition("@")[0]


def _members(agent: Agent) -> Iterator[LLM]:
    """Yield the models of an agent and of those below it."""
    return (member for llm in llms_of(agent) for member in members(llm))


def _below(agent: Agent) -> Iterator[Agent]:
    yield agent
    for other in agent.agents.values():
        yield from _below(other)


def _is_at(path: str, places: Collection[str]) -> bool:
    return path in places or path.partition("/")[0] in places


def _made(changes: Mapping[str, Change]) -> set[str]:
    return {name for one in changes.values() for name in one.secrets}


def _is_plain(name: str, value: str) -> bool:
    """Return whether a variable is no secret: by its name or value it cannot be one, or it is a path or a setting."""
    try:
        usable(name, value)
        source_of(name, value)
    except ConfigurationError:
        return True
    return not looks_secret(name, value) and (is_setting(value) or value.startswith("/"))


def _digest(base: Mapping[str, Any], path: str) -> str:
    """Return the digest of what the options give at a path; "" for nothing."""
    name, _, member = path.partition("/")
    found = base.get(name)
    if member:
        found = (found or {}).get(member)
    return "" if found is None else sha256(msgspec.json.encode(found, order="sorted")).hexdigest()[:16]


def _builtins(value: Any) -> Any:
    return msgspec.json.decode(value if isinstance(value, msgspec.Raw) else msgspec.json.encode(value))

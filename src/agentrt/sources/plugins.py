"""Reads plugins: directories with a manifest, skills, commands, agents, hooks and MCP servers; for a thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ..digests import tree_digest
from ..errors import ConfigurationError
from ..specs.agent_file import AgentFile
from ..specs.context import ContextSource, Offer
from ..specs.hooks import Hook
from ..specs.mcp import MCPServer, rooted
from .agent_files import find_agents
from .hook_files import hooks_of, read_hooks
from .servers import SERVERS, brought_in, find_servers
from .skills import Shelf
from .text import Reader

ROOT = "CLAUDE_PLUGIN_ROOT"
"""The variable that stands for a plugin's directory in the configuration of its servers."""

MANIFESTS = (".plugin/plugin.json", ".claude-plugin/plugin.json")


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin as it was read."""

    name: str
    directory: Path
    source: ContextSource
    shelves: tuple[Shelf, ...] = ()
    agents: dict[str, AgentFile] = {}
    offer: Offer | None = None


class _Manifest(msgspec.Struct):
    name: str
    version: str | float = ""
    description: str = ""
    skills: Any = None
    commands: Any = None
    agents: Any = None
    hooks: Any = None
    servers: Any = msgspec.field(name="mcpServers", default=None)


def read_plugin(directory: Path, reader: Reader) -> Plugin:
    """Return the plugin in a directory. Raises `ConfigurationError` if the directory is not a plugin."""
    manifest, path = _manifest(directory, reader)
    agents: dict[str, AgentFile] = {}
    for place in _places(directory, manifest.agents, "agents"):
        agents |= find_agents([place], reader, "plugin")
    shelves = [Shelf(place, reader, "plugin") for place in _places(directory, manifest.skills, "skills")]
    shelves += [
        Shelf(place, reader, "plugin", commands=manifest.name)
        for place in _places(directory, manifest.commands, "commands")
    ]
    told = " ".join(part for part in (manifest.description, str(manifest.version)) if part)
    return Plugin(
        name=manifest.name,
        directory=directory,
        source=ContextSource(
            kind="plugin",
            name=manifest.name,
            origin="plugin",
            path=str(path),
            digest=reader.digests[str(path)],
            when=told[:200],
        ),
        shelves=tuple(shelves),
        agents=agents,
        offer=_offer(directory, manifest, reader),
    )


def _manifest(directory: Path, reader: Reader) -> tuple[_Manifest, Path]:
    for name in MANIFESTS:
        path = directory / name
        text = reader.read(path)
        if text is None:
            continue
        try:
            found = msgspec.json.decode(text, type=_Manifest)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{path} is not a manifest of a plugin: {error}") from error
        if not found.name.strip():
            raise ConfigurationError(f"{path} gives the plugin no name")
        return found, path
    raise ConfigurationError(f"{directory} is not a plugin: it has no {' and no '.join(MANIFESTS)} that can be read")


def _places(directory: Path, given: Any, usual: str) -> list[Path]:
    """Return the directories of a part of a plugin: the usual one, and those that the manifest names."""
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return list(dict.fromkeys([directory / usual, *(directory / str(name) for name in named)]))


def _offer(directory: Path, manifest: _Manifest, reader: Reader) -> Offer | None:
    """Return the programs that a plugin brings; None if there are none, or they are left out because of a problem."""
    hooks, servers = _hooks(directory, manifest, reader), _servers(directory, manifest, reader)
    if not hooks and not servers:
        return None
    digest = tree_digest(str(directory))
    if digest is None or any(".git" in (hook.command or "").replace(".github", "") for hook in hooks):
        reader.tell(
            directory, "its programs are left out: it cannot be read whole, or a link or a hook leads out of it"
        )
        return None
    pins = ((str(directory), digest),)
    pinned = tuple(msgspec.structs.replace(hook, pinned=pins) for hook in hooks)
    ours = {
        name: msgspec.structs.replace(rooted(server, ROOT, str(directory)), pinned=pins)
        for name, server in servers.items()
    }
    return Offer(digest=digest, name=manifest.name, path=str(directory), hooks=pinned, servers=ours)


def _hooks(directory: Path, manifest: _Manifest, reader: Reader) -> tuple[Hook, ...]:
    root = str(directory)
    if isinstance(manifest.hooks, dict):
        try:
            return hooks_of(manifest.hooks, root)
        except (ValueError, RecursionError) as error:
            reader.tell(directory, f"its hooks cannot be used: {error}")
            return ()
    name = manifest.hooks if isinstance(manifest.hooks, str) else "hooks/hooks.json"
    return read_hooks(directory / name, reader, root)


def _servers(directory: Path, manifest: _Manifest, reader: Reader) -> dict[str, MCPServer]:
    if isinstance(manifest.servers, str):
        return find_servers(directory / manifest.servers, reader)
    try:
        named = brought_in(manifest.servers, "mcpServers")
    except ConfigurationError as error:
        reader.tell(directory, f"its servers are left out: {error}")
        named = {}
    return {**find_servers(directory / SERVERS, reader), **named}

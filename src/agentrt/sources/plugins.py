"""Reads plugins: directories with a manifest, skills, commands, agents, hooks and MCP servers; for a thread."""

from __future__ import annotations

from hashlib import sha256
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
from .fetching import Fetched
from .hook_files import hooks_of, read_hooks
from .manifests import MANIFESTS, Manifest, merged, paths_in, read_manifest
from .servers import SERVERS, brought_in, find_servers
from .skill_files import PACKAGE
from .skills import Shelf
from .text import Reader

ROOT = "CLAUDE_PLUGIN_ROOT"
"""The variable that stands for a plugin's directory in the configuration of its servers."""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin as it was read."""

    name: str
    directory: Path
    source: ContextSource
    shelves: tuple[Shelf, ...] = ()
    agents: dict[str, AgentFile] = {}
    offer: Offer | None = None


def read_plugin(found: Fetched, reader: Reader) -> Plugin:
    """Return the plugin in a directory. Raises `ConfigurationError` if the directory is not a plugin."""
    directory = found.directory
    own, path = _manifest(directory, reader)
    manifest = merged(own, found.entry, found.name)
    if not manifest.name:
        raise ConfigurationError(f"{path} gives the plugin no name")
    alone = found.entry is not None and not found.entry.strict and found.entry.names_parts
    agents: dict[str, AgentFile] = {}
    for place in _places(directory, manifest.agents, "agents", alone):
        agents |= find_agents([place], reader, "plugin")
    shelves = [Shelf(place, reader, "plugin") for place in _places(directory, manifest.skills, "skills", alone)]
    if (directory / PACKAGE).is_file() and not shelves:
        shelves.append(Shelf(directory, reader, "plugin"))
    shelves += [
        Shelf(place, reader, "plugin", commands=manifest.name)
        for place in _places(directory, manifest.commands, "commands", alone)
    ]
    offer = _offer(found, manifest, reader, alone)
    if path is None and found.entry is None and not (shelves or agents or offer):
        raise ConfigurationError(f"{directory} is not a plugin: it has no manifest and none of {', '.join(_USUAL)}")
    told = " ".join(part for part in (manifest.description, str(manifest.version)) if part)
    return Plugin(
        name=manifest.name,
        directory=directory,
        source=ContextSource(
            kind="plugin",
            name=manifest.name,
            origin="plugin",
            path=str(path or directory),
            digest=reader.digests.get(str(path), ""),
            when=told[:200],
        ),
        shelves=tuple(shelves),
        agents=agents,
        offer=offer,
    )


_USUAL = ("skills/", "commands/", "agents/", "hooks/hooks.json", SERVERS, PACKAGE)


def _manifest(directory: Path, reader: Reader) -> tuple[Manifest | None, Path | None]:
    for name in MANIFESTS:
        if (text := reader.read(directory / name)) is not None:
            return read_manifest(text, str(directory / name)), directory / name
    return None, None


def _places(directory: Path, given: Any, usual: str, alone: bool) -> list[Path]:
    """Return the files and directories of a part of a plugin that are there: the usual directory, and those that the
    manifest names. `alone`: only these.
    """
    named = [directory / name for name in paths_in(given)]
    places = named if alone else [directory / usual, *named]
    return [place for place in dict.fromkeys(places) if place.exists()]


def _offer(found: Fetched, manifest: Manifest, reader: Reader, alone: bool) -> Offer | None:
    """Return the programs that a plugin brings; None if there are none, or they are left out because of a problem."""
    directory = found.directory
    hooks, servers = _hooks(directory, manifest, reader, alone), _servers(directory, manifest, reader, alone)
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
        name: msgspec.structs.replace(rooted(server, ROOT, str(directory)), pinned=pins, confined=None)
        for name, server in servers.items()
    }
    if found.entry is not None and (found.entry.hooks or found.entry.servers):  # the entry is not below the directory
        more = msgspec.json.encode((found.entry.hooks, found.entry.servers), order="deterministic")
        digest = sha256(digest.encode() + more).hexdigest()
    return Offer(digest=digest, name=manifest.name, path=str(directory), hooks=pinned, servers=ours)


def _hooks(directory: Path, manifest: Manifest, reader: Reader, alone: bool) -> tuple[Hook, ...]:
    """Return the hooks of a plugin: those in the manifest, in the files that it names, and in the usual file."""
    root = str(directory)
    if isinstance(manifest.hooks, dict):
        return hooks_of(manifest.hooks, directory, reader, root)
    names = [*([] if alone else ["hooks/hooks.json"]), *paths_in(manifest.hooks)]
    return tuple(hook for name in names for hook in read_hooks(directory / name, reader, root))


def _servers(directory: Path, manifest: Manifest, reader: Reader, alone: bool) -> dict[str, MCPServer]:
    if isinstance(manifest.servers, str):
        return find_servers(directory / manifest.servers, reader)
    try:
        named = brought_in(manifest.servers, "mcpServers")
    except ConfigurationError as error:
        reader.tell(directory, f"its servers are left out: {error}")
        named = {}
    return {**({} if alone else find_servers(directory / SERVERS, reader)), **named}

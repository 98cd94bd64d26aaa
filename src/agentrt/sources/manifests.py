"""Manifests of plugins, and marketplaces that list plugins, in the formats in which they are published.

Source: https://code.claude.com/docs/en/plugins-reference and https://code.claude.com/docs/en/plugin-marketplaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import normpath
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import ConfigurationError

MANIFESTS = (".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json")
"""The files that may be a plugin's manifest, in order of precedence. A plugin needs none."""

MARKETPLACES = (".plugin/marketplace.json", ".claude-plugin/marketplace.json")

PARTS = ("skills", "commands", "agents", "hooks", "servers")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin says of itself, or a marketplace of it. A part names files and directories, or has the content."""

    name: str = ""
    version: str | float = ""
    description: str = ""
    skills: Any = None
    commands: Any = None
    agents: Any = None
    hooks: Any = None
    servers: Any = msgspec.field(name="mcpServers", default=None)

    @property
    def names_parts(self) -> bool:
        """Whether it names any part."""
        return any(getattr(self, part) is not None for part in PARTS)


class Entry(Manifest, frozen=True, kw_only=True):
    """A plugin in a marketplace."""

    source: Any = "./"
    strict: bool = True
    """Whether the plugin's own manifest counts too. If not, the entry is the whole manifest."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    plugin_root: str = ""


class Marketplace(msgspec.Struct, frozen=True):
    """A marketplace file."""

    plugins: list[Entry]
    metadata: _Metadata = _Metadata()

    def entry(self, name: str, where: str) -> Entry:
        """Return the plugin with that name. Raises `ConfigurationError` if there is none."""
        for entry in self.plugins:
            if entry.name == name:
                return entry
        there = ", ".join(sorted(entry.name for entry in self.plugins)) or "none"
        raise ConfigurationError(f"the marketplace {where} has no plugin {name!r}; it has: {there}")

    def inside(self, entry: Entry) -> str | None:
        """Return the directory of a plugin below that of the marketplace; None if it is elsewhere."""
        if not isinstance(entry.source, str) or "://" in entry.source or entry.source.startswith("github:"):
            return None
        root = "" if entry.source.startswith("./") else self.metadata.plugin_root
        return normpath(f"{root}/{entry.source}".lstrip("/"))


def read_marketplace(data: bytes, where: str) -> Marketplace:
    """Return the marketplace in a file. Raises `ConfigurationError`."""
    try:
        return msgspec.json.decode(data, type=Marketplace)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigurationError(f"{where} is not a marketplace: {error}") from error


def read_manifest(text: str, where: str) -> Manifest:
    """Return the manifest in a file's text. Raises `ConfigurationError`."""
    try:
        return msgspec.json.decode(text, type=Manifest)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where} is not a manifest of a plugin: {error}") from error


def merged(own: Manifest | None, entry: Entry | None, name: str) -> Manifest:
    """Return what counts of a plugin's own manifest and its entry in a marketplace; `name` is for want of one."""
    if entry is None:
        found = own or Manifest()
    elif own is None or not entry.strict:
        found = replace(entry, version=entry.version or (own.version if own is not None else ""))
    else:
        both = {part: _both(getattr(own, part), getattr(entry, part)) for part in PARTS}
        found = replace(own, name=entry.name, description=own.description or entry.description, **both)
    return replace(found, name=(found.name or name).strip())


def _both(own: Any, more: Any) -> Any:
    """Return a part with what the entry adds. A part with content takes the place of paths."""
    if own is None or more is None:
        return more if own is None else own
    if isinstance(own, dict) and isinstance(more, dict):
        return {**more, **own}
    return own if isinstance(own, dict) or isinstance(more, dict) else [*paths_in(own), *paths_in(more)]


def paths_in(given: Any) -> tuple[str, ...]:
    """Return the paths that a part names: one, several, or those of named commands, each with a `source`."""
    if isinstance(given, str):
        return (given,)
    if isinstance(given, dict):
        given = [one.get("source") for one in given.values() if isinstance(one, dict)]
    return tuple(one for one in given if isinstance(one, str)) if isinstance(given, Iterable) else ()

"""`fetched`: gets plugins or a skill from a directory, a git address at a revision, or a marketplace."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import ByteReceiveStream

from ..errors import ConfigurationError
from ..sandboxes.here import THIS_MACHINE
from ..sandboxes.installed import installed, search_path
from ..specs.context import PluginSource
from .manifests import MANIFESTS, MARKETPLACES, Entry, Marketplace, read_marketplace

SECONDS = 60.0
"""Maximum number of seconds for a git command."""

MOST = 50
"""Maximum number of plugins that are taken from an address that names none of them."""

_MARKET = re.compile(r"(?!git@)([A-Za-z0-9][\w.-]*)@(.+)")
_GIT = re.compile(r"(?:https?|ssh|git|file)://.+|[\w.-]+@[\w.-]+:.+")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Fetched(msgspec.Struct, frozen=True):
    """The directory of a plugin."""

    directory: Path
    name: str
    """The plugin's name if nothing else gives it one."""
    entry: Entry | None = None
    """What a marketplace says of it."""


async def fetched_plugins(given: PluginSource, cache: Path, base: Path) -> list[Fetched]:
    """Return the plugins that a source names: one, or those of a marketplace that are in its own directory.

    Raises as `fetched` does, and for a marketplace whose plugins are all elsewhere.
    """
    source, entry = await _named(given, cache, base)
    directory = await _directory(source, cache, base)
    name = _last(source.repo_path if source.repo_path not in ("", ".") else source.source)
    if entry is not None:
        return [Fetched(directory, name, entry)]
    file = await _market_in(directory)
    if file is None or await _is_plugin(directory):
        return [Fetched(directory, name)]
    market = await _read_market(file)
    inside = [(one, place) for one in market.plugins if (place := market.inside(one)) is not None]
    if not inside or len(inside) > MOST:
        there = ", ".join(sorted(one.name for one in market.plugins)) or "none"
        raise ConfigurationError(f"{given.source} is a marketplace: name a plugin as NAME@{given.source}, of {there}")
    found = [Fetched(_below(directory, place), one.name, one) for one, place in inside]
    for one in found:
        await anyio.to_thread.run_sync(_check, one.directory, directory, given.source)
    return found


async def _named(given: PluginSource, cache: Path, base: Path) -> tuple[PluginSource, Entry | None]:
    """Return a source, and its entry if it is a plugin of a marketplace."""
    market = _MARKET.fullmatch(given.source)
    if market is None or await anyio.Path(base / given.source).exists():
        return given, None
    return await _in_marketplace(market[1], PluginSource(market[2], given.ref), cache, base)


async def _market_in(directory: Path) -> Path | None:
    """Return the marketplace file in a directory; None if there is none."""
    for name in MARKETPLACES:
        if await anyio.Path(directory / name).is_file():
            return directory / name
    return None


async def _read_market(file: Path) -> Marketplace:
    """Return the marketplace in a file. Raises `ConfigurationError`."""
    try:
        return read_marketplace(await anyio.Path(file).read_bytes(), str(file))
    except OSError as error:
        raise ConfigurationError(f"{file} is not a marketplace: {error}") from error


async def _is_plugin(directory: Path) -> bool:
    return any([await anyio.Path(directory / name).is_file() for name in MANIFESTS])


def _last(path: str) -> str:
    """Return the last part of a path or an address, as a name."""
    return path.rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")


async def fetched(given: PluginSource, cache: Path, base: Path) -> Path:
    """Return the directory that a source names. A git address is fetched into `cache`; a relative path begins at
    `base`. Raises `ConfigurationError` if the source is not available.
    """
    source, _ = await _named(given, cache, base)
    return await _directory(source, cache, base)


async def _directory(given: PluginSource, cache: Path, base: Path) -> Path:
    """Return the directory of a source that is not a plugin of a marketplace. Raises as `fetched` does."""
    address = _address(given.source)
    directory = await _clone(address, given.ref, cache) if address else _path(base, given.source)
    found = _below(directory, given.repo_path)
    await anyio.to_thread.run_sync(_check, found, directory, given.source)
    return found


def _check(found: Path, directory: Path, source: str) -> None:
    """Raise `ConfigurationError` if `found` is not a directory, or leads out of the directory that was fetched."""
    if not found.is_dir():
        raise ConfigurationError(f"there is no directory {found} (of {source})")
    if not found.resolve().is_relative_to(directory.resolve()):
        raise ConfigurationError(f"{found} leads out of {directory}")


def _path(base: Path, source: str) -> Path:
    return base / os.path.expanduser(source)


def _below(directory: Path, inside: str) -> Path:
    return Path(os.path.normpath(directory / inside))


def _address(source: str) -> str:
    """Return the git address of a source; "" for a directory."""
    if source.startswith("github:"):
        return f"https://github.com/{source.removeprefix('github:')}.git"
    return source if _GIT.fullmatch(source) else ""


async def _in_marketplace(name: str, market: PluginSource, cache: Path, base: Path) -> tuple[PluginSource, Entry]:
    """Return the source of a plugin in a marketplace, and its entry. Raises `ConfigurationError`."""
    place = _path(base, market.source)
    if not await anyio.Path(place).is_file():
        directory = await fetched(market, cache, base)
        file = await _market_in(directory)
        if file is None:
            raise ConfigurationError(f"{market.source} is not a marketplace: it has no {' and no '.join(MARKETPLACES)}")
        place, home = file, directory
    else:
        home = place.parent.parent if place.parent.name in (".plugin", ".claude-plugin") else place.parent
    listed = await _read_market(place)
    entry = listed.entry(name, market.source)
    return _listed(entry, home, listed.inside(entry)), entry


def _listed(entry: Entry, home: Path, inside: str | None) -> PluginSource:
    """Return the source of a plugin that a marketplace lists. Raises `ConfigurationError`."""
    if inside is not None:
        return PluginSource(str(home), repo_path=inside)
    match entry.source:
        case str(address):
            return PluginSource(address)
        case {"source": "github", "repo": str(repo), **more}:
            return PluginSource(f"github:{repo}", _revision(more), str(more.get("path", "")))
        case {"url": str(url), **more}:
            return PluginSource(url, _revision(more), str(more.get("path", "")))
        case {"source": str(kind)}:
            raise ConfigurationError(f"the plugin {entry.name!r} comes from {kind}: only directories and git are read")
        case _:
            raise ConfigurationError(f"the marketplace does not say where the plugin {entry.name!r} is")


def _revision(entry: Mapping[Any, Any]) -> str:
    return str(entry.get("sha") or entry.get("ref") or "")


async def _clone(address: str, ref: str, cache: Path) -> Path:
    """Return a copy of a repository at a revision, stored by its commit. If the revision is a commit, fetch it once."""
    if ref.startswith("-") or "\0" in ref + address:
        raise ConfigurationError(f"{ref!r} is not a revision")
    if _COMMIT.fullmatch(ref) and await anyio.Path(_place(cache, address, ref)).is_dir():
        return _place(cache, address, ref)
    await anyio.to_thread.run_sync(lambda: cache.mkdir(parents=True, exist_ok=True, mode=0o700))
    made = Path(await anyio.to_thread.run_sync(lambda: tempfile.mkdtemp(dir=cache, prefix=".new-")))
    try:
        await _git(made, address, "init", "--quiet")
        await _git(made, address, "fetch", "--quiet", "--depth", "1", "--no-tags", "--", address, ref or "HEAD")
        await _git(made, address, "checkout", "--quiet", "--detach", "FETCH_HEAD")
        place = _place(cache, address, await _git(made, address, "rev-parse", "HEAD"))
        await anyio.to_thread.run_sync(_put, made, place)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(made, ignore_errors=True))
    return place


def _place(cache: Path, address: str, commit: str) -> Path:
    return cache / sha256(f"{address}#{commit}".encode()).hexdigest()[:24]


def _put(made: Path, place: Path) -> None:
    """Move a new copy, without its history, to its place, unless one is there, which another conversation may use."""
    shutil.rmtree(made / ".git", ignore_errors=True)
    with suppress(OSError):
        made.rename(place)


async def _git(directory: Path, address: str, *arguments: str) -> str:
    """Run git and return its output. It asks for no input, and runs nothing of a repository.

    Raises `ConfigurationError`.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _QUIET
    try:
        git = installed("git")
    except FileNotFoundError as error:
        raise ConfigurationError(f"git cannot be run: {error.strerror}") from error
    variables["PATH"] = search_path()
    command = [git, "-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", *arguments]
    try:
        process = await THIS_MACHINE.run(command, cwd=directory, env=variables)
    except OSError as error:
        raise ConfigurationError(f"git cannot be run: {error}") from error
    said = {"out": b"", "err": b""}
    try:
        with anyio.move_on_after(SECONDS):
            async with process:
                assert process.stdout is not None
                assert process.stderr is not None
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_read, process.stdout, said, "out")
                    tasks.start_soon(_read, process.stderr, said, "err")
                await process.wait()
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
    if process.returncode == 0:
        return said["out"].decode(errors="replace").strip()
    told = said["err"].decode(errors="replace").strip().splitlines()
    if process.returncode is None or process.returncode < 0:
        raise ConfigurationError(f"{address} did not answer within {SECONDS:g} s")
    raise ConfigurationError(f"{address} cannot be fetched: {told[-1] if told else 'git failed'}")


async def _read(stream: ByteReceiveStream, said: dict[str, bytes], name: str) -> None:
    async for piece in stream:
        said[name] = (said[name] + piece)[-65536:]


_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file",
}

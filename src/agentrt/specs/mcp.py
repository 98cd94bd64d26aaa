"""`MCPServer`: the configuration of a server of the Model Context Protocol (MCP) for an agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import force_setattr

from ..errors import ConfigurationError
from .credentials import Credentials, OAuth, as_credentials, filled, headers_of, texts_of
from .given import Given, Seconds

Transport: TypeAlias = Literal["stdio", "http", "sse"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]{0,1000}+))?\}")
"""A reference to a secret; a default has at most 1000 characters."""

_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}


class MCPServer(Given, frozen=True, kw_only=True, omit_defaults=True, rename={"kind": "type"}):
    """An MCP server that is started as a process (`command`), or reached over HTTP (`url`).

    `${NAME}` and `${NAME:-default}` in any text stand for a secret of the conversation; the log contains only the name.
    Raises `ConfigurationError` for an invalid server.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    """Environment variables of the process, besides PATH, HOME, LANG and the like; it inherits no other variables."""
    cwd: str = ""
    """The working directory, relative to the workspace; for a shared server, relative to that of this process."""
    url: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    auth: Credentials | str | None = None
    """Credentials for a server over HTTP: "oauth", a bearer token, or a class of `specs/credentials.py`. A server
    without credentials may ask for a login, too: `agentrt mcp login`.
    """
    transport: str | None = None
    """The transport: "stdio", "http" (streamable HTTP) or "sse"; None: "stdio" for a command, "http" for a URL."""
    kind: str | None = None
    """The transport, as spelled in other programs' files."""
    shared: bool = False
    """Whether one process serves all conversations of an owner, instead of one conversation and its children."""
    disabled: bool = False
    confined: bool | None = None
    """Whether its process is behind the wall of a workspace that confines, as the agent's commands are. None: if the
    workspace brought it, its command runs files of the workspace, or its `cwd` is there. A server outside of the wall
    begins in the home of this user.
    """
    pinned: tuple[tuple[str, str], ...] = ()
    """The workspace files that a person reviewed with it, each with its SHA-256; if they changed, it is not started."""
    ignored: tuple[str, ...] = ()
    """The fields of another program in its file that are not used here."""
    include: tuple[str, ...] = ()
    """Patterns of tool names to offer; empty: all."""
    exclude: tuple[str, ...] = ()
    """Patterns of tool names to hide."""
    connect_timeout: Seconds = 30.0
    """The time limit in seconds until the server has listed its tools."""
    timeout: Seconds = 300.0
    """The time limit in seconds of a call."""
    idle_timeout: Seconds | None = 600.0
    """Seconds without a call after which an HTTP session is closed; the next call opens a new one."""

    def __post_init__(self) -> None:
        if self.transport is not None or self.kind is not None:
            named = _TRANSPORTS.get(str(self.transport or self.kind))
            if named is None:
                raise ConfigurationError(
                    f"MCPServer(transport={self.transport or self.kind!r}): expected stdio, http or sse"
                )
            force_setattr(self, "transport", named)
            force_setattr(self, "kind", None)
        force_setattr(self, "auth", as_credentials(self.auth))
        Given.__post_init__(self)
        if bool(self.command) == bool(self.url):
            unknown = f"; not known: {', '.join(self.ignored)}" if self.ignored else ""
            raise ConfigurationError(f"an MCP server needs a command or a url, and not both{unknown}")
        if (self.transport or self.way) != self.way and not (self.url and self.transport == "sse"):
            raise ConfigurationError(f"MCPServer(...): {self.transport} needs a {'command' if self.url else 'url'}")
        if self.url and not re.match(r"https?://|\$\{", self.url):
            raise ConfigurationError("MCPServer(url=...): expected an address that begins with http(s)://")
        if self.auth is not None and not self.url:
            raise ConfigurationError("MCPServer(auth=...): only a server over HTTP takes it; give a command its env")

    @property
    def credentials(self) -> Credentials | None:
        """The credentials for the server, besides its headers."""
        assert not isinstance(self.auth, str)
        return self.auth

    @property
    def logs_in(self) -> bool:
        """Whether a person can log in to the server: it has no other credentials."""
        if self.credentials is not None:
            return isinstance(self.credentials, OAuth)
        return bool(self.url) and not any(name.lower() == "authorization" for name in self.headers)

    @property
    def way(self) -> Transport:
        """The transport in use."""
        if self.command:
            return "stdio"
        return "sse" if self.transport == "sse" else "http"

    @property
    def where(self) -> str:
        """The command that is started, or the address."""
        return " ".join((self.command, *self.args)) if self.command else self.url

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of variables in its texts, in order."""
        return tuple(dict.fromkeys(match["name"] for text in _texts(self) for match in _VARIABLE.finditer(text)))

    @property
    def required(self) -> frozenset[str]:
        """The names of variables without a default."""
        found = (match for text in _texts(self) for match in _VARIABLE.finditer(text))
        return frozenset(match["name"] for match in found if match["default"] is None)


def _texts(server: MCPServer) -> tuple[str, ...]:
    named = (*server.env.values(), *server.headers.values())
    return (server.command, *server.args, server.cwd, server.url, *named, *texts_of(server.credentials))


def as_servers(given: Any) -> Any:
    """Return servers by name, as in a file under `mcpServers`, with our names of the fields. Other invalid values are
    refused at conversion.

    Raises `ConfigurationError` for a name that cannot be part of a tool's name.
    """
    if not isinstance(given, Mapping):
        return given
    inner = given.get("mcpServers", given)
    if not isinstance(inner, Mapping):
        return inner
    for name in inner:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigurationError(f"invalid name of an MCP server {name!r}: use letters, digits, '_', '-' and '.'")
    return {name: as_server(one) if isinstance(one, Mapping) else one for name, one in inner.items()}


def as_server(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server with our names of its fields, if it has those of another program; see `mcp_dialects`."""
    if given.keys() <= _WRITTEN:
        return dict(given)
    from .mcp_dialects import as_written  # few have others

    return as_written(given, _WRITTEN)


_WRITTEN = frozenset((*MCPServer.__struct_fields__, "type")) - {"kind"}


def expanded(server: MCPServer, value_of: Callable[[str], str | None]) -> MCPServer:
    """Return the server with the values of its variables. Raises `ConfigurationError` that names missing variables."""
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        found = value_of(match["name"])
        if found is None and match["default"] is None:
            missing.append(match["name"])
        return found if found is not None else match["default"] or ""

    problem = None
    try:
        made = _filled(server, lambda text: _VARIABLE.sub(value, text))
    except ConfigurationError as error:
        made, problem = server, error
    if missing:
        raise ConfigurationError(f"it needs {', '.join(dict.fromkeys(missing))}: set them, or give them as secrets")
    if problem is not None:  # its message contains a value
        raise ConfigurationError(f"the values of {', '.join(server.variables)} do not make a valid server") from None
    _check_address(made)
    return made


def _check_address(server: MCPServer) -> None:
    """Raise `ConfigurationError` for an invalid address or header, without its value."""
    try:
        parts = urlsplit(server.url)
        good = not server.url or (bool(parts.hostname) and (parts.port is None or 0 < parts.port < 65536))
    except ValueError:
        good = False
    if not good:
        raise ConfigurationError("its url is not an address: expected http(s)://host:port/path")
    for name, value in {**server.headers, **headers_of(server.credentials)}.items():
        if not (value.isascii() and value.isprintable() and re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name)):
            raise ConfigurationError(f"its header {name!r} has characters that no header may have")


def rooted(server: MCPServer, name: str, directory: str) -> MCPServer:
    """Return the server with one variable replaced by a directory; other variables stay."""
    return _filled(
        server, lambda text: _VARIABLE.sub(lambda match: directory if match["name"] == name else match[0], text)
    )


def _filled(server: MCPServer, fill: Callable[[str], str]) -> MCPServer:
    return msgspec.structs.replace(
        server,
        command=fill(server.command),
        args=tuple(map(fill, server.args)),
        env={name: fill(value) for name, value in server.env.items()},
        cwd=fill(server.cwd),
        url=fill(server.url),
        headers={name: fill(value) for name, value in server.headers.items()},
        auth=filled(server.credentials, fill),
    )

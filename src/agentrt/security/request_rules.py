"""Rules for requests that may change what listens on this machine: a changing method or a body, to a local port.

A service of this machine often asks nobody who is local for a password: a container engine, a database, a search index.
A process of the same conversation may be asked anything. Which ports its processes listen on is a fact from outside,
`Site.listening`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .calls import Call, Options, options
from .fetching import CURL_LONG, CURL_VALUED, WGET_LONG, WGET_VALUED
from .network_rules import host, rate_destination
from .paths import Site
from .rating import Rating
from .verdicts import high, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that change nothing (RFC 9110, section 9.2.1)."""

ANY_PORT = 0
"""Stands for a port that is not known."""

_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21, "": 80}
_AUTHORITY = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]*)://)?(?:[^/@?#]*@)?(?:\[[^\]]*\]|[^/:?#]*)(?::([^/?#]*))?")
_OVERRIDES = re.compile(r"(?i)x-(?:http-)?method(?:-override)?\s*:")
_HERE = rate_destination("localhost")


def local_port(text: str) -> int | None:
    """Return the port of a URL or host of this machine, `ANY_PORT` if that is not known, None for another machine."""
    name = host(text)
    if not (rate_destination(name) == _HERE or name.endswith(".localhost") or name == "localhost.localdomain"):
        return None
    match = _AUTHORITY.match(text)
    scheme, port = (match[1] or "", match[2]) if match else ("", None)
    if port is None or port == "":
        return _PORTS.get(scheme.lower(), ANY_PORT)
    return ANY_PORT if (number := port_number(port)) is None else number


def port_number(text: str) -> int | None:
    """Return the port that a text of digits is; None for other texts."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None


def changing(methods: Iterable[str]) -> bool:
    """Return whether one of some methods may change something."""
    return any(method.upper() not in SAFE for method in methods)


def rate_sent(port: int | None, where: Site) -> Iterator[Rating]:
    """Rate a request that may change something. `port` is that of `local_port`."""
    if port is None or where.listening is None or port in where.listening:
        return
    if port == ANY_PORT:
        yield unknown("sends a request to a port of this machine that is not known", ("outside",))
    else:
        yield high(f"sends to port {port} of this machine, where nothing of this conversation listens", ("outside",))


def note_sent(walk: Walk, ports: Iterable[int], where: Site) -> None:
    """Rate requests that may change something, to ports of this machine, and have the walk know the ports."""
    for port in ports:
        walk.ports.add(port)
        walk.add(*rate_sent(port, where))


def sent_ports(call: Call) -> frozenset[int]:
    """Return the ports of this machine to which a call sends requests that may change something."""
    if (sender := SENDERS.get(call.name)) is None:
        return frozenset()
    return frozenset(port for text in sender(call) if (port := local_port(text)) is not None)


_ANYWHERE = "localhost:x"
"""An address that is not known, maybe of this machine."""
_CURL_URL = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]*+):/{1,3})?([^/?#]*+)")
_IP_6 = re.compile(r"\[[0-9a-fA-F]*+:[0-9a-fA-F:.%]*+\]")
_CONNECT_TO = re.compile(r"(\[[^][]*+\]|[^:[]*+)(?::|\Z)")
"""A part of `host:port:host:port`, the value of `--connect-to`."""


def _curl(call: Call) -> Iterator[str]:
    read = options(call.words, CURL_VALUED, CURL_LONG)
    body = read.has("F", "form", "form-string", "T", "upload-file", "json")
    data = ("d", "data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "expand-data")
    body = body or (read.has(*data) and not read.has("G", "get"))
    changes = changing(read.all("X", "request"))
    changes = changes or any(map(_OVERRIDES.match, read.all("H", "header"))) or read.has("Q", "quote")
    if not (body or changes):
        return
    for text in (*read.operands, *read.all("url")):
        yield _curl_url(text, not read.has("g", "globoff"))
    yield from _curl_detours(read)
    yield from _proxies(call)


def _curl_url(text: str, globs: bool) -> str:
    """Return the scheme, host and port of a URL as `curl` reads it. Sets and ranges stand for any host and port."""
    match = _CURL_URL.match(text)
    scheme, authority = (match[1] or "http", match[2]) if match else ("http", "")
    authority = unquote(authority.rpartition("@")[2])
    if globs and re.search(r"[][{}]", _IP_6.sub("", authority, count=1)):
        return _ANYWHERE
    return f"{scheme}://{authority}"


def _curl_detours(read: Options) -> Iterator[str]:
    """Yield where options lead a request that is for another host."""
    for text in read.all("resolve"):
        _, port, addresses = (*text.split(":", 2), "", "")[:3]
        for address in addresses.split(","):
            yield f"{address}:{port}" if address.count(":") < 2 or "[" in address else f"[{address}]:{port}"
    for text in read.all("connect-to"):
        parts = _CONNECT_TO.findall(text)
        host_, port = (*parts[2:4], "", "")[:2]
        yield f"{host_ or 'localhost'}:{port or 'x'}"
    yield from read.all("x", "proxy", "preproxy", "socks4", "socks4a", "socks5", "socks5-hostname", "proxy1.0")


def _proxies(call: Call) -> Iterator[str]:
    yield from (value for name, value in call.environment if name.lower() in ("http_proxy", "https_proxy", "all_proxy"))


def _wget(call: Call) -> Iterator[str]:
    read = options(call.words, WGET_VALUED, WGET_LONG)
    changes = changing(read.all("method"))
    changes = changes or any(map(_OVERRIDES.match, read.all("header")))
    if changes or read.has("post-data", "post-file", "body-data", "body-file"):
        yield from read.operands
        yield from (_ANYWHERE for _ in read.all("i", "input-file")[:1])
        yield from _proxies(call)


_ITEM = re.compile(r"@.|(?<![^:=@\s])[^:=@\s]++(?::=@?|=@|=(?!=)|@)")
"""An item of HTTPie that is sent in the body: `name=text`, `name:=json`, `name@file` or `@file`, not `name==query`."""


def _httpie(call: Call) -> Iterator[str]:
    longs = (
        "raw",
        "auth",
        "auth-type",
        "session",
        "session-read-only",
        "verify",
        "timeout",
        "output",
        "print",
        "style",
    )
    read = options(call.words, "aAopPs", longs)
    operands = list(read.operands)
    method = operands.pop(0) if operands and operands[0].isascii() and operands[0].isalpha() and operands[1:] else ""
    if not operands:
        return
    url, *items = operands
    body = read.has("raw", "f", "form", "multipart") or call.stdin is not None or any(map(_ITEM.match, items))
    if changing([method]) if method else body:
        yield f"localhost{url}" if url.startswith((":", "/")) else url
    elif body or any(map(_OVERRIDES.match, items)):
        yield url


def _netcat(call: Call) -> Iterator[str]:
    read = options(call.words, "eciIOoPpqsTVwXxmGg", ("exec", "sh-exec", "lua-exec", "wait", "source"))
    if call.stdin is not None and not read.has("l", "listen", "z") and len(read.operands) > 1:
        yield ":".join(read.operands[:2])


def _curlie(call: Call) -> Iterator[str]:
    yield from _curl(call)
    yield from _httpie(call)


def _lwp(call: Call) -> Iterator[str]:
    read = options(call.words, "mbtipcCHoj", ("method", "data", "json", "content", "headers", "files"))
    methods = read.all("m", "method") or (("POST",) if read.has("j", "json", "data", "content", "files") else ("GET",))
    if changing(methods) or call.name == "POST":
        yield from read.operands


_SOCAT = re.compile(r"(?i)(?:tcp|udp|openssl|ssl|sctp|dtls)[46]?(?:-connect|-datagram|-sendto)?:([^,]*)")


def _socat(call: Call) -> Iterator[str]:
    addresses = [word for word in call.words if not word.startswith("-")]
    plain = all(word.lower() in ("stdio", "stdin") or _SOCAT.match(word) for word in addresses)
    if call.stdin is not None or not plain:
        yield from (match[1] for word in addresses if (match := _SOCAT.match(word)))


def _typed(call: Call) -> Iterator[str]:
    """Yield where a program sends what it reads: `telnet`, `websocat`, `openssl s_client`."""
    if call.stdin is None:
        return
    if call.name == "openssl":
        yield from (after for word, after in pairwise(call.words) if word in ("-connect", "-host"))
        return
    read = options(call.words, "nelbSXk" if call.name == "telnet" else "HE")
    if read.operands and call.name == "telnet":
        yield ":".join((*read.operands, "23")[:2])
    else:
        yield from read.operands[:1]


SENDERS: dict[str, Callable[[Call], Iterator[str]]] = {
    "curl": _curl,
    "wget": _wget,
    "http": _httpie,
    "nc": _netcat,
    "curlie": _curlie,
    "lwp-request": _lwp,
    "POST": _lwp,
    "httpx": _lwp,
    "socat": _socat,
    "telnet": _typed,
    "websocat": _typed,
    "openssl": _typed,
}
"""Programs that may send such requests: each function yields their URLs, or hosts with ports."""

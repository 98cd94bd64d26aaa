"""Rules for requests that may change what listens on this machine: a changing method or a body, to a local port.

A service of this machine often asks nobody who is local for a password: a container engine, a database, a search index.
A process of the same conversation may be asked anything. Which ports its processes listen on is a fact from outside,
`Site.listening`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .calls import Call, options
from .fetching import CURL_LONG, CURL_VALUED, WGET_LONG, WGET_VALUED
from .network_rules import host, rate_destination
from .paths import Site
from .rating import Rating
from .verdicts import high, unknown

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
    return int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else ANY_PORT


def rate_sent(port: int | None, where: Site) -> Iterator[Rating]:
    """Rate a request that may change something. `port` is that of `local_port`."""
    if port is None or where.listening is None or port in where.listening:
        return
    if port == ANY_PORT:
        yield unknown("sends a request to a port of this machine that is not known", ("outside",))
    else:
        yield high(f"sends to port {port} of this machine, where nothing of this conversation listens", ("outside",))


def sent_ports(call: Call) -> frozenset[int]:
    """Return the ports of this machine to which a call sends requests that may change something."""
    if (sender := SENDERS.get(call.name)) is None:
        return frozenset()
    return frozenset(port for text in sender(call) if (port := local_port(text)) is not None)


def _curl(call: Call) -> Iterator[str]:
    read = options(call.words, CURL_VALUED, CURL_LONG)
    body = read.has("F", "form", "form-string", "T", "upload-file", "json")
    data = ("d", "data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "expand-data")
    body = body or (read.has(*data) and not read.has("G", "get"))
    changes = any(method.upper() not in SAFE for method in read.all("X", "request"))
    changes = changes or any(map(_OVERRIDES.match, read.all("H", "header"))) or read.has("Q", "quote")
    if body or changes:
        yield from (*read.operands, *read.all("url"))


def _wget(call: Call) -> Iterator[str]:
    read = options(call.words, WGET_VALUED, WGET_LONG)
    changes = any(method.upper() not in SAFE for method in read.all("method"))
    changes = changes or any(map(_OVERRIDES.match, read.all("header")))
    if changes or read.has("post-data", "post-file", "body-data", "body-file"):
        yield from read.operands


_ITEM = re.compile(r"(?<![^:=@\s])[^:=@\s]++(?::=@?|=@|=(?!=)|@)")
"""An item of HTTPie that is sent in the body: `name=text`, `name:=json`, `name@file`, but not `name==query`."""


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
    if (method.upper() not in SAFE) if method else body:
        yield f"localhost{url}" if url.startswith((":", "/")) else url
    elif body or any(map(_OVERRIDES.match, items)):
        yield url


def _netcat(call: Call) -> Iterator[str]:
    read = options(call.words, "eciIOoPpqsTVwXxmGg", ("exec", "sh-exec", "lua-exec", "wait", "source"))
    if call.stdin is not None and not read.has("l", "listen", "z") and len(read.operands) > 1:
        yield ":".join(read.operands[:2])


SENDERS: dict[str, Callable[[Call], Iterator[str]]] = {"curl": _curl, "wget": _wget, "http": _httpie, "nc": _netcat}
"""Programs that may send such requests: each function yields their URLs, or hosts with ports."""

_URL = re.compile(r"https?://[^\s'\"`<>]{1,500}")
_CHANGING = re.compile(
    r"['\"`](?i:post|put|patch|delete)['\"`]|\.(?:post|put|patch|delete)\s*\(|Net::HTTP::(?:Post|Put|Patch|Delete)"
    r"|(?i:\bmethod\s*(?:=>|[:=])\s*['\"`]?(?:post|put|patch|delete))|\bbody\s*:|CURLOPT_POST"
)


def script_ports(code: str) -> frozenset[int]:
    """Return the ports of this machine that a script names, if it also names a changing method or a body."""
    if not _CHANGING.search(code):
        return frozenset()
    return frozenset(port for url in _URL.findall(code) if (port := local_port(url)) is not None)

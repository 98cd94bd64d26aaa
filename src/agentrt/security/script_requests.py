"""Requests in JavaScript, Perl, Ruby, PHP, awk and similar code that may change what listens on this machine. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .request_rules import ANY_PORT, local_port

_CLIENTS = re.compile(
    r"https?\.(?:get|request)|\bfetch\b|Net::HTTP|\bLWP\b|HTTP::|open-uri|URI\.open|XMLHttpRequest|curl_|fsockopen"
    r"|file_get_contents|stream_context|\b(?:axios|got|undici|superagent|needle|ky|phin|bent|wreck|request|node-fetch)\b"
    r"|(?:require\s*+\(|from|import)\s*+\(?\s*+['\"](?:node:)?(?:https?2?|net|dgram|tls)['\"]|Mojo::UserAgent|\bREST\b"
    r"|Faraday|HTTParty|RestClient|Typhoeus|Excon|HTTPClient|\bHTTP\.|Guzzle|WWW::|\bsendBeacon\b"
)
"""Words of code that uses a client of HTTP."""
_CHANGING = re.compile(
    r"['\"`](?i:post|put|patch|delete)['\"`]|(?:\.|->)\s*+(?:post|put|patch|delete)\w{0,10}+\s*+[('\"]"
    r"|Net::HTTP::(?:Post|Put|Patch|Delete)|\)\s*+\.\s*+(?:post|put|patch|delete)\b"
    r"|(?i:\bmethod['\"]?+\s*+(?:=>|[:=])\s*+['\"`]?+(?:post|put|patch|delete))|\bbody\s*+:"
    r"|CURLOPT_(?:POST|CUSTOMREQUEST|PUT|UPLOAD)|(?i:x-(?:http-)?method(?:-override)?['\"])|\bsendBeacon\b"
)
_DIRECT = re.compile(r"(?:\.|->)\s*+(?:post|put|patch|delete)\w{0,10}+\s*+\(?\s*+['\"`](?i:https?):")
"""A changing method that is given a URL, of a library that may be any."""
_SOCKETS = re.compile(
    r"\b(?:connect|createConnection|createSocket)\s*+\(|TCPSocket|UDPSocket|IO::Socket|\bSocket\b|fsockopen"
    r"|stream_socket_client|/inet\d?/|WebSocket"
)
_WRITES = re.compile(
    r"\.\s*+(?:write|end|send|puts|print|syswrite|<<)\b|->\s*+(?:print|send|syswrite|write|say)\b"
    r"|\b(?:fwrite|fputs|syswrite|socket_write|send)\b|\bprint\b|<<"
)
_STREAM = re.compile(r"(?i)wss?:")
_URL = re.compile(r"(?i:https?|wss?)://[^\s'\"`<>]{1,500}+")
_HOST = re.compile(
    r"['\"`]([\w.:\[\]-]{1,100}+)['\"`]"
    r"(?:\s*+,\s*+(?:['\"]?+([0-9]{1,5})(?![0-9])|([$@A-Za-z]\w*+)(?!\s*+(?::|=>))))?"
)
"""A host in quotes, maybe with a port in it, or after it."""
_PORT_FIRST = re.compile(r"(?<![0-9.])(?<!listen\()([0-9]{1,5})\s*+,\s*+['\"`]([\w.:\[\]-]{1,100}+)['\"`]")
_PORT_ALONE = re.compile(r"\b(?:connect|createConnection|Socket)\s*+\(\s*+([0-9]{1,5})\s*+[,)]")
_KEY = re.compile(r"(?i)\b(?:peer)?(?:(host|hostname|addr)|port)['\"]?+\s*+(?:=>|:)\s*+(?:['\"]?+([0-9]{1,5})\b)?")
_OPENS = re.compile(r"\b(?:request|connect|createConnection)\s*+\(|IO::Socket")
_INET = re.compile(r"/inet\d?/(?:tcp|udp)/[^/\s\"]{1,20}/([\w.:-]{1,100})/([0-9]{1,5})?")


def script_ports(code: str) -> frozenset[int]:
    """Return the ports of this machine that a script names, if it also sends what may change something."""
    asks = (_CLIENTS.search(code) and _CHANGING.search(code)) or _DIRECT.search(code)
    if not asks and not (_SOCKETS.search(code) and _WRITES.search(code)):
        return frozenset()
    urls = (url for url in _URL.findall(code) if asks or _STREAM.match(url))
    return frozenset((*_of_urls(urls), *_of_pairs(code)))


def _of_urls(urls: Iterable[str]) -> Iterator[int]:
    for url in urls:
        if (port := local_port(url)) is not None:
            yield ANY_PORT if url.endswith(":") else port


def _of_pairs(code: str) -> list[int]:
    """Return the ports that are given beside a host."""
    found, here = [], False
    for name, number, other in _HOST.findall(code):
        if (port := local_port(name)) is not None:
            here = True
            if number or other:
                found.append(int(number or ANY_PORT))
            elif ":" in name.strip("[]:"):
                found.append(port)
    pairs = (*((name, number) for number, name in _PORT_FIRST.findall(code)), *_INET.findall(code))
    found += [int(number or ANY_PORT) for name, number in pairs if local_port(name) is not None]
    found += map(int, _PORT_ALONE.findall(code))
    keys = _KEY.findall(code)
    ports = [int(number or ANY_PORT) for is_host, number in keys if not is_host]
    if here or (len(ports) == len(keys) and _OPENS.search(code)):  # a client that is given no host asks this machine
        found += ports
    return found or ([ANY_PORT] if here and keys else [])

"""Rules for programs that talk to a network: where they connect, and which local content they send. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from .calls import Call, options
from .fetching import CURL_LONG, CURL_VALUED, WGET_LONG, WGET_VALUED, fetch_target
from .file_rules import rate_read, rate_write
from .rating import Rating
from .shell_text import ANY, DATA, DECODED, FETCHED, SECRET, known
from .verdicts import high, low, medium, unknown

_URL = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://(?:[^/@?#]*@)?(\[[^\]]*\]|[^/:?#]*)")
_METADATA = frozenset({"169.254.169.254", "100.100.100.200", "fd00:ec2::254", "169.254.170.2", "192.0.0.192"})
_METADATA_NAMES = frozenset({"metadata.google.internal", "metadata", "instance-data", "169.254.169.254.nip.io"})
_LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost", "host.docker.internal"})
_SENDS = high("sends local content to a network", ("network",), ("web",))
_TALKS = medium("talks to a network", ("network",), ("web",))
_NOWHERE = unknown("talks to a network that is not known", ("network",), ("web",))
_HERE = low("talks to this machine")
_MINER = re.compile(r"stratum\+(?:tcp|ssl)://|--donate-level|moneroocean|nicehash|minexmr|supportxmr")
_DROPS = re.compile(
    r"(?im)\b(?:drop\s+(?:database|table|schema|user|role)|truncate\s+(?:table\s+)?\w|delete\s+from\s+\w+\s*(?:;|\Z)|dropDatabase|into\s+outfile|load_file|pg_read_file|sys_exec|system\b|\\!)"
    r"|^(?>.*?\bcopy\s).*\bprogram\b"
)


def host(text: str) -> str:
    """Return the host of a URL or of `user@host:path`, an IP address in canonical form; empty if there is none."""
    match = _URL.match(text)
    name = match[2] if match else text.rpartition("@")[2].partition("/")[0]
    name = name if name.count(":") > 1 else name.partition(":")[0]
    name = name.partition("]")[0] if name.startswith("[") else name
    name = name.strip("[]").rstrip(".").lower()
    return _address(name) or name


def _address(name: str) -> str:
    """Return `name` as a canonical IP address; empty if it is none.

    For example, `2852039166`, `0xa9fea9fe` and `169.254.43518` all mean 169.254.169.254.
    """
    try:
        parsed = ipaddress.ip_address(name)
        mapped = getattr(parsed, "ipv4_mapped", None)
        return str(mapped or parsed)
    except ValueError:
        pass
    parts = name.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"0x[0-9a-f]{1,8}|\d{1,10}", part) for part in parts):
        return ""
    try:
        numbers = [
            int(part, 16 if part.startswith("0x") else 8 if len(part) > 1 and part.startswith("0") else 10)
            for part in parts
        ]
        value = numbers[-1]
        for index, number in enumerate(numbers[:-1]):
            value += number << (24 - 8 * index)
        return str(ipaddress.IPv4Address(value))
    except (ValueError, ipaddress.AddressValueError):
        return ""


def rate_destination(text: str) -> Rating:
    """Return the rating of a connection to `text`, a URL or a host."""
    if DATA in text or SECRET in text:
        return high(
            "sends local content to a network", ("network", *(("secrets",) if SECRET in text else ())), ("web",)
        )
    name = host(text)
    if FETCHED in name or DECODED in name or ANY in text:
        return _NOWHERE
    if name in _METADATA or name in _METADATA_NAMES or "169.254.169.254" in text:
        return high("asks for the machine's own credentials", ("network", "secrets"), ("web",))
    if name in _LOOPBACK_NAMES or re.fullmatch(r"127(?:\.\d{1,3}){3}", name) or name in ("::1", "0.0.0.0", "::"):
        return _HERE
    return _TALKS


def _stdin_is_local(call: Call) -> bool:
    return call.stdin is not None and not known(call.stdin) and FETCHED not in call.stdin


def _sends_stdin(call: Call) -> Iterator[Rating]:
    if _stdin_is_local(call):
        yield high(
            "sends local content to a network", ("network", *(("secrets",) if SECRET in (call.stdin or "") else ()))
        )


def _curl(call: Call) -> Iterator[Rating]:
    ratings = _curl_anywhere(call)
    yield from (_HERE if rating is _SENDS else rating for rating in ratings) if _is_local(call) else ratings


def _is_local(call: Call) -> bool:
    """Return whether `curl` only talks to this machine, and no proxy, redirect or config file leads it elsewhere."""
    read = options(call.words, CURL_VALUED, CURL_LONG)
    led_on = read.has("x", "proxy", "resolve", "connect-to", "L", "location", "next", ":", "K", "config", "preproxy")
    proxied = any(name.lower().endswith("_proxy") for name, _ in call.environment)
    return stays_here(call) and not led_on and not proxied and not any("socks" in flag for flag in read.flags)


def _curl_anywhere(call: Call) -> Iterator[Rating]:
    read = options(call.words, CURL_VALUED, CURL_LONG)
    yield from _data(
        call,
        read.all("d", "data", "data-ascii", "data-binary", "data-urlencode", "json", "url-query", "expand-data"),
        "@",
    )
    yield from _data(call, read.all("F", "form"), "=")
    yield from _data(
        call, read.all("H", "header", "b", "cookie", "u", "user", "A", "e", "data-raw", "form-string", "X"), ""
    )
    for text in read.all("H", "header"):
        if text.startswith("@"):
            yield _SENDS
    for text in (*read.all("T", "upload-file"),):
        if text != "-" or call.stdin is None or not known(call.stdin):
            yield _SENDS
        yield from rate_read(call, text)
    if read.has("K", "config"):
        yield unknown("reads its options from a file")
    for text in (*read.operands, *read.all("url")):
        yield from rate_url(call, text)
    yield from _saved(call)
    if read.has("O", "remote-name", "o", "output") and read.all("x", "proxy"):
        yield _TALKS


def _data(call: Call, texts: tuple[str, ...], sign: str) -> Iterator[Rating]:
    for text in texts:
        if SECRET in text:
            yield high("sends a secret to a network", ("network", "secrets"), ("web",))
        elif DATA in text:
            yield _SENDS
        elif ANY in text:
            yield unknown("sends what is not known", ("network",), ("web",))
        file = ""
        if (sign == "@" and (match := re.match(r"(?:[\w-]*)@(.+)", text))) or (
            sign == "=" and (match := re.match(r"[^=]*=[@<]([^;]+)", text))
        ):
            file = match[1]
        if file and (file != "-" or _stdin_is_local(call)):
            yield _SENDS
            if file != "-":
                yield from rate_read(call, file)


def rate_url(call: Call, text: str) -> Iterator[Rating]:
    """Rate fetching from a URL or a host."""
    text = re.sub(r"(?i)^[<\s]*(?:url:\s*)?", "", text).rstrip()
    if text.lower().startswith("file:"):
        path = re.sub(r"(?i)^file:(?://[^/?#]*)?", "", text)
        for spelling in dict.fromkeys((path, unquote(path), unquote(re.split("[?#>]", path)[0]))):
            yield from rate_read(call, spelling)
        yield low("reads a file", (), ("outside",))
        return
    if re.match(r"(?i)(?:gopher|dict|telnet|smb|ldap|tftp)s?:", text):
        yield high("speaks an unusual protocol", ("network",), ("web",))
    yield rate_destination(text)


def _saved(call: Call) -> Iterator[Rating]:
    target = fetch_target(call)
    if target is not None:
        yield rate_write(call, target)


def _wget(call: Call) -> Iterator[Rating]:
    read = options(call.words, WGET_VALUED, WGET_LONG)
    for text in read.all("post-file", "body-file"):
        yield _SENDS
        yield from rate_read(call, text)
    yield from _data(call, read.all("post-data", "body-data", "header", "user-agent", "U"), "")
    if read.has("use-askpass"):
        yield high("runs a command in an option")
    for text in read.operands:
        yield from rate_url(call, text)
    yield from _saved(call)


def _netcat(call: Call) -> Iterator[Rating]:
    read = options(call.words, "eciIOoPpqsTVwXxmGg", ("exec", "sh-exec", "lua-exec", "wait", "source"))
    if read.has("e", "c", "exec", "sh-exec", "lua-exec"):
        yield high("gives a shell to a network", ("network",))
    if read.has("l", "listen"):
        yield (
            high("opens the machine to a network", ("network",))
            if read.has("k") or _stdin_is_local(call)
            else medium("waits for a network", ("network",), ("web",))
        )
    led_on = read.has("x", "X", "proxy", "e", "c", "exec", "sh-exec")
    if not read.has("z") and (led_on or not stays_here(call)):
        yield from _sends_stdin(call)
    yield from (rate_destination(text) for text in read.operands[:1])


def _socat(call: Call) -> Iterator[Rating]:
    text = " ".join(call.words).lower()
    network = re.search(r"(?:tcp|udp|openssl|ssl|sctp|socks)\d?(?:-listen|-connect|-l)?:|^-", text)
    if re.search(r"\b(?:exec|system|shell):", text):
        yield high("gives a shell to a network", ("network",))
    elif network and re.search(r"\b(?:file|open|gopen|create):", text):
        yield _SENDS
    yield from _sends_stdin(call)
    yield _TALKS


def _remote_path(text: str) -> bool:
    return bool(re.match(r"(?:[\w.-]+@)?[\w.\[\]:%-]*[\w.\]-]:(?!\\)", text)) or text.startswith(
        ("rsync://", "scp://", "sftp://")
    )


def _copies(call: Call) -> Iterator[Rating]:
    valued = "BTMfe" if call.name == "rsync" else "cDFiJloPSX"
    read = options(
        call.words,
        valued,
        ("rsh", "exclude", "include", "filter", "files-from", "rsync-path", "exclude-from", "include-from"),
    )
    operands = read.operands
    if any(
        text.lower().replace(" ", "").startswith(("proxycommand", "localcommand")) for text in read.all("o")
    ) or read.has("S"):
        yield high("runs a command in an option")
    if call.name == "rsync" and not any(_remote_path(text) for text in operands):
        if read.has("delete", "delete-before", "delete-after", "remove-source-files", "delete-excluded", "del"):
            yield medium("deletes")
        return
    if operands and _remote_path(operands[-1]):
        yield _SENDS
    elif operands and len(operands) > 1:
        yield _TALKS
        if not _remote_path(operands[-1]):
            yield rate_write(call, operands[-1])


def _ssh(call: Call) -> Iterator[Rating]:
    read = options(call.words, "BbcDEeFIiJLlmOopQRSWw", (), first=True)
    if read.has("R", "D", "w"):
        yield high("opens the machine to a network", ("network",))
    yield from _sends_stdin(call)
    if call.name == "sftp" and re.search(r"(?m)^[^\S\n]*+-?m?put\b", call.stdin or ""):
        yield _SENDS
    yield _NOWHERE if read.operands and ANY in read.operands[0] else _TALKS
    if any(DATA in word or SECRET in word for word in read.operands):
        yield _SENDS


def _names(call: Call) -> Iterator[Rating]:
    """Rate programs whose arguments are hosts or URLs: local content in these leaves the machine."""
    for text in call.words:
        if not text.startswith("-"):
            if DATA in text or SECRET in text:
                yield _SENDS
            elif ANY in text:
                yield _NOWHERE
            elif host(text) in _METADATA:
                yield rate_destination(text)
    yield from _sends_stdin(call)


def _http(call: Call) -> Iterator[Rating]:
    for text in call.words:
        if re.match(r"[\w\[\]-]+:?=?@.", text):
            yield _SENDS
    yield from _names(call)


def _s3(call: Call) -> Iterator[Rating]:
    words = [word for word in call.words if not word.startswith("-")]
    if (
        words[:2] in (["s3", "cp"], ["s3", "sync"], ["s3", "mv"])
        and words[-1].startswith("s3://")
        and not words[2].startswith("s3://")
    ):
        yield _SENDS
    if "put-object" in words or "update-function-code" in words:
        yield _SENDS


_SQLITE_RUNS = re.compile(r"(?m)^[^\S\n]*+\.(?:(?:once|output|excel|log|import)\s.*\||shell\b|system\b)|\bedit\s*\(")
_SQLITE_REACHES = re.compile(
    r"(?m)^[^\S\n]*+\.(?:load|read|open|once|output|import|restore|backup|save|clone)\b|file\s*\("
)


def _database(call: Call) -> Iterator[Rating]:
    for text in (*call.words, call.stdin or "") if call.name in ("sqlite3", "duckdb") else ():
        if _SQLITE_RUNS.search(text):
            yield high("runs a command in its own language")
        elif _SQLITE_REACHES.search(text):
            yield unknown("reads, writes or loads a file in its own language", ("outside",))
    for text in (*call.words, call.stdin or ""):
        if _DROPS.search(text):
            yield high("drops a database, or leaves it")
    if _stdin_is_local(call):
        yield medium("runs statements of a file", ("network",))


def _openssl(call: Call) -> Iterator[Rating]:
    if "s_client" in call.words:
        yield from _sends_stdin(call)


_RULES: dict[str, Callable[[Call], Iterator[Rating]]] = {
    "curl": _curl,
    "wget": _wget,
    "nc": _netcat,
    "socat": _socat,
    "websocat": _names,
    "scp": _copies,
    "rsync": _copies,
    "sftp": _ssh,
    "ssh": _ssh,
    "mosh": _ssh,
    "autossh": _ssh,
    "http": _http,
    "aws": _s3,
    "openssl": _openssl,
    **dict.fromkeys(
        [
            "dig",
            "nslookup",
            "host",
            "drill",
            "dog",
            "doggo",
            "kdig",
            "ping",
            "ping6",
            "traceroute",
            "whois",
            "telnet",
            "ftp",
            "tftp",
            "aria2c",
            "lynx",
            "w3m",
            "links",
            "elinks",
            "fetch",
            "axel",
        ],
        _names,
    ),
    **dict.fromkeys(
        ["psql", "mysql", "mongo", "mongosh", "sqlite3", "redis-cli", "cqlsh", "sqlcmd", "clickhouse-client", "duckdb"],
        _database,
    ),
}
_OWN = frozenset({"curl", "wget", "rsync", "http"})
"""Programs whose own rules also cover connections to this machine only."""
_CAPTURES = {"tcpdump": ("cr", "ASXenqtvx"), "tshark": ("ORTYcer", "2Vnqx")}
"""Options, with a value and without, that read a capture file and print it. Others write one, run code or listen."""


def rate_network(call: Call) -> Iterator[Rating]:
    """Rate a call by the network rules."""
    rule = _RULES.get(call.name)
    if rule is not None:
        yield from rule(call)
    for text in call.words:
        if _MINER.search(text):
            yield high("mines crypto money", ("network",))


def _reads_capture(call: Call) -> bool:
    valued, plain = _CAPTURES[call.name]
    read = options(call.words, valued)
    sure = all(known(word) and not word.startswith(("*", "?", "[")) for word in call.words)  # a file may be named `-z`
    return sure and read.has("r") and set(read.flags) <= {*valued, *plain}


def stays_here(call: Call) -> bool:
    """Return whether a network program only talks to this machine, or only reads a capture file."""
    if call.name in _CAPTURES:
        return _reads_capture(call)
    if call.name == "rsync":
        return not any(_remote_path(text) for text in call.words if not text.startswith("-"))
    if call.name in _OWN | {"nc", "ping", "telnet"}:
        if call.name == "curl":
            read = options(call.words, CURL_VALUED, CURL_LONG)
            places = [*read.operands, *read.all("url")]
        else:
            places = [text for text in call.words if not text.startswith("-")][: 1 if call.name == "nc" else None]
        return bool(places) and all(rate_destination(text) == _HERE for text in places)
    return False

"""`Requests`: the requests of Python code that may change what listens on this machine. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from .network_rules import host
from .python_names import NETWORK
from .python_receivers import Receivers
from .python_values import Values
from .request_rules import ANY_PORT, changing, local_port, port_number
from .shell_text import settled

_VERBS = frozenset({"post", "put", "patch", "delete"})
_METHOD_FIRST = frozenset({"request", "stream", "putrequest"})
_NAMED = frozenset({"urlopen", "Request", "get", "head", "options", "open"}) | _METHOD_FIRST
_RAW = frozenset({"send", "sendall", "sendto", "write", "writelines", "writestr"})
"""Methods of a socket, or of a stream that was made of one."""
_BODY = frozenset({"data", "json", "content", "files", "body"})
_CONNECTS = frozenset(
    {"connect", "connect_ex", "create_connection", "HTTPConnection", "HTTPSConnection", "open_connection", "Telnet"}
    | {"HTTPConnectionPool", "HTTPSConnectionPool"}
)
_STREAMS = frozenset({"open_connection", "makefile", "Telnet"})
_SETS = frozenset({"POST", "POSTFIELDS", "CUSTOMREQUEST", "UPLOAD", "PUT", "HTTPPOST"})
"""Options of `pycurl`."""
_OVERRIDES = re.compile(r"(?i)x-(?:http-)?method(?:-override)?\Z")
_WEB = re.compile(r"(?i)https?:")


class Requests:
    """The requests of one piece of code, noted call by call."""

    def __init__(self, values: Values) -> None:
        self._values, self._fold = values, values.fold
        self._sent: list[str] = []
        """The addresses of requests that may change something; "" if they are not known."""
        self._asked: list[tuple[ast.expr, str, str]] = []
        """The same of calls that are requests if their object is a client: the object, the method and the address."""
        self._read: list[str] = []
        """The addresses of requests that only read, unless a header says otherwise."""
        self._named: set[int] = set()
        """The ports of this machine that the code names."""
        self._connected: set[int] = set()
        """Those to which it connects."""
        self._anywhere = self._streams = self._hands_on = False
        """Whether it connects to what is not known, makes a stream of a connection, and hands on a function."""

    def name(self, url: str) -> None:
        """Note an address that the code names."""
        if (port := local_port(url)) is not None:
            self._named.add(ANY_PORT if url.endswith(":") else port)

    def note(self, node: ast.Call, name: str) -> None:
        """Note a call of the function `name`."""
        last = name.rpartition(".")[2]
        self._streams = self._streams or last in _STREAMS
        if last in _CONNECTS or (last == "sendto" and len(node.args) > 1):
            self._connects(node)
        if last in _VERBS:
            to = self._fold(self._argument(node, 0, "url"))
            if NETWORK.match(name):
                self._sent.append(to)
            elif isinstance(node.func, ast.Attribute) and (_is_address(to) or not settled(to)):
                self._asked.append((node.func.value, last, to))
        elif last in _NAMED:
            to = self._fold(self._argument(node, int(last in _METHOD_FIRST), "url"))
            client = bool(NETWORK.match(name) or _WEB.match(to))
            if (client or last != "open") and self._changes(node, last):
                self._sent.append(to)
            elif client:
                self._read.append(to)
        elif last in _RAW and node.args and isinstance(node.func, ast.Attribute):
            self._asked.append((node.func.value, last, ""))
        elif name.startswith("xmlrpc.") and last in ("ServerProxy", "Server"):
            self._sent.append(self._fold(self._argument(node, 0, "uri")))
        elif last == "setopt" and node.args and isinstance(node.args[0], ast.Attribute) and node.args[0].attr in _SETS:
            self._sent.append("")

    def hand_on(self, name: str) -> None:
        """Note a function `name` that is passed on without a call: other code may call it with any address."""
        if name.rpartition(".")[2] in _VERBS | {"request"} and NETWORK.match(name):
            self._sent.append("")
            self._hands_on = True

    def ports(self, nodes: Sequence[ast.AST], talks: bool) -> frozenset[int]:
        """Return the ports of this machine to which a request may be sent that may change something.

        `nodes` are all nodes of the code. `talks` says whether it uses a network library.
        """
        if not (self._sent or self._asked or self._read):
            return frozenset()
        sent, found = list(self._sent), set[int]()
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        here = any(local_port(text) is not None for text in texts if len(text) < 100)
        reached = self._connected | (self._named | ({ANY_PORT} if here else set()) if self._anywhere else set())
        receivers = Receivers(self._values, nodes) if self._asked else None
        for receiver, method, to in self._asked:
            raw, stream = method in _RAW, method.startswith("write")
            if (raw and not (self._connected or self._anywhere)) or (stream and not self._streams):
                continue
            if receivers is not None and receivers.may_talk(receiver, method):
                found |= reached if raw else set()
                sent += () if raw else (to,)
        if self._read and any(map(_OVERRIDES.match, texts)):
            sent += self._read
        for address in sent:
            if not _WEB.match(address):
                found |= self._named | self._connected if talks or self._hands_on else set()
            elif (port := local_port(address)) is not None:
                found.add(port)
            elif here and not settled(host(address)):
                found.add(ANY_PORT)
        return frozenset(found)

    def _connects(self, node: ast.Call) -> None:
        to, port = self._address(node)
        if not settled(to):
            self._anywhere = True
        elif (named := local_port(to)) is not None:
            self._connected.add(port if port is not None else named if ":" in to.strip("[]:") else ANY_PORT)

    def _changes(self, node: ast.Call, last: str) -> bool:
        if any(keyword.arg in _BODY and not _is_none(keyword.value) for keyword in node.keywords):
            return True
        if last in ("urlopen", "Request", "open"):
            given = self._argument(node, 1, "data")
            method = next((keyword.value for keyword in node.keywords if keyword.arg == "method"), None)
            return not (given is None or _is_none(given)) or (method is not None and changing([self._fold(method)]))
        return last in _METHOD_FIRST and changing([self._fold(self._argument(node, 0, "method"))])

    def _argument(self, node: ast.Call, place: int, name: str) -> ast.expr | None:
        if len(node.args) > place:
            return node.args[place]
        return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)

    def _address(self, node: ast.Call) -> tuple[str, int | None]:
        """Return the host and the port among the arguments of a call that connects."""
        given = [*node.args[:3], *(keyword.value for keyword in node.keywords if keyword.arg in ("host", "port"))]
        texts: list[str] = []
        for each in given:
            if isinstance(each, ast.Name) and each.id in self._values.lists:
                texts += self._values.lists[each.id]
            else:
                texts += map(self._fold, each.elts if isinstance(each, (ast.Tuple, ast.List)) else [each])
        port = next((port for text in texts if (port := port_number(text)) is not None), None)
        hosts = [text for text in texts if not text.isdecimal()]
        return next((text for text in hosts if local_port(text) is not None), hosts[0] if hosts else ""), port


def _is_address(text: str) -> bool:
    return bool(_WEB.match(text)) or text.startswith("/")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None

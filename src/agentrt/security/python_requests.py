"""`Requests`: the requests of Python code that may change what listens on this machine. Pure."""

from __future__ import annotations

import ast

from .python_names import LOOPBACK, NETWORK
from .python_values import Values
from .request_rules import ANY_PORT, SAFE, local_port
from .shell_text import settled

_VERBS = frozenset({"post", "put", "patch", "delete"})
_NAMED = frozenset({"request", "stream", "urlopen", "Request", "get", "head", "options"})
_RAW = frozenset({"send", "sendall", "sendto"})
"""Methods of a socket."""
_BODY = frozenset({"data", "json", "content", "files", "body"})
_CONNECTS = frozenset(
    {"connect", "connect_ex", "create_connection", "HTTPConnection", "HTTPSConnection", "open_connection"}
)
_SERVES = frozenset(
    {"bind", "HTTPServer", "ThreadingHTTPServer", "TCPServer", "ThreadingTCPServer", "create_server", "start_server"}
    | {"run", "run_simple", "make_server", "TCPSite", "TestServer", "WSGIServer", "serve"}
)


class Requests:
    """The requests of one piece of code, noted call by call."""

    def __init__(self, values: Values) -> None:
        self._fold = values.fold
        self._sent: list[str] = []
        """The addresses of requests that may change something; "" if they are not known."""
        self._named: set[int] = set()
        """The ports of this machine that the code names."""
        self._served: set[int] = set()
        """Those on which it listens itself."""

    def name(self, url: str) -> None:
        """Note an address that the code names."""
        if (port := local_port(url)) is not None:
            self._named.add(port)

    def note(self, node: ast.Call, name: str) -> None:
        """Note a call of the function `name`."""
        last = name.rpartition(".")[2]
        if last in _CONNECTS or last in _SERVES:
            host, port = self._address(node)
            if last in _SERVES:
                self._served |= {port} if port is not None else set()
            elif LOOPBACK.match(host):
                self._named.add(ANY_PORT if port is None else port)
        if last in _VERBS:
            to = self._fold(self._argument(node, 0, "url"))
            if NETWORK.match(name) or to.startswith(("http:", "https:", "/")) or not settled(to):
                self._sent.append(to)
        elif last in _NAMED and self._changes(node, last):
            self._sent.append(self._fold(self._argument(node, int(last in ("request", "stream")), "url")))
        elif last in _RAW and node.args:
            self._sent.append("")

    def ports(self) -> frozenset[int]:
        """Return the ports of this machine to which a request may be sent that may change something."""
        found: set[int] = set()
        for address in self._sent:
            if address.startswith(("http:", "https:")):
                port = local_port(address)
                found |= {port} if port is not None else set()
            else:
                found |= self._named
        found -= self._served
        return frozenset(found - {ANY_PORT} if self._served else found)

    def _changes(self, node: ast.Call, last: str) -> bool:
        if any(keyword.arg in _BODY and not _is_none(keyword.value) for keyword in node.keywords):
            return True
        if last in ("urlopen", "Request"):
            given = self._argument(node, 1, "data")
            method = next((keyword.value for keyword in node.keywords if keyword.arg == "method"), None)
            return not (given is None or _is_none(given)) or (method is not None and self._is_changing(method))
        return last in ("request", "stream") and self._is_changing(self._argument(node, 0, "method"))

    def _is_changing(self, method: ast.expr | None) -> bool:
        return self._fold(method).upper() not in SAFE

    def _argument(self, node: ast.Call, place: int, name: str) -> ast.expr | None:
        if len(node.args) > place:
            return node.args[place]
        return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)

    def _address(self, node: ast.Call) -> tuple[str, int | None]:
        """Return the host and the port among the arguments of a call that connects or listens."""
        given = [*node.args[:3], *(keyword.value for keyword in node.keywords if keyword.arg in ("host", "port"))]
        parts = [part for each in given for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
        texts = [self._fold(part) for part in parts]
        port = next((int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 6), None)
        return next((text for text in texts if not text.isdecimal()), ""), port


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None

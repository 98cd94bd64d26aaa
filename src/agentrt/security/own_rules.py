"""Rules for access to the runtime itself: an agent that calls its server or uses its library could answer for a person.

Like all rules, these are no security boundary: the server requires a token or a key. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from .calls import Call, names
from .paths import Site
from .rating import Rating
from .verdicts import high

_HERE = (
    r"(?:(?<![\w.])(?:localhost|ip6-localhost|host\.docker\.internal|0?127(?:\.\d{1,3}){1,3}|0177[.\d]*|0\.0\.0\.0|0x7f\w*"
    r"|2130706433|0)|\[?::(?:ffff:[\w.:]+|1)?\]?)"
)
_BETWEEN = r"""["']?\s*[:,\s/]\s*(?:port\s*=\s*)?["']?"""
_TALKS = names(
    "curl wget http https httpie xh nc ncat netcat socat telnet openssl websocat wscat ab wrk hey siege k6 lynx w3m"
    " links python perl ruby node php lua deno bun java go tclsh expect bash sh"
)
"""Programs that may talk to a server. Others, such as `grep`, only name its address."""
_SERVER = high("asks the server that runs this conversation", ("network",))
USES_LIBRARY = high("uses agentrt, and may change conversations, rules and keys")


def rate_own(call: Call) -> Iterator[Rating]:
    """Rate a call that may be a request to the server that runs the conversation."""
    if call.where.own.ports and call.name in _TALKS:
        yield from rate_requests(" ".join((call.name, *call.words, call.stdin or "")), call.where)


def rate_requests(text: str, where: Site) -> Iterator[Rating]:
    """Rate text that names the address of this server."""
    if where.own.ports and _address(where.own.ports).search(text):
        yield _SERVER


@lru_cache(maxsize=16)
def _address(ports: tuple[int, ...]) -> re.Pattern[str]:
    return re.compile(rf"{_HERE}{_BETWEEN}0*(?:{'|'.join(map(str, ports))})(?!\w)")

"""The headers of a call to a model. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import BadModelRequest

_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})
"""Headers that the HTTP client sets itself."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header (RFC 9110, 5.6.2)."""


def headers_of(
    speaks: str, key: str | None, sent: Mapping[str, str], extra: Mapping[str, str], named: str
) -> dict[str, str]:
    """Return the headers of a call to a provider that `speaks` a format: that of the `key`, those that the format has
    `sent`, and the user's `extra` ones, which take precedence. `named` says where the key comes from.

    Raises `BadModelRequest` for an invalid header.
    """
    own = _of_key(speaks, key)
    headers = {"content-type": "application/json", **own, **sent}
    headers |= {name.lower(): value for name, value in extra.items()}
    if "authorization" in headers and "x-api-key" in headers and speaks == "anthropic":
        del headers["x-api-key"]
    given = {name.lower() for name in extra}
    for name, value in headers.items():
        if name in _FRAMING or not _TOKEN.fullmatch(name):
            raise BadModelRequest(f"the header {name!r} cannot be sent: leave it out of extra_headers")
        if not (value.isascii() and value.isprintable()):
            whose = "its value in extra_headers" if name in given else named
            raise BadModelRequest(f"the header {name!r} cannot be sent: {whose} has characters that no header may have")
    return headers


def _of_key(speaks: str, key: str | None) -> dict[str, str]:
    if key is None:
        return {}
    match speaks:
        case "anthropic":
            return {"x-api-key": key}
        case "gemini":
            return {"x-goog-api-key": key}
        case _:
            return {"authorization": f"Bearer {key}"}

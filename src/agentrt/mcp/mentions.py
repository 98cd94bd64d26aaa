"""Mentions in a message: a resource, `@server:uri`, or a prompt, `/server:prompt name=value`. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

MOST = 10
"""Maximum number of resources that one message names."""

_RESOURCE = re.compile(r"(?<!\S)@([A-Za-z0-9][\w.-]*):(\S+)")
_PROMPT = re.compile(r"\s*/([A-Za-z0-9][\w.-]*):([\w./-]+)(?:\s+(.*))?", re.DOTALL)


def resources_in(text: str, servers: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the resources that a text names, each once, as a server and a URI."""
    found = ((match[1], match[2].rstrip(".,;:!?)'\"")) for match in _RESOURCE.finditer(text))
    return tuple(dict.fromkeys((server, uri) for server, uri in found if server in servers and uri))[:MOST]


def prompt_in(text: str, servers: Collection[str]) -> tuple[str, str, dict[str, str]] | None:
    """Return the prompt that a text begins with: its server, its name and its arguments; None if there is none."""
    match = _PROMPT.match(text)
    if match is None or match[1] not in servers:
        return None
    try:
        words = shlex.split(match[3] or "")
    except ValueError:  # a quote that is not closed
        words = (match[3] or "").split()
    pairs = (word.partition("=") for word in words if "=" in word)
    return match[1], match[2], {name: value for name, _, value in pairs if name}

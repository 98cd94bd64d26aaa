"""What a shell has as its environment."""

from __future__ import annotations

import re
from collections.abc import Mapping

QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "HISTFILE": "/dev/null"}
"""Variables of a shell whose output nobody pages through."""

_SECRET = re.compile(
    r"(?:^|_)(?:\w*KEY|TOKEN|PAT|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)", re.IGNORECASE
)


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a shell: that of the process without what looks like a secret, and quiet terminals."""
    return {**{name: value for name, value in base.items() if not _SECRET.search(name)}, **QUIET}

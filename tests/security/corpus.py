"""The corpora: attacks with the rating that each must get, and harmless calls that nobody must be asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from agentrt.events import ActionEvent
from agentrt.security.rating import Scene
from agentrt.specs import LocalWorkspace, SecurityRisk

SCENE = Scene(LocalWorkspace("/home/me/project"), "/home/me/project")
_HERE = Path(__file__).parent


class Case(msgspec.Struct, frozen=True):
    """One call; `risk` is None where anything but HIGH and UNKNOWN will do."""

    tool: str
    arguments: dict[str, Any]
    risk: SecurityRisk | None = None
    why: str = ""
    source: str = ""


def cases(name: str) -> list[Case]:
    """All cases of a corpus."""
    return [msgspec.json.decode(line, type=Case) for line in (_HERE / name).read_bytes().splitlines()]


def call(tool: str, /, **arguments: object) -> ActionEvent:
    """An action of a model."""
    return ActionEvent(
        tool_name=tool,
        tool_call_id="call",
        arguments=msgspec.Raw(msgspec.json.encode(arguments)),
        llm_response_id="reply",
    )

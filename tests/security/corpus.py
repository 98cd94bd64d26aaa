"""The corpora: attacks with the rating that each must get, and harmless calls that nobody must be asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from agentrt.events import ActionEvent
from agentrt.security import rules
from agentrt.security.rating import Rating, Scene
from agentrt.specs import LocalWorkspace, SecurityRisk, Tool
from agentrt.tools import BUILT_IN, Tools

SCENE = Scene(LocalWorkspace("/home/me/project"), "/home/me/project", listening=frozenset({5000, 8000}))
"""The conversation has started servers of its own, on two ports."""
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


_BUILT_IN = Tools(list(map(Tool, BUILT_IN)), BUILT_IN, SCENE.workspace)


def rate_action(action: ActionEvent, scene: Scene) -> Rating:
    """The rating of an action of a built-in tool, or of one that does not say what it does."""
    return rules.rate_action(action, _with_effects(action, scene))


def written(action: ActionEvent, scene: Scene) -> dict[str, str]:
    """The same of what it writes."""
    return rules.written(action, _with_effects(action, scene))


def _with_effects(action: ActionEvent, scene: Scene) -> Scene:
    return replace(scene, effects=_BUILT_IN.effects(action.tool_name, action.arguments_json))


def call(tool: str, /, **arguments: object) -> ActionEvent:
    """An action of a model."""
    return ActionEvent(
        tool_name=tool,
        tool_call_id="call",
        arguments_json=msgspec.Raw(msgspec.json.encode(arguments)),
        llm_response_id="reply",
    )

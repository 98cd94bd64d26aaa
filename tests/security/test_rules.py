"""The rating of actions by their tool and arguments."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.events import ActionEvent
from agentrt.security.rules import rate_action
from agentrt.specs import LocalWorkspace, SecurityRisk

WORKSPACE = LocalWorkspace("/home/me/project")


def rate(tool: str, **arguments: object) -> tuple[SecurityRisk, str]:
    action = ActionEvent(
        tool_name=tool,
        tool_call_id="call",
        arguments=msgspec.Raw(msgspec.json.encode(arguments)),
        llm_response_id="reply",
    )
    return rate_action(action, WORKSPACE)


@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("ls", SecurityRisk.LOW),
        ("rm x", SecurityRisk.MEDIUM),
        ("rm -rf x", SecurityRisk.HIGH),
        ("'", SecurityRisk.UNKNOWN),
    ],
)
def test_a_terminal_call_is_rated_by_its_command(command: str, risk: SecurityRisk) -> None:
    assert rate("terminal", command=command, timeout=5)[0] is risk


def test_viewing_is_low_wherever() -> None:
    assert rate("file_editor", command="view", path="/usr/include/stdio.h") == (SecurityRisk.LOW, "only reads")


@pytest.mark.parametrize("command", ["create", "str_replace", "insert", "undo_edit"])
def test_edits_inside_the_workspace_are_low(command: str) -> None:
    for path in ("/home/me/project/a.py", "/home/me/project/sub/../b.py", "/home/me/other/../project/c.py"):
        assert rate("file_editor", command=command, path=path) == (SecurityRisk.LOW, "edits inside the workspace")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/home/me/project2/a",
        "/home/me/project/../other",
        "/home/me",
        "//etc/passwd",
        "/home/me/project/../../you/a",
    ],
)
def test_edits_outside_the_workspace_are_medium(path: str) -> None:
    assert rate("file_editor", command="create", path=path) == (SecurityRisk.MEDIUM, "edits outside the workspace")


@pytest.mark.parametrize("path", ["a.py", "", "../other", "~/x"])
def test_a_path_that_will_be_refused_is_low(path: str) -> None:
    assert rate("file_editor", command="create", path=path)[0] is SecurityRisk.LOW


@given(st.lists(st.sampled_from(["..", ".", "a", "", "project"]), max_size=8))
def test_only_what_stays_inside_is_called_inside(parts: list[str]) -> None:
    place: list[str] = []
    for part in ["home", "me", "project", *parts]:
        if part == "..":
            place = place[:-1]
        elif part not in ("", "."):
            place.append(part)
    inside = place[:3] == ["home", "me", "project"]
    risk, _ = rate("file_editor", command="create", path="/home/me/project/" + "/".join(parts))
    assert risk is (SecurityRisk.LOW if inside else SecurityRisk.MEDIUM)


@pytest.mark.parametrize("tool", ["think", "finish", "task_tracker"])
def test_tools_that_touch_nothing_are_low(tool: str) -> None:
    assert rate(tool, anything="x") == (SecurityRisk.LOW, "touches nothing")


def test_a_tool_without_rules_is_unknown() -> None:
    assert rate("deploy", target="production") == (SecurityRisk.UNKNOWN, "no rule for this tool")


@pytest.mark.parametrize(
    ("tool", "arguments"), [("terminal", {}), ("terminal", {"command": 5}), ("file_editor", {"command": "create"})]
)
def test_arguments_of_no_call_are_an_error_and_not_a_rating(tool: str, arguments: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        rate(tool, **arguments)

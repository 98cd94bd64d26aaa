"""An agent as its file says it: each field, and what cannot be."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

import pytest

from agentrt.errors import ConfigurationError
from agentrt.sources.agent_files import agent_of, find_agents
from agentrt.sources.text import Reader
from agentrt.specs import Hook, HookEvent

from .test_skills import write

pytestmark = pytest.mark.pure


def read(header: str, body: str = "You dig.") -> Any:
    return agent_of(f"---\n{header}\n---\n{body}\n", PurePath("/w/.agents/agents/digger.md"))[0]


@pytest.mark.parametrize(
    ("header", "field", "value"),
    [
        ("name: other", "name", "other"),
        ("description: Digs", "name", "digger"),
        ("description: >\n  Digs\n  deep", "description", "Digs deep"),
        ("color: blue", "prompt", "You dig."),
        ("tools: Bash, Read", "tools", ("Bash", "Read")),
        ("tools: []", "tools", ()),
        ("name: a", "tools", None),
        ("model: fast", "model", "fast"),
        ("name: a", "model", "inherit"),
        ("skills: [pdf]", "skills", ("pdf",)),
        ("limits: {max_steps: 5, max_cost: 0.5}", "max_cost", 0.5),
        ("max_iteration_per_run: 7", "max_steps", 7),
        ("max_budget_per_run: 1", "max_cost", 1.0),
        ("permission_mode: confirm_risky", "permission_mode", "confirm_risky"),
        ("mcp_servers: {files: {command: x}}", "servers", ("files",)),
        ("mcp_config: {mcpServers: {files: {}}}", "servers", ("files",)),
        ("condenser: {max_size: 80}", "condenser", {"max_size": 80}),
        ("hooks: {Stop: []}", "hooks", ()),
        (
            "hooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: x}]}]}",
            "hooks",
            (Hook(event=HookEvent.BEFORE_TOOL, command="x", matcher="Bash"),),
        ),
    ],
)
def test_each_field_is_read(header: str, field: str, value: Any) -> None:
    assert getattr(read(header), field) == value


@pytest.mark.parametrize(
    ("header", "body", "says"),
    [
        ("name: ../x", "b", "invalid name of an agent"),
        ("permission_mode: yolo", "b", "permission_mode is one of"),
        ("name: a", "  ", "needs instructions"),
        ("limits: {max_steps: 0}", "b", "steps must be 1 or more"),
        ("max_budget_per_run: -1", "b", "USD 0 or more"),
        ("tools: 5", "b", "cannot be used"),
    ],
)
def test_one_that_cannot_be_says_why(header: str, body: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        read(header, body)


@pytest.mark.simulated
def test_the_first_directory_counts(tmp_path: Path) -> None:
    for place in ("a", "b"):
        write(tmp_path / place / "x.md", f"---\nname: x\ndescription: {place}\n---\nBody")
    write(tmp_path / "a/README.md", "About.")
    write(tmp_path / "a/broken.md", "---\nname: [\n---\n")
    reader = Reader()
    found = find_agents([tmp_path / "a", tmp_path / "b"], reader, "user")
    assert {name: (agent.description, agent.origin) for name, agent in found.items()} == {"x": ("a", "user")}
    assert sorted(Path(problem.path).parent.name for problem in reader.problems) == ["a", "b"]


@pytest.mark.simulated
def test_a_field_that_seems_to_be_misspelt_is_told(tmp_path: Path) -> None:
    write(tmp_path / "x.md", "---\npermissionMode: confirm_risky\nskils: [pdf]\ncolor: blue\n---\nBody")
    reader = Reader()
    find_agents([tmp_path], reader, "user")
    assert [problem.what for problem in reader.problems] == [
        "'permissionMode' is not a field: 'permission_mode' seems to be meant",
        "'skils' is not a field: 'skills' seems to be meant",
    ]

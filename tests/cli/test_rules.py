"""`agentrt rules`, in this process."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner

from agentrt.cli.main import commands
from agentrt.errors import WorkspaceMissing
from agentrt.specs import PermissionRule
from tests.stores import rules_in

pytestmark = pytest.mark.simulated


def rules(tmp_path: Path, *words: str) -> tuple[int, str, str]:
    """The exit code, what is said, and what is complained of."""
    place = ["--workspace", str(tmp_path), "--store", str(tmp_path / "store")]
    ran = CliRunner().invoke(commands, ["rules", *place, *words], catch_exceptions=False)
    return ran.exit_code, ran.stdout, ran.stderr


def test_rules_are_added_listed_and_removed(tmp_path: Path) -> None:
    assert rules(tmp_path) == (0, f"no rules are remembered for {tmp_path}\n", "")
    assert rules(tmp_path, "add", "deny", "terminal", "*git push*")[:2] == (
        0,
        '1  deny terminal, command like "*git push*"\n',
    )
    rules(tmp_path, "add", "allow", "file_editor")
    rules(tmp_path, "add", "allow", "file_editor")
    assert rules(tmp_path)[1].splitlines() == ['1  deny terminal, command like "*git push*"', "2  allow file_editor"]
    assert anyio.run(rules_in, tmp_path / "store", tmp_path) == (
        PermissionRule("deny", "terminal", "*git push*", "command"),
        PermissionRule("allow", "file_editor"),
    )
    assert rules(tmp_path, "remove", "1")[1] == "1  allow file_editor\n"
    assert rules(tmp_path, "remove", "1")[1] == "no rules are left\n"


def test_wrong_words_are_said(tmp_path: Path) -> None:
    code, _, said = rules(tmp_path, "remove", "1")
    assert (code, "no rule 1: 'agentrt rules' lists the rules" in said) == (2, True)
    assert "'perhaps' is not one of 'allow', 'ask', 'deny'" in rules(tmp_path, "add", "perhaps", "terminal")[2]
    assert rules(tmp_path, "add", "ask", "mcp_search")[1:] == (
        "1  ask mcp_search\n",
        "note: 'mcp_search' is not a built-in tool\n",
    )
    with pytest.raises(WorkspaceMissing):
        rules(tmp_path / "nowhere")

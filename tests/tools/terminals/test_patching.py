"""Patches that a model gives to the shell."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from agentrt.errors import ToolError
from agentrt.specs import LocalWorkspace, Tool
from agentrt.specs.content import plain
from agentrt.tools.definition import Tools
from agentrt.tools.terminals.patching import typed_patch
from agentrt.tools.terminals.terminal import Terminal, TerminalAction
from agentrt.tools.terminals.terminal import terminal as terminal_tool

from ..context import FakeContext

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: new/b.txt\n+$HOME\n*** End Patch\n"
TYPED = f"apply_patch <<'EOF'\n{PATCH}EOF"


@pytest.mark.pure
@pytest.mark.parametrize("command", [TYPED, f"\n{TYPED}\n", TYPED.replace("'EOF'", "EOF"), TYPED.replace("<<", "<<-")])
def test_a_patch_is_found(command: str) -> None:
    assert typed_patch(command) == PATCH


@pytest.mark.pure
@pytest.mark.parametrize(
    "command", ["apply_patch a.diff", f"{TYPED}\nls", f"ls && {TYPED}", f"cat <<'EOF'\n{PATCH}EOF", TYPED[:-3]]
)
def test_what_is_more_than_a_patch_is_left_to_the_shell(command: str) -> None:
    assert typed_patch(command) is None


@pytest.mark.pure
def test_it_says_what_it_writes() -> None:
    tools = Tools([Tool("terminal")], {"terminal": terminal_tool}, LocalWorkspace("/w"))
    arguments = msgspec.Raw(msgspec.json.encode({"command": TYPED}))
    effects = tools.effects("terminal", arguments)
    assert effects is not None
    assert ([file.path for file in effects.files], effects.runs) == (["/w/a.txt", "/w/new/b.txt"], ())
    assert tools.changes("terminal", arguments) == ("/w/a.txt", "/w/new/b.txt")


@pytest.mark.real
async def test_it_is_applied_where_the_paths_mean_what_was_rated(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "below").mkdir()
    context, terminal = FakeContext(tmp_path), Terminal({})
    done = await terminal(TerminalAction(TYPED), context)
    assert (done.exit_code, done.working_dir) == (0, str(tmp_path))
    assert plain(done.content).startswith("Done:\nM ")
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert (tmp_path / "new" / "b.txt").read_text() == "$HOME\n"
    with pytest.raises(ToolError, match="nothing was changed"):
        await terminal(TerminalAction(TYPED), context)
    await terminal(TerminalAction("cd below"), context)
    with pytest.raises(ToolError, match="Go back with 'cd "):
        await terminal(TerminalAction(TYPED), context)
    await terminal.aclose()

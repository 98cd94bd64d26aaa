"""Help stands in groups: each command and each option of a long list in one of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from agentrt.cli.help import COMMANDS, FEW, OPTIONS
from agentrt.cli.main import commands

LONG = [name for name, one in commands.commands.items() if len(one.params) > FEW]


def told(*words: str) -> str:
    return CliRunner().invoke(commands, [*words, "--help"], terminal_width=100).output


@pytest.mark.pure
def test_each_command_is_in_one_group() -> None:
    named = [name for names in COMMANDS.values() for name in names]
    assert sorted(named) == sorted(commands.commands)
    shown = told()
    assert "Other commands" not in shown
    assert [line[:-1] for line in shown.splitlines() if line[:-1] in COMMANDS] == list(COMMANDS)


@pytest.mark.pure
@pytest.mark.parametrize("name", LONG)
def test_each_option_of_a_long_list_is_in_one_group(name: str) -> None:
    grouped = [option for options in OPTIONS.values() for option in options]
    assert len(grouped) == len(set(grouped))
    shown = told(name)
    for parameter in commands.commands[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.name in grouped
            assert max(parameter.opts, key=len) in shown
    rest = shown.partition("Other options:\n")[2].split()
    assert rest[:2] == ["-h,", "--help"]


@pytest.mark.pure
def test_a_short_list_is_not_split() -> None:
    assert "Options:" in told("rename")
    assert "Conversation:" not in told("resume")


@pytest.mark.real
def test_bash_completes() -> None:
    """As docs/command-line.md has it set up."""
    program = """
        eval "$(_AGENTRT_COMPLETE=bash_source agentrt)"
        COMP_WORDS=(agentrt run --pre) COMP_CWORD=2
        _agentrt_completion agentrt
        printf "%s\\n" "${COMPREPLY[@]}"
    """
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    made = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert made.stdout == "--preset\n"

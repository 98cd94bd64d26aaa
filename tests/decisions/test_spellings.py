"""The commands in a shell text, as rules that deny or ask see them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.decisions.permissions import matches
from agentrt.decisions.spellings import commands_in
from agentrt.events import ActionEvent
from agentrt.specs import PermissionRule
from agentrt.tools import BUILT_IN
from tests import samples

pytestmark = pytest.mark.pure

TERMINAL = BUILT_IN["terminal"].definition


def called(command: str) -> ActionEvent:
    return replace(samples.action("terminal"), arguments_json=msgspec.Raw(msgspec.json.encode({"command": command})))


@pytest.mark.parametrize(
    "text",
    [
        "rm x",
        "ls && rm x",
        "ls;rm x",
        "ls\nrm\tx",
        "/bin/rm x",
        "\\rm x",
        "(rm x)",
        "echo $(rm x)",
        "echo `rm x`",
        "env A=b rm x",
        "A=b rm x",
        "timeout -k 5 10s rm x",
        "sudo -n nice -n 5 rm x",
        "if true; then rm x; fi",
        "while rm x; do :; done",
        "bash -lc 'ls; rm x'",
        'eval "rm x"',
        "echo x | xargs -r rm x",
        "rm \\\n x",
    ],
)
def test_a_rule_that_denies_sees_each_command(text: str) -> None:
    assert "rm x" in list(commands_in(text))
    action = called(text)
    for verdict in ("deny", "ask"):
        assert matches(PermissionRule(verdict, "terminal", "rm *", "command"), action, TERMINAL)
        assert matches(PermissionRule(verdict, "*", "rm *"), action, TERMINAL)
    assert matches(PermissionRule("allow", "terminal", "rm *", "command"), action, TERMINAL) is (text == "rm x")


@pytest.mark.parametrize("text", ["git commit -m 'rm x'", "echo rm x", "form x", "rmdir x", "cat rm.txt", "a=rm; $a x"])
def test_words_that_are_no_command_are_none(text: str) -> None:
    action = called(text)
    assert not matches(PermissionRule("deny", "terminal", "rm *", "command"), action, TERMINAL)


@given(st.text())
def test_any_text_has_commands_or_none(text: str) -> None:
    assert all(command.split()[0] for command in commands_in(text))

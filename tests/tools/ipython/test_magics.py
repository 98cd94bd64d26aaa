"""What a cell runs, as it is rated."""

from __future__ import annotations

import ast

import pytest

from agentrt.specs.effects import Source
from agentrt.tools.ipython.magics import effects_of


def python(code: str) -> Source:
    return Source(code, "python")


@pytest.mark.parametrize(
    ("code", "runs"),
    [
        ("x = 1", (python("x = 1"),)),
        ("!rm -rf /", (python("pass"), Source("rm -rf /"))),
        ("if x:\n    files = !ls -l\n", (python("if x:\n    pass"), Source("ls -l"))),
        ("!!git push", (python("pass"), Source("git push"))),
        ("%pip install x", (python("pass"), Source("pip install x"))),
        ("%%bash\ngit push\n", (Source("git push\n"),)),
    ],
)
def test_shell_commands_are_commands(code: str, runs: tuple[Source, ...]) -> None:
    assert effects_of(code).runs == runs


@pytest.mark.parametrize("code", ["%run x.py", "%%javascript\nalert(1)", "?print", "%timeit f()"])
def test_what_is_not_known_is_no_python(code: str) -> None:
    (source,) = effects_of(code).sources
    with pytest.raises(SyntaxError):
        ast.parse(source.text)

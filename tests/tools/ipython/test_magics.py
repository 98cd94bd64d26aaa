"""What a cell runs, as it is rated."""

from __future__ import annotations

import pytest

from agentrt.specs.effects import Source
from agentrt.tools.ipython.magics import effects_of

pytestmark = pytest.mark.pure


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


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("%sx touch a", "touch a"),
        ("x = %sx touch a", "touch a"),
        ("x[0] = !touch a", "touch a"),
        ("%%sx touch a\ntouch b", "touch a\ntouch b"),
        ("%time !touch a", "touch a"),
        ("%%time\n!touch a", "touch a"),
        ("%timeit -n 3 f()", "python -c 'f()'"),
        ("%%script --bg sh\ntouch a", "touch a"),
        ("%%script /bin/bash\ntouch a", "touch a"),
        ("%%perl\nunlink", "perl \nunlink"),
        ("%run x.py", "python x.py"),
        ("%env PATH=/x", "export PATH=/x"),
        ("%nobody knows", "nobody knows"),
        ("get_ipython().system('touch a')", "get_ipython().system('touch a')"),
        ("def f(:", "def f(:"),
    ],
)
def test_what_a_magic_runs_is_a_command(code: str, command: str) -> None:
    assert effects_of(code).sources[-1] == Source(command)


@pytest.mark.parametrize(
    "code", ["a % b", "x = a %b", "print('%s' % x)", "print?", "?print", "%matplotlib inline", "await f()"]
)
def test_what_is_python_alone_runs_nothing_else(code: str) -> None:
    assert [source.language for source in effects_of(code).sources] == ["python"]


def test_files_that_a_cell_writes() -> None:
    (written,) = effects_of("%%writefile /etc/x\nhello\n").files
    assert (written.path, written.text) == ("/etc/x", "hello\n")
    assert effects_of("create_file('/etc/cron.d/x')").writes == ("/etc/cron.d/x",)

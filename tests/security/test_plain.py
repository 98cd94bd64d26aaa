"""What plainly only reads, and what does not, however it is written."""

from __future__ import annotations

import pytest

from agentrt.security.plain import plainly_read
from agentrt.specs.effects import Effects, Source

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    "command",
    [
        "ls -la | head -3; cat a.txt && wc -l *.py",
        "cat a.txt\nls",
        'echo "a; rm -rf x"',
        "grep -rn foo . || true",
        "find . -name '*.py'",
        "sort -r names.txt",
        "rg pattern src",
        "",
    ],
)
def test_what_only_reads(command: str) -> None:
    assert plainly_read(Effects(runs=(command,))) is not None


@pytest.mark.parametrize(
    "command",
    [
        "ls\nrm x",
        "ls & rm x",
        "ls; rm x",
        "ls | tee x",
        "cat a > b",
        "cat $(rm x)",
        "echo `rm x`",
        "echo $HOME",
        "FOO=1 ls",
        "./ls",
        "/tmp/ls",
        "find . -delete",
        "find . -exec rm {} +",
        "sort -o a b",
        "sort -ro a b",
        "sort --output=a b",
        "printf -v PATH x",
        "rg --pre ./x .",
        "tree -o x",
        "git status",
        "python -c pass",
        "echo 'a",
        "ls \\\nrm",
        "{ ls; }",
        "(ls)",
        "! ls",
        "ls\rrm x",
        "env ls",
        "cd / && cat x",
        "grep -f/etc/passwd x",
        "grep --file=~/x x",
    ],
)
def test_what_may_do_more(command: str) -> None:
    assert plainly_read(Effects(runs=(command,))) is None


def test_what_is_typed_and_other_languages_may_do_more() -> None:
    assert None is plainly_read(Effects(runs=(Source("ls", typed=True),)))
    assert None is plainly_read(Effects(runs=(Source("1", language="python"),)))
    assert None is plainly_read(Effects(runs=("ls", "rm x")))
    assert plainly_read(Effects(reads=("a",))) == ()
    assert plainly_read(Effects(runs=("cat a -n | head b",))) == ("a", "b")

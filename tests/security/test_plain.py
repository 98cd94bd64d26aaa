"""What plainly only reads, and what does not, however it is written."""

from __future__ import annotations

import pytest

from agentrt.security.plain import Word, plainly_read
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
        "ls x 2>/dev/null",
        "ls x 2>&1 | head",
        "grep 'foo(' x; grep -n '\\w+$' x",
        "head -20 a; tail -n 3 a",
        "find . -type f -name '*.py' | sort | head",
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
        "find . ';' ls -exec sh evil.sh ';'",
        "sort a ';' ls -o Makefile",
        "sort --compress-prog=sh -S 1 a",
        "sort --outp=Makefile a",
        "find . -exe? sh evil.sh ';'",
        "find . -d*",
        "printf '%n' PATH",
        "cat [^x]ink",
        "diff --from-file=link a",
        "wc --files0-from=link",
        "grep -R x .",
        "rg -L x .",
        "ls -LR .",
        "find -L .",
        "cat a 2> b",
        "cat a 2>/dev/nullb",
        "cat a 2>/dev/null>b",
        "ls x 2>&1>b",
        "l*",
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
    assert plainly_read(Effects(runs=("cat a -n | head b*",))) == (Word("a"), Word("b*", is_pattern=True))

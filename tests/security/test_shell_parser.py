"""The command tree, and what becomes of words."""

from __future__ import annotations

import pytest

from agentrt.security.budget import Budget, TooDeep
from agentrt.security.paths import site
from agentrt.security.shell_parser import parse
from agentrt.security.shell_reader import MAX_DEPTH
from agentrt.security.shell_scope import Scope
from agentrt.security.shell_text import ANY, FACT
from agentrt.security.shell_tree import Block, Pipeline, Redirect, Script, Simple
from agentrt.security.shell_words import expand

pytestmark = pytest.mark.pure


def fields(source: str, **variables: str) -> list[str]:
    """The words of one simple command, as the shell would make them."""
    (step,) = parse(source).script.steps
    assert isinstance(step, Simple)
    scope = Scope(site("/home/me/project", "/home/me/project"), Budget(0))
    for name, value in variables.items():
        scope.assign(name, (value,))
    found: list[str] = []
    for word in step.words:
        (some,) = expand(word, scope, _print_nothing)
        found.extend(some)
    return found


def _print_nothing(script: Script) -> tuple[str, ...]:
    return ("",)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("a 'b  c' \"d  e\"", ["a", "b  c", "d  e"]),
        ("a b\\ c", ["a", "b c"]),
        ("a''b\"c\"d", ["abcd"]),
        ("a '' \"\"", ["a", "", ""]),
        ("$'\\x72\\155'", ["rm"]),
        ("$'\\u0072m'", ["rm"]),
        ('$"a"', ["a"]),
        ("x {a,b}c x{1,2{3,4}}", ["x", "ac", "bc", "x1", "x23", "x24"]),
        ("x {a..c}", ["x", "a", "b", "c"]),
        ("x {1..9}", ["x", FACT]),
        ("'{a,b}' {a} {}", ["{a,b}", "{a}", "{}"]),
        ("~ ~/x ~you '~'", ["/home/me", "/home/me/x", "/home/you", "~"]),
        ('$v x$v "$v"', ["a", "b", "xa", "b", "a b"]),
        ("${v} ${v:0:1} ${v^^} ${v%b} ${v#a} ${v/a/c}", ["a", "b", "a", "A", "B", "a", "b", "c", "b"]),
        ("${#v} $# $? $((1+2))", [FACT, FACT, FACT, FACT]),
        ('$unset "$unset"', [ANY, ANY]),
        ("a`true`b c$(true)d", ["ab", "cd"]),
        ("r\\\nm", ["rm"]),
        ('"a\\"b\\$c\\d"', ['a"b$c\\d']),
    ],
)
def test_words(source: str, words: list[str]) -> None:
    assert fields(source, v="a b") == words


def test_a_default_leaves_both_values() -> None:
    (step,) = parse("${w:-y}").script.steps
    assert isinstance(step, Simple)
    assert expand(step.words[0], Scope(site("/home/me/project", "/home/me/project"), Budget(0)), _print_nothing) == (
        (ANY,),
        ("y",),
    )


def test_redirections_belong_to_the_last_command() -> None:
    (step,) = parse("a | b > c 2>&1").script.steps
    assert isinstance(step, Pipeline)
    first, last = step.stages
    assert isinstance(first, Simple)
    assert isinstance(last, Simple)
    assert not first.redirects
    assert [redirect.operator for redirect in last.redirects] == [">", ">&"]


def test_a_here_document_is_text_and_its_pipe_goes_on() -> None:
    (step,) = parse("cat <<'E' | sh\nx $y\nE\n").script.steps
    assert isinstance(step, Pipeline)
    first = step.stages[0]
    assert isinstance(first, Simple)
    (redirect,) = first.redirects
    assert isinstance(redirect, Redirect)
    assert redirect.operator == "<<"
    assert [getattr(part, "text", "") for part in redirect.target.parts] == ["x $y\n"]


def test_a_subshell_is_one() -> None:
    (step,) = parse("(a; b)").script.steps
    assert isinstance(step, Block)
    assert step.subshell


@pytest.mark.parametrize("source", ["'", '"a', "if a; then", "a <<A <<B", "(", "a )"])
def test_what_cannot_be_read_is_broken(source: str) -> None:
    assert parse(source).broken


def test_nesting_has_an_end() -> None:
    with pytest.raises(TooDeep):
        parse("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH)


@pytest.mark.parametrize("wide", ["\u0661", "\u20ac", "\U0001f600", "\U0010129a", "\U000f56ba"])
def test_wide_characters_are_letters_of_words_whatever_stands_before_them(wide: str) -> None:
    for text in (f"echo {{{wide}", f"{{{wide}..{wide}}}", f"cat {wide}{wide}/{wide}.txt", f"x={wide}; echo ${wide}"):
        parse(text)
    (step,) = parse(f"echo a{wide}b").script.steps
    assert repr(f"a{wide}b")[1:-1] in repr(step)

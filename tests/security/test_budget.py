"""The limits of one rating: what a text may expand to, and how much work and memory it may take."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.security.budget import MAX_EXPANDED, ROOM, WORK, Budget, NotAtOnce, TooMuch
from agentrt.security.command_rules import rate_command
from agentrt.security.paths import site
from agentrt.security.rating import Scene
from agentrt.security.rules import MAX_ARGUMENTS, MAX_PLAIN, rate_action, wanted, written
from agentrt.specs import SecurityRisk
from agentrt.specs.effects import Effects, Source

from .corpus import SCENE, call

pytestmark = pytest.mark.pure

WHERE = site("/home/me/project", "/home/me/project")


def doubling(length: int) -> str:
    """An expansion that doubles with each of its statements, of this length."""
    text, number = "v0=aa", 1
    while len(more := f"{text}; v{number}=$v{number - 1}$v{number - 1}") <= length:
        text, number = more, number + 1
    return text.ljust(length, ";")[:length].rstrip(";")


GROWING = {
    "assignments": doubling(806),
    "appending": "v=aa; " + "v+=$v; " * 40,
    "replacing": "v=a; " + "v=${v//a/aaaa}; " * 40,
    "arrays": "v=(aa); " + 'v=("${v[@]}" "${v[@]}"); ' * 40,
    "eval": "v=aa; " + "eval v=\\$v\\$v; " * 40,
    "substitutions": "v=aa; " + "v=$(echo $v$v); " * 40,
    "here-documents": "v=aa; " + "read -r v <<< $v$v; " * 40,
    "printf": "v=aa; " + "printf -v v %s%s $v $v; " * 40,
    "defaults": "v=aa; " + 'v="${v:-a}$v$v"; ' * 40,
    "files": "echo aa > f; " + "cat f f f f > g; cat g g g g > f; " * 20,
    "functions": "a() { set -- $1$1; b $1$1; }; b() { a $1$1; }; a aa; " + "a $(a aa); " * 9,
    "braces": "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" + "x" * 9000,
    "find": "find " + "a" * 2000 + " -exec sh -c '" + "{}" * 1000 + "' \\;",
    "xargs": "echo " + "a" * 2000 + " | xargs -I x sh -c '" + "x" * 2000 + "'",
    "xargs in a loop": "echo a | xargs -I x sh -c 'echo xxxxxxxx | xargs -I y sh -c \"" + "y" * 9000 + "\"'",
    "tr": "echo " + "a" * 2000 + " | tr -d '" + "\\001-\\377" * 300 + "'",
    "trimming": "v=" + "a" * 999 + "; " + "x=${v##*b*c*d}; " * 300,
    "aliases": "".join(f"alias a{n}='a{n + 1} x; a{n + 1} x'; " for n in range(20)) + "a0",
    "definitions": "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}; " for n in range(20)) + "f0",
    "loops": "".join(f"for a{n} in $x {n}; do " for n in range(12)) + "ls" + "; done" * 12,
    "wrappers": "find a a a -exec " * 7 + "ls \\;",
    "copies": "cp " + " ".join(f"a{n}" for n in range(300)) + " d; python3 -c 'import "
    + ",".join(f"m{n}" for n in range(2000)) + "'",
    "names": "export 'a b=1'" + " ".join(f"a{n}=1" for n in range(900)) + " 'a b=1'" * 900,
    "imports of Python": "python3 -c 'x=" + "__import__(" * 40 + '"a"' + ").b" * 40 + "'",
    "calls of Python": "python3 -c '" + ("x" + ".a()" * 250 + "\n") * 3 + "'",
    "requests of Python": "python3 -c 'import requests,socket\n" + "q=f(q)\n" * 40 + "s.connect(a)\n"
    + "q.put(u);s.send(u);requests.post(u)\n" * 900 + "'",
    "replacing in Python": "python3 -c 'a=\"" + "a" * 5000 + "\"\n" + 'a=a.replace("a", a)\nopen(a)\n' * 3 + "'",
    "joining in Python": "python3 -c 'a=\"" + "a" * 5000 + "\"\n" + "a=a.join([a, a, a, a])\nopen(a)\n" * 9 + "'",
    "loops of Python": "python3 -c '" + "".join(" " * n + "while 1:\n" for n in range(90)) + " " * 90
    + "x.y;" * 1000 + "x.fork'",
    "pipes": "a|" * 8000,
    "pipes in pieces": "eval '" + "a|" * 490 + "';" + "eval '" + "b|" * 490 + "';",
    "errors": "x=(" * 8000,
    "words": "a " * 32000,
    "long words": "{a" * 9 + "x" * 60000,
}  # fmt: skip


def scene_of(*runs: str | Source) -> Scene:
    """The scene of a tool that runs these."""
    return replace(SCENE, effects=Effects(runs=runs))


UNKNOWN = [
    *("assignments", "appending", "replacing", "arrays", "eval", "substitutions", "here-documents", "printf"),
    *("files", "braces", "find", "xargs", "replacing in Python"),
]


class Cost:
    """How many Python and C functions a piece of work calls, and the most memory that it takes, in bytes."""

    def __init__(self) -> None:
        self.calls = self.memory = 0

    def of(self, work: Callable[[], object]) -> object:
        """Return what `work` returns; this one measures it."""
        tracemalloc.start()
        sys.setprofile(self._count)
        try:
            return work()
        finally:
            sys.setprofile(None)
            self.memory = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")


def assert_linear(text: str) -> None:
    """A rating of a text calls 8 functions a unit of work at most, and takes 8 MB, and 300 bytes a character."""
    cost = Cost()
    cost.of(lambda: rate_command(text, WHERE))
    assert cost.calls <= 8 * (ROOM + WORK * len(text))
    assert cost.memory <= 8_000_000 + 300 * len(text) + 6 * (ROOM + WORK * len(text))


@pytest.mark.parametrize("name", GROWING)
def test_a_text_that_grows_as_it_expands_takes_linear_work_and_memory(name: str) -> None:
    assert_linear(GROWING[name])


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_text_that_expands_to_more_than_64_kilobytes_is_unknown(name: str) -> None:
    rating = rate_command(GROWING[name], WHERE)
    assert (rating.risk, rating.reason) == (SecurityRisk.UNKNOWN, "too much to be read")


def test_806_characters_that_stand_for_a_gigabyte_take_a_tenth_of_a_second_and_little_memory() -> None:
    text, cost = doubling(806), Cost()
    rate_command("echo $v", WHERE)  # what is loaded once does not count
    begun = time.process_time()
    rate_command(text, WHERE)
    assert time.process_time() - begun < 0.1
    cost.of(lambda: rate_command(text, WHERE))
    assert cost.memory < 50_000_000


NAMES = st.sampled_from("abc")
PIECES = st.one_of(
    st.builds("{0}=${1}${1}".format, NAMES, NAMES),
    st.builds("{0}+=${1}x".format, NAMES, NAMES),
    st.builds("{0}=${{{1}//x/${2}xx}}".format, NAMES, NAMES, NAMES),
    st.builds("{0}=${{{1}//x/xxxxxxxx}}".format, NAMES, NAMES),
    st.builds("{0}=(${1} ${2} ${1})".format, NAMES, NAMES, NAMES),
    st.builds("{0}=$(echo ${1}; printf %s%s ${2} ${1})".format, NAMES, NAMES, NAMES),
    st.builds("eval {0}=\\${1}\\${2}".format, NAMES, NAMES, NAMES),
    st.builds("eval \"${0}\"".format, NAMES),
    st.builds("{0}() {{ {1} ${2} $1$1; {1}; }}".format, NAMES, NAMES, NAMES),
    st.builds("alias {0}='{1} {2}; {1}'".format, NAMES, NAMES, NAMES),
    st.builds("{0} ${1} | {1}".format, NAMES, NAMES),
    st.builds("for {0} in ${1} {{x,y}}${2} ${1}; do {1} ${0}; {2}=${0}${2}; done".format, NAMES, NAMES, NAMES),
    st.builds("cat f g ${0} f > {1}; cat g {1} g > f".format, NAMES, NAMES),
    st.builds("read {0} {1} <<< \"${1}${2}\"".format, NAMES, NAMES, NAMES),
    st.builds("cat <<E > f\n${0}${0}${1}\nE\n".format, NAMES, NAMES),
    st.builds("sh -c \"${0}; {1}\"".format, NAMES, NAMES),
    st.builds("find ${0} -exec sh -c '{{}} {{}} {{}}' \\;".format, NAMES),
    st.builds("echo ${0} | xargs -I x sh -c 'xxxx; {1} x'".format, NAMES, NAMES),
    st.builds("python3 -c '{0}={1}+{1}; {0}={0}.replace(\"x\",{1}); open({0}).a(eval({1}))'".format, NAMES, NAMES),
    st.builds("python3 -c \"${0}\"".format, NAMES),
    st.builds("node -e 'exec(\"${0}\")'; perl -e \"system('${1}')\"".format, NAMES, NAMES),
    st.sampled_from(["a=xx", "if a; then b; fi", "x || y && z", "(a; b) &", "$(", "`a`", "a|", "<<E", "{a,{b,c}}"]),
)  # fmt: skip
TEXTS = st.builds(
    lambda pieces, times: "; ".join(pieces * times), st.lists(PIECES, min_size=1, max_size=12), st.integers(1, 30)
)


@settings(deadline=None, max_examples=12)
@given(TEXTS)
def test_time_and_memory_are_at_most_linear_in_the_text(text: str) -> None:
    assert_linear(text)


@pytest.mark.long
@settings(deadline=None, max_examples=600)
@given(TEXTS)
def test_time_and_memory_are_at_most_linear_in_thousands_of_texts(text: str) -> None:
    assert_linear(text)


def test_a_long_text_that_expands_nothing_is_rated_as_before() -> None:
    text = "cat > notes.md <<'E'\n" + "| a | line | of a table |\n" * 2200 + "E\n"
    assert rate_command(text, WHERE).risk is SecurityRisk.LOW
    python = "python3 - <<'E'\n" + "print('hello', 1 + 2, open('x').read())\n" * 900 + "E\n"
    assert rate_command(python, WHERE).risk is SecurityRisk.LOW
    assert rate_command("v=$(cat <<'E'\n" + "a" * 30_000 + '\nE\n); echo "$v" > f', WHERE).risk is SecurityRisk.LOW


def test_what_was_found_before_the_limit_counts() -> None:
    assert rate_command("rm -rf ~; " + GROWING["appending"], WHERE).risk is SecurityRisk.HIGH


def test_a_budget_ends_before_the_work() -> None:
    budget = Budget(10)
    budget.spend(ROOM + WORK * 10)
    with pytest.raises(TooMuch):
        budget.spend(1)
    with pytest.raises(TooMuch):
        Budget(10**9).expand(MAX_EXPANDED + 1)
    with pytest.raises(TooMuch):
        Budget(10**9).replace("a" * 1000, "a", "a" * 1000)
    assert Budget(0).replace("abab", "b", "cc", 1) == "accab"


def test_the_text_of_a_file_adds_to_the_work_that_may_be_done() -> None:
    script = "ls -la '" + "some/directory" * 100 + "'\n"
    script = script * 40
    assert rate_command("sh x.sh", WHERE, {"/home/me/project/x.sh": script}).risk is SecurityRisk.LOW


@pytest.mark.parametrize("command", ["ls -la", "cd src && pytest -q | tail -20", "git commit -m 'x'", "rm 'a b'"])
def test_a_short_text_that_expands_nothing_is_rated_at_once(command: str) -> None:
    action, scene = call("terminal", command=command), scene_of(command)
    assert rate_action(action, scene, at_once=True) == rate_action(action, scene)
    assert wanted(action, scene, at_once=True) == wanted(action, scene)
    assert written(action, scene, at_once=True) == written(action, scene)


@pytest.mark.parametrize(
    "command", ["echo $HOME", "echo `date`", "f() { ls; }", "cp {a,b}", "diff <(ls) x", "ls; " * (MAX_PLAIN // 4 + 1),
                "find a a a -exec " * 7 + "ls \\;", "x" * (MAX_ARGUMENTS + 1)]
)  # fmt: skip
def test_any_other_text_is_not_rated_at_once(command: str) -> None:
    action, scene = call("terminal", command=command), scene_of(command)
    for rule in (rate_action, wanted, written):
        with pytest.raises(NotAtOnce):
            rule(action, scene, at_once=True)
        rule(action, scene)


def test_a_long_program_in_another_language_is_not_rated_at_once() -> None:
    code = "print({1: '$'})\n"
    scene = scene_of(Source(code, "python"))
    rate_action(call("ipython", code=code), scene, at_once=True)
    with pytest.raises(NotAtOnce):
        rate_action(call("ipython", code=code * 100), scene_of(Source(code * 100, "python")), at_once=True)


def test_many_paths_are_not_rated_at_once() -> None:
    action = call("mcp_look", lines="\n".join(f"a/{n}" for n in range(2000)))
    with pytest.raises(NotAtOnce):
        rate_action(action, SCENE, at_once=True)
    assert rate_action(action, SCENE).risk is SecurityRisk.UNKNOWN

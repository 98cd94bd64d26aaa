"""What ripgrep finds and what our own program finds are the same, whatever the files, the ignore files, the pattern."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.tools.search import program
from agentrt.tools.search.including import expressions, last_names, levels
from agentrt.tools.search.query import Query, counts, files, lines, program_input, ripgrep

pytestmark = [pytest.mark.real, pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")]

NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.py", "c.txt", "x y", "ä.py", ".h", "build", "src"])
ANY_LINE = (
    "", "foo", "foo bar", "  bar", "FOO", "a.b", "äö", "x = foo(1)", "\tend", "q\r", "straße", "STRASSE", "K\u212a",
    "a|b", "ǅ", "Σίσυφος",
)  # fmt: skip
LINES = st.lists(st.sampled_from(ANY_LINE), max_size=8)
IGNORED = st.lists(
    st.sampled_from([
        "a", "b/", "/a", "*.py", "!a.py", "src/**", "**/b", "a/*", "!b/", "# no", "", "[ab]", "a?", "x\\ y", "!src/a",
        "src/b", "build", "*", "!*/", "ä.py", "a/**/b", ".h", "!.h", "/src/a/", "[z-a]", "*.t?t", "[!a].py",
    ]),
    max_size=4,
)  # fmt: skip
ANY_PATTERN = (
    "foo", "FOO", "^foo$", "o+", "b.r", "bar$", r"\bfoo\b", r"\w+\(",
    "a\\.b", "^$", "ä", "^..$", "[a-c]+", "foo|end", r"\s",
    r"\d", "(?i)foo", "x.*1", r"\S\s\S", "^\\s+", "[^a]", r"\p{L}{2}", "o{2}", "(foo)( bar)?$", "[[:upper:]]", "q$",
    r"\Afoo", r"bar\z", r"\A\z", r"(?-m)^foo", r"(?s-m:bar$)", r"\x{66}oo", r"\u{66}+o", r"[\x{61}-\x{63}]b*", "fo**",
    "o+*b", "(?:o{2}){1}{1}", "o*??b", r"\pL{5}", r"\PL", "[a||x]", "[[:^alpha:]]", "[^[:^upper:]]", "[]b]",
    r"(?-u)\w{4}", r"(?-u:\b)f", "(?U)fo+", "(?P<x>fo)o", "(?x) f o o", "(?i)strasse", "(?i)ß", "ß", "k", "(?i:σ)",
    "a[|]b", r"\p{Greek}", "[a-c&&[^b]]", r"\\A", "x*", "foo|", r"[\w--o]+\(",
)  # fmt: skip
PATTERNS = st.sampled_from(ANY_PATTERN)
INCLUDES = st.sampled_from(
    ["", "*.py", "a*", "src/**", "**/*.py", "src/*.py", "*.{py,txt}", "?.py", "b/*", "[ab].py", "ab"]
)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    """Files by their paths, with ignore files among them, and directories that are repositories."""
    made = dict[str, str]()
    for _ in range(draw(st.integers(0, 12))):
        path = "/".join(draw(st.lists(NAMES, min_size=1, max_size=4)))
        above = [path.rsplit("/", n)[0] for n in range(1, path.count("/") + 1)]
        if (
            path not in made
            and not any(one in made for one in above)
            and not any(p.startswith(path + "/") for p in made)
        ):
            made[path] = "\n".join(draw(LINES)) + draw(st.sampled_from(["", "\n"]))
    directories = {"", *(path.rpartition("/")[0] for path in made)}
    for directory in sorted(directories):
        for name in (*program.IGNORE_FILES, ".git/HEAD"):
            if draw(st.integers(0, 3)) == 0:
                made[f"{directory}/{name}".lstrip("/")] = "\n".join(draw(IGNORED)) + "\n"
    return made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that is made anew for each tree."""
    return tmp_path_factory.mktemp("same")


def filled(place: Path, tree: dict[str, str]) -> Path:
    """The tree on the disk."""
    root = place / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path, text in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    return root


def ours(query: Query) -> str:
    """What our own program prints."""
    return "".join(program.run(program.Request(**json.loads(program_input(query)))))


def theirs(query: Query) -> str:
    """What ripgrep prints."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    said = subprocess.run(ripgrep(query), cwd=query.directory, env=environment, capture_output=True, check=False)
    # 2: a line of an ignore file is not a pattern, and left out
    assert said.returncode in (0, 1, 2), said.stderr
    assert not said.stderr
    return said.stdout.decode()


def kept(query: Query, paths: list[str]) -> set[str]:
    """Those that the query's patterns of paths let through."""
    include = [re.compile(one, re.DOTALL) for one in query.include]
    return {path for path in paths if not include or any(one.match(path) for one in include)}


def below(root: Path, path: str, **fields: Any) -> Query:
    """A query from a place in the tree."""
    return Query(root="/", path=f"{root}/{path}".strip("/"), **fields)


@st.composite
def places(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    """A tree, and a directory of it."""
    tree = draw(trees())
    found = {path.rpartition("/")[0] for path in tree if "/.git/" not in f"/{path}"}
    return tree, draw(st.sampled_from(sorted({"", *found})))


QUICK = settings(max_examples=60)


@QUICK
@given(places(), INCLUDES, st.booleans())
def test_the_same_files_are_listed(place: Path, at: tuple[dict[str, str], str], include: str, every: bool) -> None:
    root = filled(place, at[0])
    patterns = expressions(include) if include else ()
    names = last_names(include) if include else ()
    query = below(root, at[1], every=every, include=patterns, names=names)
    found = set(files(ours(query)))
    assert kept(query, files(theirs(query))) == found
    shallow = replace(query, depth=levels(include) if include else None)
    assert kept(query, files(theirs(shallow))) == set(files(ours(shallow))) == found


@QUICK
@given(places(), PATTERNS, st.booleans(), st.booleans())
def test_the_same_lines_are_counted(
    place: Path, at: tuple[dict[str, str], str], pattern: str, ignore_case: bool, every: bool
) -> None:
    query = below(filled(place, at[0]), at[1], pattern=pattern, ignore_case=ignore_case, every=every)
    assert sorted(counts(theirs(query))) == sorted(counts(ours(query)))


LETTERS = "aſsKk\u212aßẞµμÅå\u212bǅςσΣıθϑẛṡͅιǰ"


@QUICK
@given(st.text(LETTERS, min_size=1, max_size=2), st.lists(st.text(LETTERS, max_size=4), max_size=8))
def test_small_and_capital_letters_are_the_same_one_by_one(place: Path, pattern: str, lines: list[str]) -> None:
    root = filled(place, {"a": "\n".join(lines)})
    for query in (below(root, "", pattern=pattern, ignore_case=True), below(root, "", pattern=f"(?i){pattern}")):
        assert counts(theirs(query)) == counts(ours(query))


@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize("pattern", ANY_PATTERN)
def test_each_pattern_has_the_same_lines(tmp_path: Path, pattern: str, ignore_case: bool) -> None:
    (tmp_path / "a").write_bytes("\n".join(ANY_LINE).encode())
    query = below(tmp_path, "", pattern=pattern, files=("a",), lines=True, ignore_case=ignore_case)
    assert list(lines(theirs(query))) == list(lines(ours(query)))


@QUICK
@given(places(), PATTERNS, st.integers(0, 2))
def test_the_same_lines_are_shown(place: Path, at: tuple[dict[str, str], str], pattern: str, context: int) -> None:
    query = below(filled(place, at[0]), at[1], pattern=pattern)
    named = tuple(path for path, _ in sorted(counts(ours(query))))
    if named:
        query = replace(query, files=named, lines=True, context=context)
        assert list(lines(theirs(query))) == list(lines(ours(query)))


@pytest.mark.parametrize(
    "data", [b"foo\0", b"\xff\xfefoo\n", "\ufefffoo\n".encode(), "foo\n".encode("utf-16"), b"\xff foo\n"]
)
def test_the_same_of_bytes_of_any_kind(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    query = below(tmp_path, "", pattern="foo")
    assert counts(theirs(query)) == counts(ours(query))

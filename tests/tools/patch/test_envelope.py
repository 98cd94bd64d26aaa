"""The grammar of patches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.tools.patch.envelope import Add, Delete, Hunk, Kind, Operation, Update, parsed

pytestmark = pytest.mark.pure

PATHS = st.text(alphabet="ab/._-ä ", min_size=1, max_size=8).map(str.strip).filter(bool)
TEXTS = st.text(alphabet="ab +-*@\t\\ä", max_size=6)
KINDS = st.sampled_from(list[Kind]([" ", "-", "+"]))
HUNKS = st.builds(
    Hunk,
    lines=st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=5)
    .filter(lambda lines: any(kind != " " for kind, _ in lines))
    .map(tuple),
    above=st.lists(TEXTS.map(str.strip).filter(bool), max_size=2).map(tuple),
    at_end=st.booleans(),
)
OPERATIONS = st.one_of(
    st.builds(Add, PATHS, st.lists(TEXTS, max_size=3).map(lambda lines: "".join(f"{line}\n" for line in lines))),
    st.builds(Delete, PATHS),
    st.builds(Update, PATHS, st.lists(HUNKS, min_size=1, max_size=3).map(tuple), st.none() | PATHS),
)


def rendered(operations: tuple[Operation, ...]) -> str:
    """The patch that says this."""
    lines = ["*** Begin Patch"]
    for operation in operations:
        match operation:
            case Add(path, text):
                lines += [f"*** Add File: {path}", *(f"+{line}" for line in text.split("\n")[:-1])]
            case Delete(path):
                lines.append(f"*** Delete File: {path}")
            case Update(path, hunks, move_to):
                lines += [f"*** Update File: {path}", *([f"*** Move to: {move_to}"] if move_to else [])]
                for hunk in hunks:
                    lines += [f"@@ {header}" for header in hunk.above] or ["@@"]
                    lines += [f"{kind}{line}" for kind, line in hunk.lines]
                    lines += ["*** End of File"] if hunk.at_end else []
    return "\n".join([*lines, "*** End Patch"])


def without_numbers(operations: tuple[Operation, ...]) -> list[Operation]:
    """The same, wherever they stand in a patch."""
    return [
        Update(one.path, tuple(Hunk(hunk.lines, hunk.above, hunk.at_end) for hunk in one.hunks), one.move_to)
        if isinstance(one, Update)
        else one
        for one in operations
    ]


@given(st.lists(OPERATIONS, min_size=1, max_size=4).map(tuple))
def test_what_is_rendered_is_read_back(operations: tuple[Operation, ...]) -> None:
    assert without_numbers(parsed(rendered(operations))) == list(operations)


@given(
    st.lists(
        st.sampled_from(["*** Add File: a", "*** Update File: b", "*** Move to: c", "*** Delete File: d", "@@", "@@ x"])
        | st.sampled_from([" a", "-b", "+c", "", "x", "*** End of File", "*** End Patch", "***"]),
        max_size=10,
    )
)
def test_any_lines_are_a_patch_or_refused(lines: list[str]) -> None:
    try:
        found = parsed("\n".join(["*** Begin Patch", *lines, "*** End Patch"]))
    except ToolError:
        return
    assert without_numbers(parsed(rendered(found))) == without_numbers(found)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("", "begins with"),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b", "begins with"),
        ("*** Begin Patch\n*** Add File: a\n+x", "was it cut"),
        ("*** Begin Patch\n*** End Patch", "is empty"),
        ("*** Begin Patch\nx\n*** End Patch", "line 2 of the patch, 'x'"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", 'line 3 .*begins with "\\+"'),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "nothing of what changes in a"),
        ("*** Begin Patch\n*** Update File: a\n@@\n a\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File: a\n@@\n-a\nb\n*** End Patch", "line 5"),
        ("*** Begin Patch\n*** Update File: a\n@@\n-a\n*** What\n*** End Patch", "or the next file"),
        ("*** Begin Patch\n*** Update File: \n@@\n-a\n*** End Patch", "there is no path"),
        ("*** Begin Patch\n*** Update File: a\n*** Move to:\n@@\n-a\n*** End Patch", "there is no path"),
    ],
)
def test_what_is_no_patch(patch: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        parsed(patch)


def test_what_models_put_around_it() -> None:
    plain = "*** Begin Patch\n*** Update File: a\n@@ def f():\n x\n\n-y\n*** End of File\n*** End Patch"
    lines: tuple[tuple[Kind, str], ...] = ((" ", "x"), (" ", ""), ("-", "y"))
    expected = [Update("a", (Hunk(lines, ("def f():",), at_end=True),))]
    for patch in (
        plain,
        f"\n{plain}\n\n",
        f"apply_patch <<'EOF'\n{plain}\nEOF\n",
        plain.replace("\n", "\r\n"),
        plain.replace("*** U", "  *** U"),
    ):
        assert without_numbers(parsed(patch)) == expected

"""Where hunks belong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.tools.patch.envelope import Hunk, Kind, Update, parsed
from agentrt.tools.patch.fitting import fitted, patched

pytestmark = pytest.mark.pure

FILE = """class A:
    def f(self):
        return 1

    def g(self):
        return 1


def h():
    return “one”  
"""  # noqa: W291


def after(hunks: str, text: str = FILE) -> tuple[list[str], list[str]]:
    """The lines of a file once hunks were fitted, and what was said of each."""
    (update,) = parsed(f"*** Begin Patch\n*** Update File: a.py\n{hunks}\n*** End Patch")
    assert isinstance(update, Update)
    lines = text.split("\n")[:-1]
    fits = fitted(lines, update.hunks, "a.py")
    return patched(lines, fits), [fit.how for fit in fits]


def changed(line: int, *new: str, removed: int = 1) -> list[str]:
    """The lines of `FILE` with others in the place of those from a number on."""
    lines = FILE.split("\n")[:-1]
    return [*lines[: line - 1], *new, *lines[line - 1 + removed :]]


@pytest.mark.parametrize(
    ("hunks", "lines", "how"),
    [
        ("@@\n     def g(self):\n-        return 1\n+        return 2", changed(6, "        return 2"), ""),
        ("@@ def g(self):\n-        return 1\n+        return 2", changed(6, "        return 2"), ""),
        ("@@ class A:\n@@ def g(self):\n-        return 1", changed(6), ""),
        ("-        return 1\n+        return 2", changed(3, "        return 2"), "in the first of several places"),
        ("@@ def g(self):\n+        # here", changed(6, "        # here", removed=0), ""),
        ("+last", changed(11, "last", removed=0), ""),
        ("@@\n def h():\n-    return “one”", changed(10), "but for white space at the ends of lines"),
        ("@@\n def h():\n-    return \"one\"\n+    return 1\n", changed(10, "    return 1"),
         "but for typographic marks"),
        ("@@\n def g(self):\n-    return 1\n+    return [\n+\n+    ]", changed(6, "        return [", "", "        ]"),
         "but for its indentation"),
        ("@@\n         def g(self):\n-            return 1\n+            return 2", changed(6, "        return 2"),
         "but for its indentation"),
        ("@@\n-def h():\n+def i():\n*** End of File", changed(9, "def i():"), "not at the end of the file"),
    ],
)  # fmt: skip
def test_it_fits(hunks: str, lines: list[str], how: str) -> None:
    assert after(hunks) == (lines, [how])


def test_hunks_are_in_order() -> None:
    hunks = "@@\n     def f(self):\n-        return 1\n+        return 3\n@@\n     def g(self):\n-        return 1"
    assert after(hunks)[0] == [
        line.replace("return 1", "return 3") if n == 2 else line for n, line in enumerate(changed(6))
    ]
    with pytest.raises(ToolError, match="hunk 2 of 2 of a.py .* after line 10"):
        after("@@\n def h():\n-    return “one”  \n@@\n-class A:\n+class B:")


@pytest.mark.parametrize(
    ("hunks", "why"),
    [
        ("@@ def q():\n-        return 1", "there is no line 'def q\\(\\):' for its @@"),
        ("@@\n def h():\n-    return 2", r"do not follow on one another\. The first of them is at line 9"),
        ("@@\n   def g(self):\n-        return 1", "does not fit"),
    ],
)
def test_it_does_not_fit(hunks: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        after(hunks)


LINES = st.lists(st.sampled_from(["a", "b", "  a", "", "c", "+x", "-y", "@@", "ä"]), max_size=12)


def hunks_of(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a unified diff."""
    found = list[Hunk]()
    lines = list[tuple[Kind, str]]()
    for line in [*diff.split("\n")[:-1], "@@ "]:
        if line.startswith("@@ "):
            if lines:
                found.append(Hunk(tuple(lines)))
            lines = []
        elif line[:1] in (" ", "-", "+") and not line.startswith(("--- ", "+++ ")):
            kind: Kind = "+" if line[0] == "+" else "-" if line[0] == "-" else " "
            lines.append((kind, line[1:]))
    return tuple(found)


@pytest.mark.real
@settings(max_examples=60)
@given(LINES, LINES, LINES)
def test_what_git_applies_fits_as_git_applies_it(
    tmp_path: Path, top: list[str], old: list[str], new: list[str]
) -> None:
    """With so much around each change that there is one place for it."""
    before, wanted = ([*top, f"# {word} #", *body, "# end #"] for word, body in (("only", old), ("only", new)))
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in before))
    (tmp_path / "b").write_text("".join(f"{line}\n" for line in wanted))
    command = ["git", "diff", "--no-index", "--no-color", "--unified=99", "a", "b"]
    diff = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout.decode()
    hunks = hunks_of(diff.partition("\n+++ ")[2].partition("\n")[2])
    if hunks:
        subprocess.run(["git", "apply", "--unidiff-zero", "-"], input=diff.replace("b/b", "b/a").encode(), cwd=tmp_path,
                       check=True, capture_output=True)  # fmt: skip
        theirs = (tmp_path / "a").read_text().split("\n")[:-1]
        assert patched(before, fitted(before, hunks, "a")) == theirs == wanted

"""What a tree does not have, and what git lists of it."""

from __future__ import annotations

import pytest

from agentrt.workspaces.left_out import LeftOut, decoded, ignored

pytestmark = pytest.mark.pure


def test_a_directory_stands_for_all_below() -> None:
    left = LeftOut(["data/", "src/x.pyc"])
    assert [path for path in ("data/a", "data/b/c", "src/x.pyc") if not left.covers(path)] == []
    assert [path for path in ("data", "database/a", "src/y.pyc", "a/data/b", "src/x.pyc/z") if left.covers(path)] == []
    assert not LeftOut().covers("a")
    assert (left | LeftOut(["more"])).paths == {"data/", "src/x.pyc", "more"}


def test_it_is_read_as_it_was_written() -> None:
    for paths in ([], ["a\nb", "d\udcff/", "ä"]):
        assert decoded(LeftOut(paths).encoded()).paths == set(paths)


def test_a_directory_that_only_has_what_is_ignored_is_not_ignored_itself() -> None:
    listed = ["only/", "only/deep/", "only/deep/x.pyc", "data/", "data.pyc"]
    assert ignored(listed) == ["data.pyc", "data/", "only/deep/x.pyc"]
    assert ignored([]) == []

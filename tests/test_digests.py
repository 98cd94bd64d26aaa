"""Digests of directories: what changes them, and what has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.digests import tree_digest

pytestmark = pytest.mark.simulated


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "plugin/.git").mkdir(parents=True)
    (tmp_path / "plugin/.git/config").write_text("[core]")
    (tmp_path / "plugin/run.sh").write_text("echo")
    return tmp_path / "plugin"


def test_contents_names_and_targets_of_links_count_and_git_does_not(place: Path) -> None:
    seen = {tree_digest(str(place))}
    (place / ".git/config").write_text("[user]")
    assert tree_digest(str(place)) in seen
    (place / "run.sh").write_text("echo 2")
    seen.add(tree_digest(str(place)))
    (place / "run.sh").rename(place / "walk.sh")
    seen.add(tree_digest(str(place)))
    (place / "link").symlink_to("walk.sh")
    seen.add(tree_digest(str(place)))
    (place / "link").unlink()
    (place / "link").symlink_to("./walk.sh")
    assert len({*seen, tree_digest(str(place))}) == 5
    assert None not in seen


@pytest.mark.parametrize("target", [".git", ".git/config", "../plugin/.git", "/etc", "..", "nothing/../../x"])
def test_a_link_that_leads_out_or_into_git_has_none(place: Path, target: str) -> None:
    (place / "link").symlink_to(target)
    assert tree_digest(str(place)) is None

"""What is in a directory, as it is now."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.sources.listing import listed
from agentrt.sources.text import Reader

pytestmark = pytest.mark.simulated


def names(directory: Path) -> list[str]:
    return [entry.name for entry in listed(str(directory)).entries]


def test_a_directory_that_changed_just_now_is_read_each_time(tmp_path: Path) -> None:
    assert names(tmp_path) == []
    for number in range(20):
        (tmp_path / f"f{number:02}").write_text("")
        assert len(names(tmp_path)) == number + 1


def test_links_and_directories_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("directory")
    (tmp_path / "File").write_text("")
    found = listed(str(tmp_path))
    assert [entry.name for entry in found.directories] == ["directory"]
    assert [entry.leads_to_directory() for entry in found.entries] == [False, True, True]
    assert found.names["file"] == "File"


def test_a_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    listed(str(tmp_path / "gone"))
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError):
        listed(str(tmp_path / "gone"))


def test_the_store_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "store" / "conversations").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    reader = Reader(tmp_path, tmp_path / "store")
    assert [entry.name for entry in reader.listing(tmp_path / "store").entries] == []
    assert [entry.name for entry in reader.listing(tmp_path).entries] == ["other", "store"]

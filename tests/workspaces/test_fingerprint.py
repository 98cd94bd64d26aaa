"""What a fingerprint sees of a directory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentrt.workspaces.fingerprint import RECENT, fingerprint

pytestmark = pytest.mark.simulated


def settle() -> None:
    """Return once nothing that was done is recent."""
    done = time.time_ns() + RECENT
    while time.time_ns() <= done:
        os.sched_yield()


def of(place: Path, apart: tuple[str, ...] = ()) -> bytes | None:
    settle()
    return fingerprint(str(place), apart)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "d/.git").mkdir(parents=True)
    (tmp_path / "d/a").write_text("one")
    (tmp_path / "b").write_text("one")
    (tmp_path / "link").symlink_to("b")
    return tmp_path


def link_elsewhere(link: Path) -> None:
    link.unlink()
    link.symlink_to("d")


def set_back(file: Path) -> None:
    before = file.stat().st_mtime_ns
    file.write_text("two")
    os.utime(file, ns=(before, before))


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda place: (place / "d/a").write_text("two"),
    "new": lambda place: (place / "d/c").touch(),
    "gone": lambda place: (place / "b").unlink(),
    "moved": lambda place: (place / "b").rename(place / "c"),
    "executable": lambda place: (place / "b").chmod(0o755),
    "another link": lambda place: link_elsewhere(place / "link"),
    "the time set back": lambda place: set_back(place / "b"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_seen(place: Path, change: Callable[[Path], object]) -> None:
    before = of(place)
    assert before is not None
    assert of(place) == before
    change(place)
    assert of(place) not in (before, None)


def test_what_is_recent_may_change_again_unseen(place: Path) -> None:
    assert of(place) is not None
    (place / "b").write_text("two")
    assert fingerprint(str(place), ()) is None


def test_what_is_apart_counts_for_nothing(place: Path) -> None:
    before = of(place, ("d", "gone"))
    (place / "d/a").write_text("two")
    (place / "d/.git/index").touch()
    assert of(place, ("d", "gone")) == before


def test_of_much_there_is_none(place: Path) -> None:
    settle()
    assert fingerprint(str(place), (), most=4) is None
    assert fingerprint(str(place), (), most=5) is not None
    assert fingerprint(str(place / "gone"), ()) is None

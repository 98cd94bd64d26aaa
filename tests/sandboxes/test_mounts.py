"""What is shown behind the wall, entry by entry."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentrt.sandboxes.mounts import (
    BROAD,
    KEYS,
    Mount,
    Shown,
    box_mounts,
    bwrap_options,
    protected,
    reader_mounts,
    reading,
    system_mounts,
    tool_chains,
)

pytestmark = pytest.mark.real


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    tool_chains.cache_clear()
    return home


@pytest.fixture
def holding() -> Iterator[ExitStack]:
    """Closes what mounts hold."""
    with ExitStack() as holding:
        yield holding


def program(path: Path) -> Path:
    """Make a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def chains(*places: Path) -> set[str]:
    """The tool chains of a `PATH`, without those of this Python."""
    tool_chains.cache_clear()
    own = {mount.path for mount in tool_chains("")}
    return {mount.path for mount in tool_chains(os.pathsep.join(map(str, places)))} - own


@pytest.mark.pure
def test_the_options_are_in_the_order_of_the_list() -> None:
    mounts = [Mount("read", "/a"), Mount("write", "/b", "/c"), Mount("link", "/bin", "usr/bin")]
    mounts += [Mount("empty", "/d"), Mount("blank", "/e")]
    options = bwrap_options(mounts)
    held = bwrap_options([Mount("write", "/a", held=31), Mount("read", "/b", held=30)], 5)
    assert held == ["--bind", "/proc/self/fd/5", "/a", "--ro-bind", "/proc/self/fd/6", "/b"]
    assert options == (
        ["--ro-bind", "/a", "/a", "--bind", "/c", "/b", "--symlink", "usr/bin", "/bin"]
        + ["--tmpfs", "/d", "--ro-bind", "/dev/null", "/e"]
    )
    assert all(option != "--bind" for option in bwrap_options(reading(mounts, Shown("/w", "/c", "/t", "/g", "/s"))))


def test_the_program_of_a_link_is_shown_with_its_libraries(home: Path, tmp_path: Path) -> None:
    program(tmp_path / "tools/node/bin/node")
    (home / "bin").mkdir()
    (home / "bin/node").symlink_to(tmp_path / "tools/node/bin/node")
    assert chains(home / "bin") == {f"{home}/bin", f"{tmp_path}/tools/node"}


def test_a_known_tool_chain_is_shown_whole(home: Path) -> None:
    program(home / ".pyenv/shims/python")
    program(home / ".pyenv/libexec/pyenv")
    assert chains(home / ".pyenv/shims") == {f"{home}/.pyenv"}


@pytest.mark.parametrize("place", [".", ".local", ".config/bin", ".ssh"])
def test_nothing_that_holds_a_key_is_a_tool_chain(home: Path, place: str) -> None:
    (home / place / "bin").mkdir(parents=True, exist_ok=True)
    program(home / place / "tool")
    (home / "other").mkdir()
    (home / "other/tool").symlink_to(home / place / "tool")
    shown = chains(home / place, home / "other")
    hidden = [os.path.expanduser(key) for key in KEYS]
    assert not any(f"{key}/".startswith(f"{one}/") for one in shown for key in (*hidden, *BROAD, str(home)))


def test_a_relative_entry_of_path_shows_nothing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path / "here/tool")
    assert chains(Path("here"), Path(".")) == set()


def test_what_not_everybody_may_read_is_covered() -> None:
    covered = {mount.path for mount in system_mounts() if mount.kind in ("blank", "empty")}
    assert ("/etc/shadow" in covered) == os.access("/etc/shadow", os.R_OK)
    assert "/etc/passwd" not in covered


def test_settings_with_a_password_stay_at_home(home: Path, tmp_path: Path, holding: ExitStack) -> None:
    def shown() -> set[str]:
        return {mount.path for mount in box_mounts(Shown(str(tmp_path), "/h", "/t", "/g", "/s"), ExitStack())}

    work = tmp_path / "work"
    work.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = A\n")
    told = {mount.path for mount in box_mounts(Shown(str(work), "/h", "/t", "/g", "/s"), holding)}
    assert f"{home}/.gitconfig" in told
    (home / ".gitconfig").write_text('[url "https://me:abcdef@example.org"]\n')
    told = {mount.path for mount in box_mounts(Shown(str(work), "/h", "/t", "/g", "/s"), holding)}
    assert f"{home}/.gitconfig" not in told


def test_the_keys_in_a_workspace_that_is_the_home_are_covered(home: Path, holding: ExitStack) -> None:
    (home / ".ssh").mkdir()
    (home / ".netrc").write_text("x")
    mounts = box_mounts(Shown(str(home), "/h", "/t", "/g", "/s"), holding)
    at = {mount.path: (number, mount.kind) for number, mount in enumerate(mounts)}
    assert at[f"{home}/.ssh"][1] == "empty"
    assert at[f"{home}/.netrc"][1] == "blank"
    assert at[f"{home}/.ssh"][0] > at[str(home)][0], "what comes later covers what came before"


def test_hooks_also_of_submodules_are_read_only(tmp_path: Path, holding: ExitStack) -> None:
    for place in (".git/hooks", ".git/modules/a/hooks", ".git/modules/a/modules/b/hooks", ".git/modules/c"):
        (tmp_path / place).mkdir(parents=True)
    kinds = {mount.path.removeprefix(f"{tmp_path}/"): mount.kind for mount in protected(str(tmp_path), holding)}
    assert kinds == {
        ".git": "write",
        ".git/hooks": "read",
        ".git/modules": "write",
        ".git/modules/a": "write",
        ".git/modules/a/modules": "write",
        ".git/modules/a/modules/b": "write",
        ".git/modules/a/hooks": "read",
        ".git/modules/a/modules/b/hooks": "read",
    }


@pytest.mark.parametrize("made", ["nothing", "link"])
def test_no_repository_no_mount(tmp_path: Path, made: str, holding: ExitStack) -> None:
    if made == "link":
        (tmp_path / "other").mkdir()
        (tmp_path / ".git").symlink_to(tmp_path / "other")
    assert list(protected(str(tmp_path), holding)) == []


def test_a_reader_sees_what_it_is_given(home: Path) -> None:
    mounts = reader_mounts(("/a",), ("/b",))
    assert [mount for mount in mounts if mount.path in ("/a", "/b")] == [Mount("read", "/a"), Mount("write", "/b")]
    assert str(home) not in {mount.path for mount in mounts}


def test_a_link_in_a_workspace_shows_no_directory(home: Path, tmp_path: Path, holding: ExitStack) -> None:
    (tmp_path / "other/bin").mkdir(parents=True)
    program(tmp_path / "other/bin/tool")
    program(home / ".pyenv/versions/3.13/bin/python")
    work = tmp_path / "work"
    (work / ".venv/bin").mkdir(parents=True)
    (work / ".venv/bin/tool").symlink_to(tmp_path / "other/bin/tool")
    (work / ".venv/bin/python").symlink_to(home / ".pyenv/versions/3.13/bin/python")
    shown = {mount.path for mount in box_mounts(Shown(str(work), "/h", "/t", "/g", "/s"), holding)}
    assert f"{home}/.pyenv" in shown, "a virtual environment needs its interpreter"
    assert not any(path.startswith(f"{tmp_path}/other") for path in shown)

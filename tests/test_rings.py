"""What keeps a test in its ring, and what is done with a failure that does not come again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests import unsteady

pytestmark = pytest.mark.real

ROOT = Path(__file__).parent.parent
CONFIGURED = """
import sys
sys.path.insert(0, {root!r})
from tests.plugins import pytest_addoption, pytest_configure
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project of its own, whose tests are in rings."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # there are some that take a second to load
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_asyncio.plugin,xdist.plugin")
    pytester.makeconftest(CONFIGURED.format(root=str(ROOT)))
    pytester.makepyprojecttoml((ROOT / "pyproject.toml").read_text().replace('["tests"]', '["."]'))
    return pytester


def outcomes(project: pytest.Pytester, body: str, *options: str) -> dict[str, int]:
    """How many of its tests had which outcome."""
    project.makepyfile(body)
    return project.runpytest_subprocess("-m", "", *options).parseoutcomes()


IMPORTS = "import asyncio, pathlib, socket, subprocess, sys\nimport pytest\n"


PURE = [
    "pathlib.Path('made').write_text('')",
    "open('/etc/hostname').close()",
    "pathlib.Path('made').mkdir()",
    "asyncio.run(asyncio.sleep(0))",
    "subprocess.run([sys.executable, '--version'])",
    "\n    try: open('/etc/hostname')\n    except Exception: pass",
]
"""What a pure test does that it may not: it has a file, a loop, a program."""
SIMULATED = ["subprocess.run([sys.executable, '--version'])", "socket.create_server(('127.0.0.1', 0)).close()"]
"""What a simulated test does that it may not: it has another program, or the network."""


def test_a_test_that_leaves_its_ring_fails(project: pytest.Pytester) -> None:
    cases = [("pure", does) for does in PURE] + [("simulated", does) for does in SIMULATED]
    tests = (f"@pytest.mark.{ring}\ndef test_{n}():\n    {does}\n" for n, (ring, does) in enumerate(cases))
    assert outcomes(project, IMPORTS + "\n".join(tests)) == {"failed": len(cases)}


def test_what_a_test_asks_for_is_in_its_ring_too(project: pytest.Pytester) -> None:
    body = f"""{IMPORTS}
@pytest.fixture
def program():
    subprocess.run([sys.executable, "--version"])

@pytest.mark.pure
def test_pure(tmp_path): ...

@pytest.mark.simulated
def test_simulated(program): ...
"""
    assert outcomes(project, body) == {"errors": 2}


def test_what_each_ring_may_do_passes(project: pytest.Pytester) -> None:
    body = f"""{IMPORTS}
pytestmark = pytest.mark.pure

def test_pure():
    import xml.dom.minidom

@pytest.mark.simulated
async def test_simulated(tmp_path):
    (tmp_path / "made").write_text("")
    await asyncio.sleep(0)

@pytest.mark.real
def test_real():
    subprocess.run([sys.executable, "--version"], check=True)
"""
    assert outcomes(project, body) == {"passed": 3}


def test_the_nearest_ring_counts(project: pytest.Pytester) -> None:
    body = f"""{IMPORTS}
pytestmark = pytest.mark.pure

@pytest.mark.simulated
@pytest.mark.parametrize("one", [1, pytest.param(2, marks=pytest.mark.long)])
async def test_it(one): ...

@pytest.mark.real
async def test_other(): ...

def test_third(): ...
"""
    project.makepyfile(body)
    shown = project.runpytest_subprocess("-m", "long", "--collect-only").outlines
    assert [line.partition("::")[2] for line in shown if "::" in line] == ["test_it[2]"]
    assert project.runpytest_subprocess("-m", "not long and not pure").parseoutcomes() == {"passed": 2, "deselected": 2}


@pytest.mark.parametrize("body", ["def test_it(): ...", f"{IMPORTS}@pytest.mark.pure\nasync def test_it(): ..."])
def test_a_test_without_a_ring_and_a_pure_coroutine_are_refused(project: pytest.Pytester, body: str) -> None:
    project.makepyfile(body)
    assert project.runpytest_subprocess("-m", "").ret == pytest.ExitCode.USAGE_ERROR


FAILS_ONCE = """
import pathlib
import pytest

def failed_before(times):
    path = pathlib.Path({path!r})
    seen = len(path.read_text()) if path.exists() else 0
    path.write_text("x" * (seen + 1))
    return seen >= times

@pytest.mark.{ring}
def test_it():
    assert failed_before({times}), "not yet"
"""


@pytest.mark.parametrize(("workers", "times"), [("0", 1), ("2", 1), ("0", 2)])
def test_a_real_test_that_fails_once_is_reported_and_one_that_fails_again_fails_the_run(
    project: pytest.Pytester, workers: str, times: int
) -> None:
    seen = outcomes(
        project, FAILS_ONCE.format(path=str(project.path / "seen"), times=times, ring="real"), "-n", workers
    )
    report = project.path / unsteady.REPORT
    if times == 1:
        assert seen == {"unsteady": 1}
        (told,) = map(msgspec.json.decode, report.read_text().splitlines())
        assert told["test"].endswith("::test_it")
        assert "not yet" in told["failure"]
    else:
        assert seen == {"failed": 1}
        assert not report.exists() or not report.read_text()


@pytest.mark.parametrize("ring", ["pure", "simulated"])
def test_a_test_that_is_the_same_each_time_is_not_run_again(project: pytest.Pytester, ring: str) -> None:
    """Also in a module of real ones."""
    body = FAILS_ONCE.format(path=str(project.path / "seen"), times=1, ring="simulated")
    if ring == "pure":
        body = "times = []\nimport pytest\n@pytest.mark.pure\ndef test_it():\n    assert times or times.append(1)\n"
    assert outcomes(project, f"{body}\npytestmark = pytest.mark.real\n") == {"failed": 1}


@pytest.mark.parametrize("also", ["broken", "cut", "skipped"])
def test_a_run_in_which_something_did_not_run_fails(project: pytest.Pytester, also: str) -> None:
    body = FAILS_ONCE.format(path=str(project.path / "seen"), times=1, ring="real")
    options = ["-n", "2"]
    if also == "broken":
        project.makepyfile(test_broken="import a_module_that_is_not_there")
    elif also == "cut":
        body, options = f"{body}\n@pytest.mark.real\ndef test_that_is_not_reached(): assert 0\n", ["-x"]
    else:
        skipped = "    if pathlib.Path({!r}).exists(): pytest.skip('its program is gone')\n".format(
            str(project.path / "seen")
        )
        body = body.replace("def test_it():\n", f"def test_it():\n{skipped}")
    project.makepyfile(body)
    assert project.runpytest_subprocess("-m", "", *options).ret == pytest.ExitCode.TESTS_FAILED


def test_many_failures_are_no_chance(project: pytest.Pytester) -> None:
    body = "\n".join(
        FAILS_ONCE.format(path=str(project.path / f"seen{number}"), times=1, ring="real")
        .replace("_it()", f"_it{number}()")
        .replace("failed_before", f"failed{number}")
        for number in range(unsteady.MOST + 1)
    )
    assert outcomes(project, body) == {"failed": unsteady.MOST + 1}

"""Which long tests a change reaches."""

from __future__ import annotations

import pytest

from tests.reached import LAST, Choice, choose, distances, imports, long_files, module_of, modules_of

pytestmark = pytest.mark.pure

IMPORTED_BY = {
    "a": frozenset({"b", "c"}),
    "b": frozenset({"tests.test_b"}),
    "c": frozenset({"b", "tests.test_c"}),
    "d": frozenset({"tests.test_d"}),
}
LONG = {f"tests/test_{name}.py": f"tests.test_{name}" for name in "bcd"}


def test_distances_are_counted_in_imports() -> None:
    assert distances(["a"], IMPORTED_BY) == {"a": 0, "b": 1, "c": 1, "tests.test_b": 2, "tests.test_c": 2}
    assert distances(["c", "d"], IMPORTED_BY)["tests.test_d"] == 1
    assert distances([], IMPORTED_BY) == {}


def test_a_changed_test_is_reached() -> None:
    assert choose(LONG, distances(["tests.test_d"], IMPORTED_BY), {}, 600).run == ("tests/test_d.py",)


def test_the_nearest_come_first_and_then_the_shortest() -> None:
    far = {"tests.test_b": 2, "tests.test_c": 1, "tests.test_d": 2}
    seconds = {"tests/test_b.py": 20.0, "tests/test_d.py": 5.0}
    assert choose(LONG, far, seconds, 600).run == ("tests/test_c.py", "tests/test_d.py", "tests/test_b.py")


def test_what_takes_too_long_is_left_and_named() -> None:
    far = dict.fromkeys(LONG.values(), LAST)
    seconds = {"tests/test_b.py": 3.0, "tests/test_c.py": 100.0, "tests/test_d.py": 6.0}
    assert choose(LONG, far, seconds, 9.0) == Choice(("tests/test_b.py", "tests/test_d.py"), ("tests/test_c.py",))


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/agentrt/storage/writer.py", "agentrt.storage.writer"),
        ("src/agentrt/storage/__init__.py", "agentrt.storage"),
        ("src/agentrt/llm/models.json", "agentrt.llm"),
        ("src/agentrt/server/web/console/src/app.tsx", "agentrt.server.pages"),
        ("tests/proofs/test_kill.py", "tests.proofs.test_kill"),
        ("docs/mcp.md", None),
        ("README.md", None),
    ],
)
def test_a_file_belongs_to_a_module(path: str, module: str | None) -> None:
    assert module_of(path) == module


@pytest.mark.parametrize(
    ("path", "modules"),
    [
        ("src/agentrt/sandboxes/warden.bash", ("agentrt.sandboxes",)),
        ("src/agentrt/gone/away.py", ("agentrt",)),
        ("tests/documents/files/a.docx", ("tests",)),
        ("docs/mcp.md", ()),
    ],
)
def test_what_is_no_module_belongs_to_its_package(path: str, modules: tuple[str, ...]) -> None:
    assert modules_of(path, {"agentrt", "agentrt.sandboxes", "tests"}) == modules


@pytest.mark.simulated
def test_each_module_of_the_project_reaches_a_long_test() -> None:
    found = imports()
    tests = set(long_files().values())
    alone = [name for name in found if name.startswith("agentrt") and not tests & distances([name], found).keys()]
    assert sorted(alone) == ["agentrt.llm.matching", "agentrt.llm.recording"], (
        "those are tested by the default tests alone"
    )

"""In the tests nothing is patched, and nothing reaches into what is private to something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.pure

TESTS: Final = Path(__file__).parent

PUBLIC: Final = {
    "_fields": "of a named tuple (https://docs.python.org/3/library/collections.html#collections.somenamedtuple)",
    "_replace": "of a named tuple",
    "_asdict": "of a named tuple",
    "os._exit": "ends a process at once (https://docs.python.org/3/library/os.html#os._exit)",
    "sys._getframe": "the frame of a caller (https://docs.python.org/3/library/sys.html#sys._getframe)",
}
"""Names that begin with an underscore although they are documented, and what they are."""

PATCHING: Final = re.compile(r"monkeypatch\.(?:setattr|delattr|setitem|delitem)|mock\.patch|mocker\.patch")
MOCKS: Final = re.compile(r"(?:unittest\.mock|mock|pytest_mock)(?:\.|$)")


def is_private(name: str) -> bool:
    """Whether a name has one underscore before it."""
    return name.startswith("_") and not name.startswith("__")


def is_reached(value: ast.expr, name: str) -> bool:
    """Whether `name` is private to `value`, which is not the object whose code this is."""
    own = isinstance(value, ast.Name) and value.id in ("self", "cls")
    return is_private(name) and not own and name not in PUBLIC and f"{ast.unparse(value)}.{name}" not in PUBLIC


def is_bad_import(node: ast.ImportFrom, name: str) -> bool:
    """Whether it imports a mock, or what is private to a module of the package or of the tests."""
    ours = node.level > 0 or (node.module or "").partition(".")[0] in ("agentrt", "tests")
    return bool(MOCKS.match(f"{node.module}.{name}")) or (ours and is_private(name))


def faults(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The lines of a module in which something is patched, or something private of another is reached."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, f"import {one.name}") for one in names if MOCKS.match(one.name))
            case ast.ImportFrom(names=names):
                for one in names:
                    if is_bad_import(node, one.name):
                        yield node.lineno, f"from {node.module} import {one.name}"
            case ast.Attribute(value=value, attr=name):
                if PATCHING.fullmatch(ast.unparse(node)) or is_reached(value, name):
                    yield node.lineno, ast.unparse(node)
            case ast.Call(ast.Name("getattr" | "setattr" | "delattr"), [value, ast.Constant(str() as name), *_]):
                if is_reached(value, name):
                    yield node.lineno, ast.unparse(node)


@pytest.mark.simulated
def test_nothing_is_patched_and_nothing_private_is_reached() -> None:
    found = [
        f"{path.relative_to(TESTS.parent)}:{line}: {what}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, what in faults(ast.parse(path.read_text()))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "monkeypatch.setattr(module, 'LIMIT', 1)",
        "monkeypatch.setattr('agentrt.module.LIMIT', 1)",
        "monkeypatch.delattr(module, 'LIMIT')",
        "monkeypatch.setitem(sys.modules, 'name', None)",
        "with mock.patch('agentrt.module.LIMIT', 1): pass",
        "@mock.patch.object(module, 'LIMIT', 1)\ndef test(): pass",
        "import unittest.mock",
        "from unittest import mock",
        "from unittest.mock import patch",
        "from pytest_mock import MockerFixture",
        "thing._state",
        "thing._state = 1",
        "self.thing._state",
        "Thing()._state",
        "getattr(thing, '_state')",
        "setattr(thing, '_state', 1)",
        "from agentrt.module import _helper",
        "from tests.samples import _made",
        "from .samples import _made",
    ],
)
def test_each_kind_is_found(line: str) -> None:
    assert [number for number, _ in faults(ast.parse(line))] == [1]


@pytest.mark.parametrize(
    "line",
    [
        "monkeypatch.setenv('HOME', '/')",
        "monkeypatch.chdir('/')",
        "monkeypatch.syspath_prepend('/')",
        "self._state",
        "cls._state",
        "thing.__dict__",
        "os._exit(0)",
        "row._replace(name='x')",
        "_own()",
        "getattr(thing, 'state')",
    ],
)
def test_what_is_public_or_its_own_is_let_be(line: str) -> None:
    assert list(faults(ast.parse(line))) == []

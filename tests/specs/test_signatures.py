"""What type checkers are told of constructors agrees with the fields."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentrt import Agent, AgentContext, Skill

pytestmark = pytest.mark.simulated


def declared(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """The arguments of the constructor for type checkers, each with whether it may be left out."""
    tree = ast.parse(Path(inspect.getfile(kind)).read_text())
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    told = next(node for node in body.body if isinstance(node, ast.If))
    (made,) = (node for node in told.body if isinstance(node, ast.FunctionDef))
    named = zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True)
    return {one.arg: False for one in made.args.args[1:]} | {one.arg: default is not None for one, default in named}


@pytest.mark.parametrize("kind", [Agent, AgentContext, Skill])
def test_each_field_is_an_argument(kind: Any) -> None:
    fields = msgspec.structs.fields(kind)
    assert declared(kind) == {field.name: not field.required for field in fields}

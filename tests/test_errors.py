"""The tree of errors that their package shows is the one that its classes make."""

from __future__ import annotations

import inspect
import re

import pytest

from agentrt import errors

pytestmark = pytest.mark.pure


def test_the_tree_in_the_docstring_is_that_of_the_classes() -> None:
    shown: dict[str, str] = {}
    above = ["AgentrtError"]
    for branches, name in re.findall(r"^    ((?:│   |    )*)[├└]── (\w+)", errors.__doc__ or "", re.M):
        depth = len(branches) // 4 + 1
        above[depth:] = [name]
        shown[name] = above[depth - 1]
    tree = {
        name: kind.__mro__[1].__name__
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if name != "AgentrtError"
    }
    assert shown == tree
    assert set(errors.__all__) == {"AgentrtError", *tree}

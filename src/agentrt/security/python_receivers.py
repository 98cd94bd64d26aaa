"""`Receivers`: which objects of Python code may be network clients, and which are queues, caches, files. Pure."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator

from .python_names import NETWORK, TALKS
from .python_values import Values

_PLAIN = frozenset(
    {"Queue", "SimpleQueue", "LifoQueue", "PriorityQueue", "JoinableQueue", "dict", "list", "set", "tuple", "frozenset"}
    | {"str", "bytes", "bytearray", "int", "iter", "open", "deque", "defaultdict", "OrderedDict", "Counter", "range"}
)
"""Functions of Python and of its own modules whose results send nothing."""
_WRAPS = frozenset(
    {"asyncio", "builtins", "concurrent", "contextlib", "copy", "functools", "importlib", "itertools", "operator"}
    | {"types", "typing", "unittest", "weakref"}
)
"""Modules of Python whose other functions return what they are given or what they call, maybe a client."""
_DISPLAYS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LITERALS = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Compare, *_DISPLAYS)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MAX_DEPTH = 8


class Receivers:
    """The objects of one piece of code. An object that is not known may be a client."""

    def __init__(self, values: Values, nodes: Iterable[ast.AST]) -> None:
        self._values = values
        self._bound: dict[str, list[ast.AST | None]] = defaultdict(list)
        """What each name, and each attribute with a dot before it, was assigned; None if that is not known."""
        self._generators: set[str] = set()
        for node in nodes:
            self._bind(node)

    def may_talk(self, node: ast.AST, method: str) -> bool:
        """Return whether the object `node`, of which `method` is called, may be a network client."""
        return f".{method}" in self._bound or self._may(node, 0)

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, value)
            case ast.NamedExpr(target=target, value=value):
                self._assign(target, value)
            case ast.withitem(context_expr=value, optional_vars=target) if target is not None:
                self._assign(target, value)
            case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
                self._assign(target, None)
            case ast.arg(arg=name) | ast.ClassDef(name=name):
                self._bound[name].append(None)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._bound[name].append(None)
                if _yields(node):
                    self._generators.add(name)

    def _assign(self, target: ast.AST, value: ast.AST | None) -> None:
        match target:
            case ast.Name(id=name):
                self._bound[name].append(value)
            case ast.Attribute(attr=name):
                self._bound[f".{name}"].append(value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for each in targets:
                    self._assign(each, None)

    def _may(self, node: ast.AST | None, depth: int) -> bool:
        if depth > _MAX_DEPTH:
            return True
        match node:
            case ast.Await(value=value):
                return self._may(value, depth + 1)
            case ast.Call():
                return self._may_return(node, depth)
            case ast.Name(id=name) if name in self._bound:
                return any(self._may(value, depth + 2) for value in self._bound[name][:3]) or self._many(name)
            case ast.Attribute(attr=name) if f".{name}" in self._bound:
                return any(self._may(each, depth + 2) for each in self._bound[f".{name}"][:3]) or self._many(f".{name}")
            case ast.Name() | ast.Attribute():
                return self._may_be(self._values.dotted(node), False)
        return not isinstance(node, _LITERALS)

    def _many(self, name: str) -> bool:
        return len(self._bound[name]) > 3

    def _may_return(self, node: ast.Call, depth: int) -> bool:
        """Return whether a call may return a client."""
        if any(self._is_client(argument) for argument in (*node.args, *(each.value for each in node.keywords))):
            return True
        match node.func:
            case ast.Name(id=name) if name in self._bound:
                return not (name in self._generators and len(self._bound[name]) == 1)
            case ast.Attribute(value=value) if not self._is_imported(self._values.dotted(node.func)):
                return self._may(value, depth + 1)
        return self._may_be(self._values.dotted(node.func), True)

    def _is_client(self, node: ast.AST) -> bool:
        values = self._bound.get(node.id, []) if isinstance(node, ast.Name) else []
        return any(NETWORK.match(self._values.dotted(each)) for each in (node, *values[:3]) if each is not None)

    def _is_imported(self, name: str) -> bool:
        return name.partition(".")[0] in self._values.modules

    def _may_be(self, name: str, called: bool) -> bool:
        """Return whether what a full name stands for, or returns, may be a client."""
        top, _, rest = name.partition(".")
        if not self._is_imported(name):
            return not (called and name in _PLAIN)
        if top in sys.stdlib_module_names:
            plain = rest.rpartition(".")[2] in _PLAIN
            return bool(NETWORK.match(name)) or (top in _WRAPS and not plain)
        return bool(NETWORK.match(name) or TALKS.search(top))


def _yields(function: ast.AST) -> bool:
    """Return whether a function is a generator."""
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _own(function))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of the functions and classes in it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))

"""BrowserGym's action space, as a model writes it: calls of a fixed set of functions with literal arguments. Pure.

Nothing is evaluated: the text is parsed as Python, and anything but such calls is refused. Source: BrowserGym,
`browsergym/core/src/browsergym/core/action/functions.py`, and its paper (arXiv 2412.05467, appendix).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from ...errors import ToolError

LONGEST = 100_000
"""Maximum characters of a program: it may fill in long texts."""

MOST_CALLS = 50
"""Maximum number of calls in a program."""

DEEPEST = 3
"""Maximum depth of nested lists in an argument."""

Button: TypeAlias = Literal["left", "middle", "right"]
Modifiers: TypeAlias = list[Literal["Alt", "Control", "ControlOrMeta", "Meta", "Shift"]]
Bid: TypeAlias = str


class GymCall(msgspec.Struct, frozen=True):
    """A call: the name of the function, and all arguments by name."""

    name: str
    arguments: dict[str, Any]


class Actions:
    """The available functions. They only declare their parameters, and are never called."""

    def noop(self, wait_ms: float = 1000) -> None: ...
    def send_msg_to_user(self, text: str) -> None: ...
    def report_infeasible(self, reason: str) -> None: ...
    def scroll(self, delta_x: float, delta_y: float) -> None: ...
    def fill(self, bid: Bid, value: str) -> None: ...
    def check(self, bid: Bid) -> None: ...
    def uncheck(self, bid: Bid) -> None: ...
    def select_option(self, bid: Bid, options: str | list[str]) -> None: ...
    def click(self, bid: Bid, button: Button = "left", modifiers: Modifiers = []) -> None: ...  # noqa: B006
    def dblclick(self, bid: Bid, button: Button = "left", modifiers: Modifiers = []) -> None: ...  # noqa: B006
    def hover(self, bid: Bid) -> None: ...
    def press(self, bid: Bid, key_comb: str) -> None: ...
    def focus(self, bid: Bid) -> None: ...
    def clear(self, bid: Bid) -> None: ...
    def drag_and_drop(self, from_bid: Bid, to_bid: Bid) -> None: ...
    def upload_file(self, bid: Bid, file: str | list[str]) -> None: ...
    def go_back(self) -> None: ...
    def go_forward(self) -> None: ...
    def goto(self, url: str) -> None: ...
    def new_tab(self) -> None: ...
    def tab_close(self) -> None: ...
    def tab_focus(self, index: int) -> None: ...
    def mouse_move(self, x: float, y: float) -> None: ...
    def mouse_up(self, x: float, y: float, button: Button = "left") -> None: ...
    def mouse_down(self, x: float, y: float, button: Button = "left") -> None: ...
    def mouse_click(self, x: float, y: float, button: Button = "left") -> None: ...
    def mouse_dblclick(self, x: float, y: float, button: Button = "left") -> None: ...
    def mouse_drag_and_drop(self, from_x: float, from_y: float, to_x: float, to_y: float) -> None: ...
    def mouse_upload_file(self, x: float, y: float, file: str | list[str]) -> None: ...
    def keyboard_press(self, key: str) -> None: ...
    def keyboard_up(self, key: str) -> None: ...
    def keyboard_down(self, key: str) -> None: ...
    def keyboard_type(self, text: str) -> None: ...
    def keyboard_insert_text(self, text: str) -> None: ...


SIGNATURES = {
    name: inspect.signature(function, eval_str=True).replace(return_annotation=inspect.Signature.empty)
    for name, function in vars(Actions).items()
    if not name.startswith("_")
}
"""The parameters of each function, with types and defaults, by name."""


def documented() -> str:
    """Return the functions as a model is told of them."""
    return ", ".join(f"{name}({_parameters(name)})" for name in SIGNATURES)


def _parameters(name: str) -> str:
    shown = list(SIGNATURES[name].parameters.values())[1:]
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in shown)


def parsed(code: str) -> tuple[GymCall, ...]:
    """Return the calls of a program, in order. Raises `ToolError` that says what is wrong, and in which line."""
    if len(code) > LONGEST:
        raise ToolError(f"the code has {len(code):,} characters: {LONGEST:,} are the most")
    try:
        statements = ast.parse(code.strip()).body
    except SyntaxError as error:
        raise ToolError(f"line {error.lineno or 1}: {error.msg}. {_HOW}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ToolError(f"it cannot be read: {error}. {_HOW}") from error
    if not statements:
        raise ToolError(f"there is no call. {_HOW}")
    if len(statements) > MOST_CALLS:
        raise ToolError(f"{len(statements)} calls: a program may have {MOST_CALLS} at most")
    return tuple(map(_call, statements))


_HOW = "Write calls, one a line, such as click('a51')"


def _call(statement: ast.stmt) -> GymCall:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise _wrong(statement, f"this is not a call. {_HOW}")
    name = call.func.id
    if name not in SIGNATURES:
        raise _wrong(statement, f"there is no {name}. There are {', '.join(SIGNATURES)}")
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        raise _wrong(statement, "arguments cannot be unpacked")
    names = [str(one.arg) for one in call.keywords]
    if len(set(names)) < len(names):
        raise _wrong(statement, "an argument is given twice")
    values = [_literal(one) for one in call.args]
    named = {key: _literal(one.value) for key, one in zip(names, call.keywords, strict=True)}
    return GymCall(name, _bound(statement, name, values, named))


def _bound(at: ast.stmt, name: str, values: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    signature = SIGNATURES[name]
    try:
        bound = signature.bind(None, *values, **named)
    except TypeError as error:
        raise _wrong(at, f"{name}({_parameters(name)}): {error}") from error
    bound.apply_defaults()
    given = dict(bound.arguments)
    del given["self"]
    try:
        return {
            key: msgspec.convert(value, signature.parameters[key].annotation, strict=True)
            for key, value in given.items()
        }
    except msgspec.ValidationError as error:
        raise _wrong(at, f"{name}({_parameters(name)}): {error}") from error


def _literal(node: ast.expr, depth: int = 0) -> Any:
    """Return the value of a text, a number, True, False, None, or a list or tuple of such."""
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if value is not True:
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items) if depth < DEEPEST:
            return [_literal(item, depth + 1) for item in items]
        case _:
            raise _wrong(node, "arguments are texts, numbers and lists as they are, nothing is evaluated")


def _wrong(node: ast.stmt | ast.expr, why: str) -> ToolError:
    return ToolError(f"line {node.lineno}: {why}")

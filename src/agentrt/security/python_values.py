"""`Values`: resolves names in Python code, and folds its expressions to text. The code is never run."""

from __future__ import annotations

import ast
import base64
import binascii
import builtins
import codecs
import re

from .budget import Budget
from .python_names import COMMANDS, DECODE, EXEC, NETWORK, PROCESS, SHELL
from .shell_text import ANY, DECODED, FACT, FETCHED, settled

MAX_TEXT = 10_000
"""Maximum length of a text that is put together, in characters."""

_IMPORTS = ("__import__", "importlib.import_module", "builtins.__import__")


class Values:
    """The imports of one piece of code, and its named constants and lists."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.modules: set[str] = set()
        """The top-level names of the imported modules."""
        self.lists: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, str] = {}
        self._stars: list[str] = []
        self._constants: dict[str, str] = {}

    def note(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for name in names:
                    self.modules.add(name.name.partition(".")[0])
                    self._names[name.asname or name.name.split(".")[0]] = (
                        name.name if name.asname else name.name.split(".")[0]
                    )
            case ast.ImportFrom(module=str(module), names=names):
                self.modules.add(module.partition(".")[0])
                for name in names:
                    if name.name == "*":
                        self._stars.append(module)
                    self._names[name.asname or name.name] = f"{module}.{name.name}"
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if isinstance(value, (ast.List, ast.Tuple)):
                    self.lists[name] = tuple(self.fold(item) for item in value.elts)
                dotted = self.dotted(value)
                if dotted and (isinstance(value, (ast.Name, ast.Attribute)) or self._looks_up(value)):
                    self._names[name] = dotted
                folded = self.fold(value)
                self._constants[name] = folded if name not in self._constants else _one(self._constants[name], folded)

    def dotted(self, node: ast.AST) -> str:
        """Return the full dotted name of an expression, with imports and `getattr` resolved."""
        self._budget.work -= 4
        if self._budget.work < 0:
            self._budget.spend(0)
        match node:
            case ast.Name(id=name):
                return self._names.get(name) or self._of_a_star(name)
            case ast.Attribute(value=value, attr=attr):
                head = self.dotted(value)
                return f"{head}.{attr}" if head else f"?.{attr}"
            case ast.Call(func=func, args=[first, *rest]):
                name = self.dotted(func)
                if name in _IMPORTS:
                    return self.fold(first)
                if name == "getattr" and rest:
                    return f"{self.dotted(first)}.{self.fold(rest[0])}"
                return name
            case ast.Call(func=func):
                return self.dotted(func)
        return ""

    def _looks_up(self, value: ast.AST) -> bool:
        return isinstance(value, ast.Call) and self.dotted(value.func) in ("getattr", *_IMPORTS, *self._names.values())

    def _of_a_star(self, name: str) -> str:
        """Return the full name of `name` if it may come from a `*` import, else `name`."""
        for module in self._stars:
            full = f"{module}.{name}"
            talks = NETWORK.match(full) and not hasattr(builtins, name)
            if talks or full in SHELL or full in COMMANDS or EXEC.fullmatch(full) or full == f"subprocess.{name}":
                return full if module != "subprocess" or name in PROCESS or full in SHELL else name
        return name

    def fold(self, node: ast.AST | None, depth: int = 0) -> str:
        """Return the value of an expression as text; marks stand for unknown parts."""
        if depth > 20 or node is None:
            return ANY
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Constant(value=bytes(data)):
                return data.decode("utf-8", "replace")
            case ast.Constant(value=value):
                return str(value)
            case ast.Name(id=name):
                return self._constants.get(name, ANY)
            case ast.JoinedStr(values=values):
                return self._joined("", [self.fold(value, depth + 1) for value in values])
            case ast.FormattedValue(value=value):
                return self.fold(value, depth + 1)
            case ast.BinOp(left=left, op=ast.Add(), right=right) | ast.BinOp(left=left, op=ast.Div(), right=right):
                middle = "/" if isinstance(node.op, ast.Div) else ""
                return self._joined(middle, [self.fold(left, depth + 1), self.fold(right, depth + 1)])
            case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub()))):
                return self.fold(value, depth + 1)[::-1]
            case ast.Subscript(slice=ast.Constant(value="HOME")):
                return "~" if self.dotted(node.value) == "os.environ" else ANY
            case ast.Call():
                return self._fold_call(node, depth)
            case ast.Attribute():
                name = self.dotted(node)
                return FETCHED if NETWORK.match(name) else _CONSTANTS.get(name, ANY)
        return ANY

    def _joined(self, between: str, texts: list[str]) -> str:
        """Return texts joined; of what would be too long, only that it is not known."""
        length = sum(map(len, texts)) + len(between) * (len(texts) - 1)
        self._budget.spend(1 + min(length, MAX_TEXT))
        if length <= MAX_TEXT:
            return between.join(texts)
        return next((mark for mark in (FETCHED, DECODED) if any(mark in text for text in texts)), ANY)

    def _fold_call(self, node: ast.Call, depth: int) -> str:
        name = self.dotted(node.func)
        args = [self.fold(arg, depth + 1) for arg in node.args]
        last = name.rpartition(".")[2]
        match last:
            case "b64decode" | "decodebytes" | "fromhex" | "unhexlify" if args and settled(args[0]):
                return _decoded(args[0], "64" in last or last == "decodebytes")
            case "decode" | "encode" | "strip" | "str" | "as_posix" | "resolve" | "absolute":
                if isinstance(node.func, ast.Attribute) and last != "str":
                    inner = self.fold(node.func.value, depth + 1)
                    return _codec(inner, args[0]) if args and last == "decode" else inner
                return args[0] if args else ""
            case "chr" if args and args[0].isdecimal() and int(args[0]) < 0x110000:
                return chr(int(args[0]))
            case "join" if isinstance(node.func, ast.Attribute) and node.args:
                if name.endswith("path.join"):
                    return self._joined("/", args)
                between = self.fold(node.func.value, depth + 1)
                first = node.args[0]
                if isinstance(first, (ast.List, ast.Tuple)):
                    return self._joined(between, [self.fold(item, depth + 1) for item in first.elts])
                return self.fold(ast.Constant("")) + ANY
            case (
                "expanduser"
                | "abspath"
                | "realpath"
                | "normpath"
                | "Path"
                | "PurePath"
                | "expandvars"
                | "PosixPath"
                | "quote"
            ):
                return args[0].replace("$HOME", "~") if args else "."
            case "home":
                return "~"
            case "getenv" | "get" if args[:1] == ["HOME"]:
                return "~"
            case "joinpath" if isinstance(node.func, ast.Attribute):
                return self._joined("/", [self.fold(node.func.value, depth + 1), *args])
            case "getcwd" | "cwd":
                return "."
            case "mkdtemp" | "gettempdir" | "mkstemp" | "TemporaryDirectory" | "NamedTemporaryFile":
                return f"/tmp/{FACT}"
            case "replace" if len(args) == 2 and isinstance(node.func, ast.Attribute):
                return self._budget.replace(self.fold(node.func.value, depth + 1), args[0], args[1])
        if NETWORK.match(name):
            return FETCHED
        return ANY if not DECODE.search(name + "(") else DECODED


_CONSTANTS = {"sys.executable": "python", "os.sep": "/", "os.curdir": ".", "os.devnull": "/dev/null"}


def _one(old: str, new: str) -> str:
    return old if old == new else ANY


def _decoded(text: str, base: bool) -> str:
    try:
        data = base64.b64decode(text + "===") if base else binascii.unhexlify(re.sub(r"\s", "", text))
        return data.decode("utf-8")
    except (ValueError, binascii.Error):
        return DECODED


def _codec(text: str, name: str) -> str:
    if name.lower().replace("_", "") in ("rot13", "rot-13"):
        return codecs.decode(text, "rot13") if settled(text) else text
    return text if name.lower().replace("-", "") in ("utf8", "ascii", "latin1", "utf16") else DECODED

"""Python code, read by its syntax tree: what it runs, deletes, reads and sends. Nothing of it is run."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import re
import warnings
from typing import TYPE_CHECKING

from .paths import secret
from .python_names import (
    COMMANDS,
    DANGEROUS_NAMES,
    DECODE,
    EXEC,
    LOOPBACK,
    METADATA,
    MODULES,
    NETWORK,
    OF_ENVIRONMENT,
    PROCESS,
    QUIET,
    RUNNER,
    SHELL,
)
from .shell_scope import Scope
from .shell_text import ANY, DECODED, FACT, FETCHED, settled
from .verdicts import high, medium, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

MAX_CODE = 40_000
"""Characters of Python that are read."""
UNREADABLE = "what it runs is only known when it runs"


def rate_python(walk: Walk, code: str, scope: Scope, lines: bool = False) -> None:
    """Rate what `code` would do. What this Python does not read another may run: UNKNOWN, if it names what does harm.

    With `lines` it is something that may be Python, and what is not counts for nothing.
    """
    if len(code) > MAX_CODE:
        walk.add(unknown("too much code to read"))
        return
    if not settled(code):
        walk.add(unknown(UNREADABLE))
    for line in re.findall(r"(?m)^\s*!(.*)", code):
        walk.code(line, scope.copy())  # of a notebook
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(re.sub(r"(?m)^(\s*)[!%]", r"\1#", code.replace(FACT, "0")))
        _Reader(walk, scope, code).read(tree)
    except (SyntaxError, ValueError):
        if not lines:
            _by_pattern(walk, code)
    except (RecursionError, MemoryError):
        walk.add(unknown("code that is nested too deep"))


def _by_pattern(walk: Walk, code: str) -> None:
    if re.search(
        r"os\.(?:system|popen|exec|remove|unlink)|subprocess|socket|urllib|requests|rmtree|eval|exec|__import__", code
    ):
        walk.add(unknown("code that cannot be read"))


class _Reader:
    """One code being read: the names that it imports, and the constants that it gives names to."""

    def __init__(self, walk: Walk, scope: Scope, code: str) -> None:
        self._walk, self._scope, self._code = walk, scope, code
        self._names: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self._lists: dict[str, tuple[str, ...]] = {}
        self._network = self._reads = self._shells = False

    def read(self, tree: ast.AST) -> None:
        nodes = list(ast.walk(tree))
        for node in nodes:
            self._note(node)
        single = {
            id(node.value)
            for node in nodes
            if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in OF_ENVIRONMENT)
        }
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        called |= {id(node.value) for node in nodes if isinstance(node, (ast.Attribute, ast.Assign))}
        for node in nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in called:
                self._handed_on(node)
            match node:
                case ast.While() if any(isinstance(n, ast.Attribute) and n.attr == "fork" for n in ast.walk(node)):
                    self._walk.add(high("starts processes without end"))
                case ast.Call():
                    self._call(node)
                case ast.Attribute(attr=attr) | ast.Name(id=attr) if attr in DANGEROUS_NAMES:
                    self._walk.add(unknown("reaches into the interpreter"))
                case ast.Attribute(attr="__dict__", value=value) if self._dotted(value) in MODULES:
                    self._walk.add(unknown("reaches into the interpreter"))
                case ast.Subscript(value=value) if self._dotted(value) in ("sys.modules", "globals", "vars", "locals"):
                    self._walk.add(unknown("reaches into the interpreter"))
                case ast.Constant(value=str(text)):
                    self._text(text)
                case ast.Attribute(attr="environ") if id(node) not in single:
                    self._environment(node)
        if self._network:
            self._sends()

    def _handed_on(self, node: ast.Name | ast.Attribute) -> None:
        """What runs commands may be called by another name, or by what it is given to."""
        name = self._dotted(node)
        if name in SHELL or name in COMMANDS or EXEC.fullmatch(name) or re.fullmatch(RUNNER, name):
            self._walk.add(unknown("hands on what runs commands"))

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for name in names:
                    self._names[name.asname or name.name.split(".")[0]] = (
                        name.name if name.asname else name.name.split(".")[0]
                    )
            case ast.ImportFrom(module=str(module), names=names):
                for name in names:
                    self._names[name.asname or name.name] = f"{module}.{name.name}"
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if isinstance(value, (ast.List, ast.Tuple)):
                    self._lists[name] = tuple(self._fold(item) for item in value.elts)
                dotted = self._dotted(value)
                if dotted and isinstance(value, (ast.Name, ast.Attribute)):
                    self._names[name] = dotted
                folded = self._fold(value)
                self._constants[name] = folded if name not in self._constants else _one(self._constants[name], folded)

    def _dotted(self, node: ast.AST) -> str:
        """The full name of what an expression means, imports and `getattr` resolved."""
        match node:
            case ast.Name(id=name):
                return self._names.get(name, name)
            case ast.Attribute(value=value, attr=attr):
                head = self._dotted(value)
                return f"{head}.{attr}" if head else f"?.{attr}"
            case ast.Call(func=func, args=[first, *rest]):
                name = self._dotted(func)
                if name in ("__import__", "importlib.import_module", "builtins.__import__"):
                    return self._fold(first)
                if name == "getattr" and rest:
                    return f"{self._dotted(first)}.{self._fold(rest[0])}"
                return name
            case ast.Call(func=func):
                return self._dotted(func)
        return ""

    def _fold(self, node: ast.AST | None, depth: int = 0) -> str:
        """The text that an expression is, with marks for what is not known of it."""
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
                return "".join(self._fold(value, depth + 1) for value in values)[:10_000]
            case ast.FormattedValue(value=value):
                return self._fold(value, depth + 1)
            case ast.BinOp(left=left, op=ast.Add(), right=right) | ast.BinOp(left=left, op=ast.Div(), right=right):
                middle = "/" if isinstance(node.op, ast.Div) else ""
                return (self._fold(left, depth + 1) + middle + self._fold(right, depth + 1))[:10_000]
            case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub()))):
                return self._fold(value, depth + 1)[::-1]
            case ast.Call():
                return self._fold_call(node, depth)
            case ast.Attribute() if NETWORK.match(self._dotted(node)):
                return FETCHED
            case ast.Attribute():
                return {"sys.executable": "python", "os.sep": "/", "os.curdir": ".", "os.devnull": "/dev/null"}.get(
                    self._dotted(node), ANY
                )
        return ANY

    def _fold_call(self, node: ast.Call, depth: int) -> str:
        name = self._dotted(node.func)
        args = [self._fold(arg, depth + 1) for arg in node.args]
        last = name.rpartition(".")[2]
        match last:
            case "b64decode" | "decodebytes" | "fromhex" | "unhexlify" if args and settled(args[0]):
                return _decoded(args[0], "64" in last or last == "decodebytes")
            case "decode" | "encode" | "strip" | "str" | "as_posix" | "resolve" | "absolute":
                if isinstance(node.func, ast.Attribute) and last != "str":
                    inner = self._fold(node.func.value, depth + 1)
                    return _codec(inner, args[0]) if args and last == "decode" else inner
                return args[0] if args else ""
            case "chr" if args and args[0].isdecimal() and int(args[0]) < 0x110000:
                return chr(int(args[0]))
            case "join" if isinstance(node.func, ast.Attribute) and node.args:
                if name.endswith("path.join"):
                    return "/".join(args)
                between = self._fold(node.func.value, depth + 1)
                first = node.args[0]
                if isinstance(first, (ast.List, ast.Tuple)):
                    return between.join(self._fold(item, depth + 1) for item in first.elts)
                return self._fold(ast.Constant("")) + ANY
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
            case "getcwd" | "cwd":
                return "."
            case "mkdtemp" | "gettempdir" | "mkstemp" | "TemporaryDirectory" | "NamedTemporaryFile":
                return f"/tmp/{FACT}"
            case "replace" if len(args) == 2 and isinstance(node.func, ast.Attribute):
                return self._fold(node.func.value, depth + 1).replace(args[0], args[1])
        if NETWORK.match(name):
            return FETCHED
        return ANY if not DECODE.search(name + "(") else DECODED

    def _call(self, node: ast.Call) -> None:
        name = self._dotted(node.func)
        last = name.rpartition(".")[2]
        if name in ("eval", "exec", "builtins.eval", "builtins.exec", "compile") and node.args:
            self._evaluates(node.args[0])
        elif name in SHELL and node.args:
            self._runs_text(self._fold(node.args[0]))
        elif last in PROCESS and name.startswith(("subprocess.", "asyncio.")):
            self._process(node)
        elif name == "asyncio.create_subprocess_exec" or EXEC.fullmatch(name):
            self._runs([self._fold(arg) for arg in node.args if not isinstance(arg, ast.Dict)], "spawn" in name, node)
        elif name in COMMANDS:
            words = tuple(self._fold(arg) for arg in node.args[: 2 if COMMANDS[name][0] in ("mv", "cp", "ln") else 1])
            self._walk.run((*COMMANDS[name], *(words or (ANY,))), self._scope.copy(), plain=True)
        elif last in ("rmtree", "unlink", "rmdir", "write_text", "write_bytes", "read_text", "read_bytes", "touch"):
            self._path_method(node, last)
        elif name in ("open", "io.open", "codecs.open", "builtins.open") or last == "open":
            self._opens(node, last == "open" and name not in ("open", "io.open", "codecs.open", "builtins.open"))
        elif name in ("pip.main", "pip._internal.main", "pip._internal.cli.main.main"):
            self._walk.add(medium("installs software", ("network",), ("web",)))
        elif name.startswith("ctypes.") and last in ("CDLL", "PyDLL", "LoadLibrary"):
            self._walk.add(unknown("calls native code"))
        elif (
            name == "getattr"
            and len(node.args) > 1
            and self._dotted(node.args[0]) in ("os", "subprocess", "builtins", "shutil")
        ):
            if not settled(self._fold(node.args[1])):
                self._walk.add(unknown(UNREADABLE))
        elif name in ("__import__", "importlib.import_module") and node.args and not settled(self._fold(node.args[0])):
            self._walk.add(unknown(UNREADABLE))
        if name.endswith(("os.dup2", "os.getenvb")) or name == "pty.spawn":
            self._shells = True
        if NETWORK.match(name) and not QUIET.match(name):
            self._network = True

    def _evaluates(self, argument: ast.AST) -> None:
        text = self._fold(argument)
        if settled(text):
            rate_python(self._walk, text, self._scope)
        elif FETCHED in text:
            self._walk.add(high("runs what it fetches", ("network",), ("web",)))
        elif DECODED in text or DECODE.search(ast.unparse(argument) + "("):
            self._walk.add(high("runs decoded text"))
        else:
            self._walk.add(unknown("evaluates text as code"))

    def _runs_text(self, text: str) -> None:
        self._walk.code(text, self._scope.copy())

    def _process(self, node: ast.Call) -> None:
        command = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "args"), None)
        shell = any(
            k.arg == "shell" and not (isinstance(k.value, ast.Constant) and not k.value.value) for k in node.keywords
        )
        if isinstance(command, (ast.List, ast.Tuple)):
            self._runs([self._fold(item) for item in command.elts], False, node)
        elif isinstance(command, ast.Name) and command.id in self._lists:
            self._runs(list(self._lists[command.id]), False, node)
        elif isinstance(command, ast.Call) and self._dotted(command.func) == "shlex.split" and command.args:
            self._runs_text(self._fold(command.args[0]))
        elif isinstance(command, ast.Call) and isinstance(command.func, ast.Attribute) and command.func.attr == "split":
            self._runs_text(self._fold(command.func.value))
        elif shell or settled(self._fold(command)):
            self._runs_text(self._fold(command))
        else:
            self._walk.add(unknown(UNREADABLE))

    def _runs(self, words: list[str], spawns: bool, node: ast.Call) -> None:
        name = self._dotted(node.func)
        if EXEC.fullmatch(name):
            arguments = node.args[1 if spawns and "posix" not in name.split(".")[1] else 0 :]
            flat: list[str] = []
            for argument in arguments:
                elements = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
                flat.extend(self._fold(item) for item in elements)
            words = [flat[0], *flat[2:]] if len(flat) > 1 else flat
        if any("/sh" in word or word in ("sh", "bash") or word.endswith("/bash") for word in words[:1]):
            self._shells = True
        self._walk.run(tuple(words), self._scope.copy(), plain=True)

    def _path_method(self, node: ast.Call, last: str) -> None:
        if not isinstance(node.func, ast.Attribute):
            return
        path = self._fold(node.func.value)
        if last in ("rmtree", "unlink", "rmdir"):
            self._walk.run(("rm", path), self._scope.copy(), plain=True)
        else:
            self._touches(path, last.startswith(("write", "touch")))

    def _opens(self, node: ast.Call, method: bool) -> None:
        if method and isinstance(node.func, ast.Attribute):
            path = self._fold(node.func.value)
            mode = self._fold(node.args[0]) if node.args else "r"
        else:
            path = self._fold(node.args[0]) if node.args else ANY
            mode = self._fold(node.args[1]) if len(node.args) > 1 else "r"
        mode = next((self._fold(k.value) for k in node.keywords if k.arg == "mode"), mode)
        self._touches(path, any(letter in mode for letter in "wax+"))

    def _touches(self, path: str, writes: bool) -> None:
        """A path that is not known is let pass: scripts in files are not read either."""
        self._reads = self._reads or not writes
        if settled(path) and "\0" not in path:
            self._walk.run(("touch" if writes else "cat", "--", path), self._scope.copy(), plain=True)

    def _environment(self, node: ast.Attribute) -> None:
        if self._dotted(node) == "os.environ":
            self._reads = True
            self._walk.add(medium("shows the environment", ("secrets",)))

    def _text(self, text: str) -> None:
        if len(text) < 300 and METADATA.search(text):
            self._walk.add(high("asks for the machine's own credentials", ("network", "secrets")))
        if len(text) < 300 and "\n" not in text:
            where = self._walk.where
            if secret(text, text, where) == "credentials" and "/" in text:
                self._walk.add(high("reads keys or passwords", ("secrets",)))

    def _sends(self) -> None:
        hosts = re.findall(r"https?://[^\s'\"]+", self._code)
        local = hosts and all(LOOPBACK.match(host) for host in hosts)
        if not hosts and re.search(r"['\"](?:localhost|127\.0\.0\.1|)['\"]\s*,", self._code):
            local = True
        if self._shells:
            self._walk.add(high("gives a shell to a network", ("network",)))
        elif local:
            return
        elif self._reads or "subprocess" in self._names or re.search(r"TOKEN|SECRET|PASSWORD|API_KEY", self._code):
            self._walk.add(high("sends local content to a network", ("network",), ("web",)))
        else:
            self._walk.add(medium("talks to a network", ("network",), ("web",)))


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

"""Ratings of Python code by its syntax tree: what it runs, deletes, reads and sends. The code is never run."""

from __future__ import annotations

import ast
import re
import sys
import threading
import warnings
from functools import partial
from typing import TYPE_CHECKING

from ..specs import SecurityRisk
from .own_rules import USES_LIBRARY, rate_requests
from .paths import place, secret
from .python_names import (
    COMMANDS,
    DANGEROUS_NAMES,
    DECODE,
    EVALUATORS,
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
from .python_requests import Requests
from .python_values import Values
from .request_rules import note_sent
from .shell_scope import Scope
from .shell_text import ANY, DECODED, FACT, FETCHED, settled
from .task_rules import keep
from .verdicts import high, medium, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

MAX_CODE = 40_000
"""Maximum length of Python code, in characters; longer code is UNKNOWN."""
_URL = re.compile(r"(?i:https?)://[^\s'\"]+")
_HOST = re.compile(r"https?://|[\w-]+(?:\.[\w-]+)+\Z|\[?[0-9a-fA-F:]+:[0-9a-fA-F:]*\]?\Z")
_WARNINGS = threading.Lock()
"""`catch_warnings` changes the filters of the process: two threads that are in it at once may leave them changed."""
UNREADABLE = "what it runs is only known when it runs"


def rate_python(walk: Walk, code: str, scope: Scope, lines: bool = False) -> None:
    """Rate what `code` would do.

    Code that this Python version cannot parse may run in another: it is UNKNOWN if it names something dangerous. With
    `lines`, the code may be no Python at all, and a syntax error does not count.
    """
    walk.budget.spend(32 + len(code))
    if len(code) > MAX_CODE:
        walk.add(unknown("too much code to read"))
        return
    walk.add(*rate_requests(code, walk.where))
    if not settled(code):
        walk.add(unknown(UNREADABLE))
    for line in re.findall(r"(?m)^[^\S\n]*+!(.*)", code):
        walk.code(line, scope.copy())  # a shell command in a notebook
    try:
        with _WARNINGS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(re.sub(r"(?m)^([^\S\n]*+)[!%]", r"\1#", code.replace(FACT, "0")))
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


def _forks_in_a_loop(tree: ast.AST, nodes: list[ast.AST]) -> bool:
    """Return whether a `while` loop contains a `fork`; `nodes` are all nodes of the tree."""
    if not any(isinstance(node, ast.Attribute) and node.attr == "fork" for node in nodes):
        return False
    waiting = [(tree, False)]
    while waiting:
        node, within = waiting.pop()
        if within and isinstance(node, ast.Attribute) and node.attr == "fork":
            return True
        within = within or isinstance(node, ast.While)
        waiting.extend((child, within) for child in ast.iter_child_nodes(node))
    return False


class _Reader:
    """The state of reading one piece of code: its names and constants, and what was found so far."""

    def __init__(self, walk: Walk, scope: Scope, code: str) -> None:
        self._walk, self._scope, self._code = walk, scope, code
        self._values = Values(walk.budget)
        self._fold, self._dotted = self._values.fold, self._values.dotted
        self._network = self._reads = self._shells = False
        self._requests = Requests(self._values)
        self._here = self._away = False
        """Whether the code talks to this machine, and whether to another."""

    def read(self, tree: ast.AST) -> None:
        nodes = list(ast.walk(tree))
        self._walk.budget.spend(len(nodes))
        for node in nodes:
            self._values.note(node)
        if _forks_in_a_loop(tree, nodes):
            self._walk.add(high("starts processes without end"))
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
                case ast.Call():
                    self._call(node)
                case ast.Attribute(attr=attr) | ast.Name(id=attr) if attr in DANGEROUS_NAMES:
                    self._walk.add(unknown("reaches into the interpreter"))
                case ast.Attribute(attr="__dict__", value=value) if self._dotted(value) in MODULES:
                    self._walk.add(unknown("reaches into the interpreter"))
                case ast.Subscript(value=value) if self._dotted(value) in (
                    "sys.modules",
                    "globals",
                    "vars",
                    "locals",
                ):
                    self._walk.add(unknown("reaches into the interpreter"))
                case ast.Constant(value=str(text)):
                    self._text(text)
                case ast.Attribute(attr="environ") if id(node) not in single:
                    self._environment(node)
        if self._network:
            self._sends()
        note_sent(self._walk, self._requests.ports(nodes, self._network), self._walk.where)
        if "agentrt" in self._values.modules:
            self._walk.add(USES_LIBRARY)
        for module in sorted(self._values.modules - sys.stdlib_module_names):
            self._imports(module)

    def _imports(self, module: str) -> None:
        """Rate an imported module of the current directory, as it is run too; only HIGH ratings count."""
        for directory in self._scope.directories:
            for name in (f"{module}.py", f"{module}/__init__.py"):
                path = place(name, directory, self._walk.where).path
                text = self._scope.text_of(path)
                if text is not None and path not in self._scope.imported:
                    self._scope.imported.add(path)
                    keep(self._walk, (SecurityRisk.HIGH,), partial(rate_python, self._walk, text, self._scope.copy()))

    def _handed_on(self, node: ast.Name | ast.Attribute) -> None:
        """Rate a function that runs commands and is passed on without a call: other code may call it."""
        name = self._dotted(node)
        if name in SHELL or name in COMMANDS or EXEC.fullmatch(name) or re.fullmatch(RUNNER, name):
            self._walk.add(unknown("hands on what runs commands"))
        self._requests.hand_on(name)

    def _call(self, node: ast.Call) -> None:
        name = self._dotted(node.func)
        last = name.rpartition(".")[2]
        if name in EVALUATORS and node.args:
            self._evaluates(node.args[0])
        elif name in ("runpy.run_path", "runpy.run_module") and node.args:
            given = self._fold(node.args[0])
            self._walk.run(("python", *(("-m",) if "module" in name else ()), given), self._scope.copy(), plain=True)
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
        elif name == "os.open" and node.args:
            flags = " ".join(ast.unparse(argument) for argument in node.args[1:])
            self._touches(self._fold(node.args[0]), not re.fullmatch(r"(?:os\.)?O_RDONLY|0|", flags))
        elif last in ("extractall", "urlretrieve") or (last in ("replace", "rename") and len(node.args) == 1):
            self._puts(node, last)
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
        elif name in ("__import__", "importlib.import_module") and node.args:
            module = self._fold(node.args[0])
            if not settled(module):
                self._walk.add(unknown(UNREADABLE))
            elif module.partition(".")[0] == "agentrt":
                self._walk.add(USES_LIBRARY)
        if name.endswith(("os.dup2", "os.getenvb")) or name == "pty.spawn":
            self._shells = True
        self._requests.note(node, name)
        if NETWORK.match(name) and not QUIET.match(name):
            self._network = True
            self._destinations(node)
        elif last in ("connect", "connect_ex", "sendto", "HTTPConnection", "HTTPSConnection"):
            self._destinations(node)
        elif last.startswith(("read_", "load")) and node.args and _URL.match(self._fold(node.args[0])):
            self._network = True

    def _destinations(self, node: ast.Call) -> None:
        """Note whether a call talks to this machine or to another, as far as its arguments tell."""
        given = [*node.args[:2], *(k.value for k in node.keywords if k.arg in ("url", "host", "base_url", "address"))]
        for number, argument in enumerate(given):
            to = argument.elts[0] if isinstance(argument, (ast.Tuple, ast.List)) and argument.elts else argument
            text = self._fold(to)
            if LOOPBACK.match(text):
                self._here = True
            elif _HOST.match(text) or (number == 0 and not settled(text)):
                self._away = True

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
        elif isinstance(command, ast.Name) and command.id in self._values.lists:
            self._runs(list(self._values.lists[command.id]), False, node)
        elif isinstance(command, ast.Call) and self._dotted(command.func) == "shlex.split" and command.args:
            self._runs_text(self._fold(command.args[0]))
        elif isinstance(command, ast.Call) and isinstance(command.func, ast.Attribute) and command.func.attr == "split":
            self._runs_text(self._fold(command.func.value))
        elif shell or settled(self._fold(command)):
            self._runs_text(self._fold(command))
        else:
            self._walk.add(unknown(UNREADABLE))

    def _runs(self, words: list[str], spawns: bool, node: ast.Call) -> None:
        name, scope = self._dotted(node.func), self._scope.copy()
        if (directory := next((k.value for k in node.keywords if k.arg == "cwd"), None)) is not None:
            scope.variables["PWD"] = (self._fold(directory),)
        if EXEC.fullmatch(name):
            arguments = node.args[1 if spawns and "posix" not in name.split(".")[1] else 0 :]
            flat: list[str] = []
            for argument in arguments:
                elements = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
                flat.extend(self._fold(item) for item in elements)
            words = [flat[0], *flat[2:]] if len(flat) > 1 else flat
        if any("/sh" in word or word in ("sh", "bash") or word.endswith("/bash") for word in words[:1]):
            self._shells = True
        self._walk.run(tuple(words), scope, plain=True)

    def _path_method(self, node: ast.Call, last: str) -> None:
        if not isinstance(node.func, ast.Attribute):
            return
        path = self._fold(node.func.value)
        if last in ("rmtree", "unlink", "rmdir"):
            self._walk.run(("rm", path), self._scope.copy(), plain=True)
        else:
            self._touches(path, last.startswith(("write", "touch")))

    def _puts(self, node: ast.Call, last: str) -> None:
        """Rate the path to which a call unpacks, downloads or moves something."""
        given = node.args[1:2] if last == "urlretrieve" else node.args[:1]
        given = given or [k.value for k in node.keywords if k.arg in ("path", "filename", "target")]
        if given:
            self._touches(self._fold(given[0]), True)

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
        """Rate reading or writing a path. An unknown path passes: most scripts in files are not read either."""
        self._reads = self._reads or not writes
        if settled(path) and "\0" not in path:
            self._walk.run(("touch" if writes else "cat", "--", path), self._scope.copy(), plain=True)

    def _environment(self, node: ast.Attribute) -> None:
        if self._dotted(node) == "os.environ":
            self._reads = True
            self._walk.add(medium("shows the environment", ("secrets",)))

    def _text(self, text: str) -> None:
        for url in _URL.findall(text):
            self._requests.name(url)
            self._here, self._away = (True, self._away) if LOOPBACK.match(url) else (self._here, True)
        if len(text) < 300 and METADATA.search(text):
            self._walk.add(high("asks for the machine's own credentials", ("network", "secrets")))
        if len(text) < 300 and "\n" not in text:
            where = self._walk.where
            if secret(text, text, where) in ("credentials", "store") and "/" in text:
                self._walk.add(high("reads keys or passwords", ("secrets",)))

    def _sends(self) -> None:
        if self._shells:
            self._walk.add(high("gives a shell to a network", ("network",)))
        elif self._here and not self._away:
            return
        elif (
            self._reads
            or "subprocess" in self._values.modules
            or re.search(r"TOKEN|SECRET|PASSWORD|API_KEY", self._code)
        ):
            self._walk.add(high("sends local content to a network", ("network",), ("web",)))
        else:
            self._walk.add(medium("talks to a network", ("network",), ("web",)))

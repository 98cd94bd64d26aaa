"""`Walk`: walks a command tree as a shell would, without running anything, and rates each program in it.

It is an abstract interpreter: a variable has all values that it may have, a branch may be taken or not, a loop runs at
most twice. `outputs` predicts what a program prints if that is easy, so code that a command assembles is rated too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .budget import Budget, TooDeep, TooMuch
from .calls import Call, program
from .look_alikes import foreign_name
from .outputs import output
from .paths import Site, Zone, place
from .rating import Rating
from .shell_builtins import BUILTINS, MEANT, assigned
from .shell_parser import parse
from .shell_scope import Scope, few
from .shell_text import ANY, DATA, DECODED, FACT, FETCHED, FIELD, SECRET, quote
from .shell_tree import (
    Assignment,
    Block,
    Branches,
    Channel,
    Definition,
    Loop,
    Node,
    Pipeline,
    Redirect,
    Script,
    Sequence,
    Simple,
    Variable,
    Word,
)
from .shell_words import append, combine, expand, expand_text
from .verdicts import high, unknown

MAX_STEPS = 600
"""Maximum steps in one rating; `run` may go on to twice that. Each simple command and each `run` is one step."""

MAX_WORDS = 2000
"""Maximum number of words in one command."""

MAX_NESTING = 24
"""Maximum levels of code within code: `sh -c`, functions, substitutions."""

_CONTINUED = re.compile(r"((?:^|[^\\\s])(?:\\\\)*)\\\n(?=\S)()")
UNREADABLE_SOURCE = "the command cannot be read"
UNREADABLE = "what it runs is only known when it runs"
_UNREADABLE_CODE = {
    FETCHED: high("runs what it fetches", ("network",), ("web",)),
    DECODED: high("runs decoded text"),
    SECRET: unknown(UNREADABLE, ("secrets",)),
    DATA: unknown(UNREADABLE),
    ANY: unknown(UNREADABLE),
}

Rate = Callable[["Walk", Call, Scope], str | None]
"""Rates one call; returns what the program prints if a wrapper or interpreter knows that, else None."""


class Walk:
    """The state of one rating in progress: the ratings found so far, and the counters for its limits."""

    def __init__(self, where: Site, rate: Rate, budget: Budget) -> None:
        self.where = where
        self.budget = budget
        self.ratings: list[Rating] = []
        self.ports: set[int] = set()
        """The ports of this machine to which requests that may change something are sent."""
        self._rate = rate
        self._steps = 0
        self._depth = 0
        self._active: list[str] = []
        self._pipes = 0

    def add(self, *ratings: Rating) -> None:
        """Add ratings to those found."""
        self.ratings.extend(ratings)

    def code(self, source: str, scope: Scope, stdin: str | None = None) -> str:
        """Walk source that a shell runs; return what it may print."""
        self.budget.spend(32 + len(source))
        for mark, rating in _UNREADABLE_CODE.items():
            if mark in source:
                self.add(rating)
        self._enter()
        try:
            joined = _CONTINUED.sub(r"\1\2", source)
            if joined != source:  # the grammar splits a word that continues on the next line: read it both ways
                self.node(parse(joined).script, scope.copy(), stdin)
            parsed = parse(source)
            if parsed.broken:
                self.add(unknown(UNREADABLE_SOURCE))
            return self.node(parsed.script, scope, stdin)
        finally:
            self._depth -= 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._depth -= 1
            raise TooDeep

    def node(self, node: Node, scope: Scope, stdin: str | None = None) -> str:
        """Walk a part of the tree; return what it may print."""
        self.budget.work -= 8
        match node:
            case Simple():
                return self._simple(node, scope, stdin)
            case Pipeline(stages):
                return self._pipeline(stages, scope, stdin)
            case Sequence():
                return self._sequence(node, scope, stdin)
            case Branches():
                return self._branches(node, scope, stdin)
            case Loop():
                return self._loop(node, scope, stdin)
            case Definition(name, body):
                scope.functions[name] = body
                if name in MEANT:
                    self.add(unknown("gives a command another meaning"))
                self._define(name, body, scope)
                return ""
            case Block(body, subshell, redirects):
                inner = scope.copy() if subshell else scope
                given = self._given(redirects, scope, stdin)
                printed = self.node(body, inner, given)
                return self._written(redirects, scope, printed)

    def _define(self, name: str, body: Node, scope: Scope) -> None:
        """Walk a function with unknown arguments: a later command may call it with any."""
        inner = scope.copy()
        for parameter in ("1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"):
            inner.variables[parameter] = (ANY,)
        self._function(name, body, inner, None)

    def _function(self, name: str, body: Node, scope: Scope, stdin: str | None) -> str:
        self.budget.spend(8 + len(self._active))
        if self._active.count(name) > 1:
            return ANY
        if name in self._active and self._pipes:
            self.add(high("starts processes without end"))
        self._enter()
        self._active.append(name)
        try:
            return self.node(body, scope, stdin)
        finally:
            self._active.pop()
            self._depth -= 1

    def _sequence(self, node: Sequence, scope: Scope, stdin: str | None) -> str:
        printed = ""
        for index, step in enumerate(node.steps):
            joint = node.joints[index] if index < len(node.joints) else ""
            background = index in node.background
            self._pipes += background
            if joint == "||" or background:
                other = scope.copy()
                printed += self.node(step, other, stdin)
                if not background:
                    scope.merge(other)
            elif joint == "&&":
                before = scope.copy()
                printed += self.node(step, scope, stdin)
                directory = scope.directories
                scope.merge(before)
                scope.variables["PWD"] = directory
            else:
                printed += self.node(step, scope, stdin)
            self._pipes -= background
        return printed

    def _pipeline(self, stages: tuple[Node, ...], scope: Scope, stdin: str | None) -> str:
        flowing = stdin
        self._pipes += 1
        for stage in stages:
            flowing = self.node(stage, scope.copy(), flowing)
        self._pipes -= 1
        return flowing or ""

    def _branches(self, node: Branches, scope: Scope, stdin: str | None) -> str:
        for word in node.words:
            self._texts(word, scope)
        printed = "".join(self.node(part, scope, stdin) for part in node.always)
        before = scope.copy()
        for choice in node.choices:
            other = before.copy()
            printed += self.node(choice, other, stdin)
            scope.merge(other)
        return printed

    def _loop(self, node: Loop, scope: Scope, stdin: str | None) -> str:
        if node.name:
            words = (Word((Variable("@", quoted=True),)),) if node.values is None else node.values
            fields = [field for word in words for found in self._fields(word, scope) for field in found]
            split = [part for field in fields for part in field.split(FIELD)]
            scope.assign(node.name, tuple(split) or ("",))
        printed = ""
        for _ in range(2):
            inner = scope.copy()
            printed += self.node(node.body, inner, stdin)
            changed = any(inner.variables.get(key) != value for key, value in scope.variables.items())
            changed = changed or len(inner.variables) != len(scope.variables)
            scope.merge(inner)
            if not changed:
                break
        return printed

    # one command

    def _simple(self, node: Simple, scope: Scope, stdin: str | None) -> str:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooMuch
        given = self._given(node.redirects, scope, stdin)
        if not node.words:
            for assignment in node.assignments:
                self.assign(assignment, scope)
                values = scope.values(assignment.name)
                environment = tuple((assignment.name, value) for value in values)
                call = Call("=", (), scope.directories[0], self.where, None, environment)
                self._rate(self, call, scope)
            printed = ""
            if any(redirect.operator == "<" for redirect in node.redirects):
                printed = given or DATA
            return self._written(node.redirects, scope, printed)
        names = [(a.name, value) for a in node.assignments for word in a.values for value in self._texts(word, scope)]
        lines = self._lines(node, scope)
        reference = any(line[1:2] and line[1].startswith("-") and "n" in line[1] for line in lines)
        for assignment in node.declared:
            self.assign(assignment, scope)
            if reference and lines[0][0] != "export":
                scope.assign(assignment.name, (ANY,))  # a reference to another variable
            names.extend((assignment.name, value) for value in scope.values(assignment.name))
        printed, environment = "", tuple(names)
        outer = scope.directories
        moved: list[str] = []
        for directory in outer:
            scope.variables["PWD"] = (directory,)
            for line in lines:
                printed += self.run(line, scope, given, environment)
                moved.extend(scope.directories)
                scope.variables["PWD"] = (directory,)
        scope.variables["PWD"] = few(tuple(moved)) if moved else outer
        return self._written(node.redirects, scope, printed)

    def _lines(self, node: Simple, scope: Scope) -> list[tuple[str, ...]]:
        if len(node.words) > MAX_WORDS:
            raise TooMuch
        found = []
        for word in node.words:
            fed = [part for part in word.parts if isinstance(part, Channel)]
            found.append(self._channel(fed[0], scope) if fed else self._fields(word, scope))
        return combine(found, self.budget)

    def _channel(self, part: Channel, scope: Scope) -> tuple[tuple[str, ...], ...]:
        """Return the file that stands for `<(...)` or `>(...)`; record the text of the former."""
        if part.fed:
            self.node(part.body, scope.copy(), DATA)
            return ((f"/dev/fd/{FACT}",),)
        path = f"/dev/fd/{len(scope.files) + 10}"
        scope.files[path] = self.node(part.body, scope.copy()) or DATA
        return ((path,),)

    def run(
        self,
        line: tuple[str, ...],
        scope: Scope,
        stdin: str | None = None,
        environment: tuple[tuple[str, str], ...] = (),
        plain: bool = False,
    ) -> str:
        """Walk one expanded command; return what it may print. With `plain`, ignore aliases and functions."""
        self._steps += 1
        if self._steps > MAX_STEPS * 2:
            raise TooMuch
        if len(line) > MAX_WORDS:
            raise TooMuch
        self.budget.spend(32 + 2 * len(line) + sum(map(len, line)) + len(stdin or ""))
        if not line:
            return ""
        path, words = line[0], line[1:]
        if not plain and path in scope.aliases and path not in self._active:
            self._active.append(path)
            try:
                return self.code(f"{scope.aliases[path]} {quote(words)}", scope, stdin)
            finally:
                self._active.pop()
        if not plain and path in scope.functions:
            inner = scope.copy()
            inner.arguments(words)
            printed = self._function(path, scope.functions[path], inner, stdin)
            inner.variables = {k: v for k, v in inner.variables.items() if not k.isdecimal() and k not in "@*"}
            scope.merge(inner)
            return printed
        call = Call(program(path), words, scope.directories[0], self.where, stdin, environment, path)
        if self._unreadable(path):
            return ANY
        if (copied := scope.programs.get(call.place(path).path)) is not None and copied != path:
            return self.run((copied, *words), scope, stdin, environment, plain=True)
        if reason := foreign_name(path):
            self.add(high(f"{reason} in a program's name"))
        if (builtin := BUILTINS.get(path)) is not None:
            builtin(self, call, scope)
        known = self._rate(self, call, scope)
        if known is None:
            known = output(call, scope)
            self.budget.work -= len(known)
        return known

    def _unreadable(self, path: str) -> bool:
        for mark, rating in _UNREADABLE_CODE.items():
            if mark in path:
                self.add(rating)
                return True
        if (
            FACT in path
            or not path
            or (any(letter in path for letter in "*?") or ("[" in path and path not in ("[", "[[")))
        ):
            self.add(unknown(UNREADABLE))
            return True
        return False

    # words and redirections

    def assign(self, assignment: Assignment, scope: Scope) -> None:
        """Set a variable."""
        texts = [self._texts(word, scope) for word in assignment.values]
        values = texts[0] if len(texts) == 1 else (FIELD.join(text[0] if len(text) == 1 else ANY for text in texts),)
        assigned(self, values, scope)
        if assignment.appends:
            values = append(scope.values(assignment.name), values, self.budget)
        scope.assign(assignment.name, values)

    def _fields(self, word: Word, scope: Scope) -> tuple[tuple[str, ...], ...]:
        return expand(word, scope, lambda script: self._printed(script, scope))

    def _texts(self, word: Word, scope: Scope) -> tuple[str, ...]:
        return expand_text(word, scope, lambda script: self._printed(script, scope))

    def _printed(self, script: Script, scope: Scope) -> tuple[str, ...]:
        self._enter()
        try:
            return (self.node(script, scope.copy()),)
        finally:
            self._depth -= 1

    def _given(self, redirects: tuple[Redirect, ...], scope: Scope, stdin: str | None) -> str | None:
        """Return the text on standard input after its redirections."""
        for redirect in redirects:
            if redirect.operator == "<<":
                stdin = "".join(self._texts(redirect.target, scope))
            elif redirect.operator == "<<<":
                stdin = "\n".join(self._texts(redirect.target, scope)) + "\n"
            elif redirect.operator in ("<", "<>", "<&") and redirect.descriptor in (None, 0):
                for part in redirect.target.parts:
                    if isinstance(part, Channel):
                        stdin = self.node(part.body, scope.copy())
                        break
                else:
                    for text in self._texts(redirect.target, scope):
                        stdin = scope.files.get(place(text, scope.directories[0], self.where).path, DATA)
        return stdin

    def _written(self, redirects: tuple[Redirect, ...], scope: Scope, printed: str) -> str:
        """Rate the redirections of a command; return the output that still goes to the pipe."""
        for redirect in redirects:
            if redirect.operator in ("<<", "<<<"):
                continue
            if any(isinstance(part, Channel) for part in redirect.target.parts):
                for part in redirect.target.parts:
                    if isinstance(part, Channel) and part.fed:
                        self.node(part.body, scope.copy(), printed)
                continue
            reads = redirect.operator in ("<", "<&")
            for directory in scope.directories:
                for text in self._texts(redirect.target, scope):
                    call = Call("<" if reads else ">", (redirect.operator, text), directory, self.where, printed)
                    self._rate(self, call, scope)
                    if reads or redirect.operator.startswith((">&", "<&")):
                        continue
                    if redirect.descriptor in (None, 1):
                        self._keep(text, directory, scope, printed, redirect.operator)
            if not reads and redirect.descriptor in (None, 1) and redirect.operator not in (">&", "<>", ">&-"):
                printed = ""
        return printed

    def _keep(self, text: str, directory: str, scope: Scope, printed: str, operator: str) -> None:
        found = place(text, directory, self.where)
        scope.written.add(found.path)
        if found.zone in (Zone.INSIDE, Zone.SCRATCH, Zone.OUTSIDE) and len(scope.files) < 50:
            before = scope.text_of(found.path) if ">>" in operator else ""
            self.budget.spend(len(before or "") + len(printed))
            scope.files[found.path] = (ANY if before is None else before) + printed

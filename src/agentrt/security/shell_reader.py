"""Reads the words of a shell's syntax tree: quotes, escapes, expansions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from .budget import TooDeep, TooMuch
from .shell_text import decode_ansi, unescape, unescape_quoted
from .shell_tree import (
    Arithmetic,
    Channel,
    Part,
    Redirect,
    Script,
    Sequence,
    Simple,
    Substitution,
    Text,
    Variable,
    Word,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

    from .shell_tree import Node, Parsed

MAX_DEPTH = 40
"""Maximum levels of nesting; deeper source raises `TooDeep`."""

MAX_NODES = 12_000
"""Maximum number of nodes; source with more raises `TooMuch`."""

_EXPANSION = re.compile(r"\$\{(!?#?)([A-Za-z_]\w*+|[0-9@*#?$!_-])(\[[^\]]*+\])?(.*)\}", re.DOTALL)
_OPERATOR = re.compile(r":[-=+?]|[-=+?]|##?|%%?|//?[#%]?|:|\^\^?|,,?|@")
WORDS = frozenset(
    {
        "word",
        "string",
        "raw_string",
        "ansi_c_string",
        "translated_string",
        "concatenation",
        "number",
        "simple_expansion",
        "expansion",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "brace_expression",
        "extglob_pattern",
        "regex",
        "command_name",
        "variable_name",
        "special_variable_name",
        "test_operator",
    }
)


class WordReader(ABC):
    """Turns the syntax of words into a tree. `lost` is True if part of the syntax was not understood."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._count = 0
        self.lost = False

    @abstractmethod
    def steps(self, children: list[Syntax], depth: int) -> Script:
        """Return the commands among `children`, in order."""

    @abstractmethod
    def redirects(
        self, nodes: list[Syntax], depth: int
    ) -> tuple[tuple[Redirect, ...], tuple[Word, ...], list[tuple[str, Node]]]:
        """Return redirections, words that the grammar takes for targets, and commands after a here-document's start."""

    @abstractmethod
    def again(self, source: str) -> Parsed:
        """Parse source from within this one, after its own escapes were removed."""

    def enter(self, depth: int) -> None:
        """Count a node before it is read. Raises `TooDeep` or `TooMuch`."""
        self._count += 1
        if depth > MAX_DEPTH:
            raise TooDeep
        if self._count > MAX_NODES:
            raise TooMuch

    def text(self, node: Syntax) -> str:
        """Return the source of `node`."""
        return self.slice(node.start_byte, node.end_byte)

    def slice(self, start: int, end: int) -> str:
        """Return the source between two byte offsets."""
        return self._data[start:end].decode("utf-8", "replace")

    def word(self, node: Syntax, depth: int) -> Word:
        self.enter(depth)
        return Word(tuple(self.parts(node, depth + 1)))

    def parts(self, node: Syntax, depth: int, quoted: bool = False) -> list[Part]:
        self.enter(depth)
        match node.type:
            case "raw_string":
                return [Text(self.text(node)[1:-1], quoted=True)]
            case "ansi_c_string":
                return [Text(decode_ansi(self.text(node)[2:-1]), quoted=True)]
            case "string":
                return list(self.spans(node, node.start_byte + 1, node.end_byte - 1, depth)) or [Text("", True)]
            case "concatenation" | "command_name" | "translated_string":
                found: list[Part] = []
                for child in node.children:
                    if not (node.type == "translated_string" and child.type == "$"):
                        found.extend(self.parts(child, depth + 1, quoted))
                return found
            case "simple_expansion":
                raw = self.text(node)
                name = raw.lstrip()[1:]
                lead: list[Part] = [Text(raw[: len(raw) - len(raw.lstrip())], True)] if raw[:1].isspace() else []
                return [*lead, Variable(name, quoted=quoted)]
            case "expansion":
                return [self.expansion(node, depth, quoted)]
            case "command_substitution":
                return [Substitution(self.substituted(node, depth), quoted)]
            case "process_substitution":
                return [Channel(self.steps(list(node.children), depth), fed=self.text(node).startswith(">"))]
            case "arithmetic_expansion":
                return [Arithmetic(self.inner(node, depth))]
            case "ERROR":
                self.lost = True
        inside = self.inner(node, depth) if node.child_count else ()
        found = [Text(unescape(self.text(node)))]
        return [*found, *(Arithmetic((script,)) for script in inside)]

    def substituted(self, node: Syntax, depth: int) -> Script:
        raw = self.text(node)
        if raw.startswith("`") and "\\" in raw:
            nested = self.again(re.sub(r"\\([`$\\])", r"\1", raw[1:-1]))
            self.lost = self.lost or nested.broken
            return nested.script
        redirects, words, _ = self.redirects(node.children_by_field_name("redirect"), depth)
        rest = [child for child in node.children if child.type != "file_redirect"]
        if redirects:
            return Sequence(
                (Simple(words, redirects=redirects), *self.steps(rest, depth).steps), ("",) * (len(rest) + 1)
            )
        return self.steps(rest, depth)

    def expansion(self, node: Syntax, depth: int, quoted: bool) -> Part:
        match = _EXPANSION.fullmatch(self.text(node).strip())
        inside = self.inner(node, depth)
        if match is None:
            return Variable("", "?", quoted=quoted, inside=inside)
        prefix, name, index, rest = match.groups()
        if prefix:
            return Variable(name, prefix, quoted=quoted, inside=inside)
        if index:
            return Variable(name, "[", index + rest, quoted=quoted, inside=inside)
        operator = _OPERATOR.match(rest)
        if operator is None:
            return Variable(name, "?" if rest else "", quoted=quoted, inside=inside)
        return Variable(name, operator[0], rest[operator.end() :], quoted, inside)

    def inner(self, node: Syntax, depth: int) -> tuple[Script, ...]:
        """Return the commands anywhere within a word."""
        found: list[Script] = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type in ("command_substitution", "process_substitution"):
                found.append(self.substituted(child, depth + 1))
            else:
                stack.extend(reversed(child.children))
        return tuple(found)

    def spans(self, node: Syntax, start: int, end: int, depth: int) -> tuple[Part, ...]:
        """Return the parts of text in double quotes or of a here-document: text and expansions."""
        found: list[Part] = []
        at = start
        for child in node.children:
            if child.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                if child.start_byte > at:
                    found.append(Text(unescape_quoted(self.slice(at, child.start_byte)), quoted=True))
                found.extend(self.parts(child, depth + 1, quoted=True))
                at = child.end_byte
        if at < end:
            found.append(Text(unescape_quoted(self.slice(at, end)), quoted=True))
        return tuple(found)

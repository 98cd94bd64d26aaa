"""Parses shell source into a `shell_tree`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from .shell_grammar import parse_syntax
from .shell_reader import WORDS, WordReader
from .shell_tree import (
    Arithmetic,
    Assignment,
    Block,
    Branches,
    Definition,
    Loop,
    Node,
    Parsed,
    Pipeline,
    Redirect,
    Script,
    Sequence,
    Simple,
    Text,
    Word,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

SHORT = 4096
"""Maximum length of a source, in characters, of whose kind many are kept: a tree takes many times the memory."""

_JOINTS = frozenset({"&&", "||", ";", "&", ";;", "|", "|&", "\n"})
_OPERATORS = frozenset({"<", ">", ">>", "&>", "&>>", "<&", ">&", ">|", "<&-", ">&-", "<<<"})


def parse(source: str) -> Parsed:
    """Return the tree of `source`. Raises `TooDeep` or `TooMuch`."""
    return (_parsed if len(source) <= SHORT else _parsed_long)(source)


def _parse(source: str) -> Parsed:
    data = source.encode("utf-8", "replace")
    root = parse_syntax(data)
    reader = _Reader(data)
    return Parsed(reader.sequence(root, 0), root.has_error or reader.lost)


_parsed = lru_cache(maxsize=128)(_parse)
_parsed_long = lru_cache(maxsize=4)(_parse)
"""An action is walked several times."""


class _Reader(WordReader):
    """Turns the syntax of one source into a tree."""

    def again(self, source: str) -> Parsed:
        return parse(source)

    def sequence(self, node: Syntax, depth: int) -> Script:
        return self.steps(list(node.children), depth)

    def steps(self, children: list[Syntax], depth: int) -> Script:
        self.enter(depth)
        steps: list[Node] = []
        joints: list[str] = []
        background: set[int] = set()
        joint = ""
        for child in children:
            if child.type in _JOINTS or not child.is_named:
                joint = child.type
                if joint == "&" and steps:
                    background.add(len(steps) - 1)
                continue
            for found in self.flat(child, depth + 1):
                steps.append(found)
                joints.append(joint)
                joint = ""
        return Sequence(tuple(steps), tuple(joints), frozenset(background))

    def flat(self, node: Syntax, depth: int) -> list[Node]:
        found = self.node(node, depth)
        return [] if found is None else [found]

    def node(self, node: Syntax, depth: int) -> Node | None:
        self.enter(depth)
        read = _READERS.get(node.type)
        if read is not None:
            return read(self, node, depth)
        if node.type in ("comment", "heredoc_body", "heredoc_end", "heredoc_start", "file_descriptor"):
            return None
        if node.type == "ERROR" or node.is_missing:
            self.lost = True
            return self.steps(list(node.children), depth) if node.child_count else None
        if node.type in WORDS:
            return Simple((Word((Text("["),)), self.word(node, depth)))  # words of a condition: what they expand counts
        return self.steps([child for child in node.children if child.is_named], depth)

    def group(self, node: Syntax, depth: int) -> Node:
        return Block(self.sequence(node, depth), subshell=node.type == "subshell")

    def pipeline(self, node: Syntax, depth: int) -> Node:
        stages = [stage for child in node.children if child.is_named for stage in self.flat(child, depth + 1)]
        return Pipeline(tuple(stages))

    def branches(self, node: Syntax, depth: int) -> Node:
        if node.type == "case_statement":
            items = [child for child in node.children if child.type == "case_item"]
            words = [self.word(child, depth) for child in node.children_by_field_name("value")]
            choices = []
            for item in items:
                patterns = {(child.start_byte, child.end_byte) for child in item.children_by_field_name("value")}
                rest = [child for child in item.children if (child.start_byte, child.end_byte) not in patterns]
                choices.append(self.steps(rest, depth + 1))
                words += [self.word(child, depth) for child in item.children_by_field_name("value")]
            return Branches((), tuple(choices), tuple(words))
        always: list[Syntax] = []
        body: list[Syntax] = []
        choices = []
        part = always
        for child in node.children:
            if child.type in ("elif_clause", "else_clause"):
                choices.append(self.steps([c for c in child.children if c.type not in _KEYWORDS], depth + 1))
            elif child.type == "then":
                part = body
            elif child.type not in _KEYWORDS:
                part.append(child)
        choices.insert(0, self.steps(body, depth + 1))
        return Branches((self.steps(always, depth + 1),), tuple(choices))

    def loop(self, node: Syntax, depth: int) -> Node:
        name = node.child_by_field_name("variable")
        values = tuple(self.word(child, depth) for child in node.children_by_field_name("value"))
        skipped = {"variable_name", *_KEYWORDS, *WORDS} if name is not None else _KEYWORDS
        body = self.steps([child for child in node.children if child.type not in skipped], depth + 1)
        if name is None:
            return Loop(body)
        given = any(child.type == "in" for child in node.children)
        return Loop(body, self.text(name), values if given else None)

    def definition(self, node: Syntax, depth: int) -> Node:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        read = self.node(body, depth + 1) if body is not None else None
        redirects = self.redirects(node.children_by_field_name("redirect"), depth)
        block = Block(read or Sequence(), redirects=redirects[0])
        return Definition(self.text(name) if name is not None else "", block)

    def redirected(self, node: Syntax, depth: int) -> Node:
        body = node.child_by_field_name("body")
        redirects, words, after = self.redirects(node.children_by_field_name("redirect"), depth)
        read = (self.node(body, depth + 1) if body is not None else None) or Simple()
        read = _with_redirects(read, redirects, words)
        for joint, node_ in after:
            if joint.startswith("|"):
                first, rest = _split_first(node_)
                if isinstance(read, Sequence):
                    piped: Node = Sequence((*read.steps[:-1], Pipeline((read.steps[-1], *first))), read.joints)
                else:
                    piped = Pipeline((*(read.stages if isinstance(read, Pipeline) else (read,)), *first))
                read = Sequence((piped, *rest), ("", *["&&"] * len(rest))) if rest else piped
            else:
                read = Sequence((read, node_), ("", joint))
        return read

    def redirects(
        self, nodes: list[Syntax], depth: int
    ) -> tuple[tuple[Redirect, ...], tuple[Word, ...], list[tuple[str, Node]]]:
        """Return redirections, words that the grammar takes for targets, and commands after a here-document's start."""
        found: list[Redirect] = []
        words: list[Word] = []
        after: list[tuple[str, Node]] = []
        for node in nodes:
            if node.type == "heredoc_redirect":
                self.heredoc(node, depth, found, words, after)
                continue
            operator, descriptor = "", None
            targets: list[Word] = []
            end = -1
            for child in node.children:
                together = self.together(end, child) and bool(targets)
                end = child.end_byte
                if child.type == "file_descriptor":
                    number = self.text(child)
                    descriptor = int(number) if number.isdecimal() and len(number) < 4 else None
                elif child.type in _OPERATORS:
                    operator = child.type
                elif child.type == "ERROR":
                    self.lost = True
                elif child.is_named and together:
                    targets[-1] = Word((*targets[-1].parts, *self.word(child, depth).parts))
                elif child.is_named:
                    targets.append(self.word(child, depth))
            found.append(Redirect(operator, targets[0] if targets else Word(), descriptor))
            words.extend(targets[1:])
        return tuple(found), tuple(words), after

    def heredoc(
        self, node: Syntax, depth: int, found: list[Redirect], words: list[Word], after: list[tuple[str, Node]]
    ) -> None:
        literal, body, joint, indented = False, Word(), "&&", False
        for index, child in enumerate(node.children):
            field = node.field_name_for_child(index)
            if child.type == "heredoc_start":
                literal = any(mark in self.text(child) for mark in "'\"\\")
            elif child.type == "<<-":
                indented = True
            elif child.type == "heredoc_body":
                body = self.heredoc_text(child, literal, indented, depth)
            elif child.type in ("file_redirect", "herestring_redirect"):
                redirects, extra, _ = self.redirects([child], depth)
                found.extend(redirects)
                words.extend(extra)
            elif child.type in ("&&", "||"):
                joint = child.type
            elif child.type == "pipeline":
                stages = tuple(s for c in child.children if c.is_named for s in self.flat(c, depth + 1))
                after.append(("|", Pipeline(stages)))
            elif child.type in WORDS and field != "right":
                words.append(self.word(child, depth))
            elif child.type == "ERROR":
                self.lost = True
            elif child.is_named and child.type not in ("heredoc_end", "comment"):
                after.extend((joint, step) for step in self.flat(child, depth + 1))
        found.append(Redirect("<<", body))

    def heredoc_text(self, node: Syntax, literal: bool, indented: bool, depth: int) -> Word:
        if literal:
            raw = self.text(node)
            if indented:
                raw = re.sub(r"(?m)^\t+", "", raw)
            return Word((Text(raw, quoted=True),))
        return Word(self.spans(node, node.start_byte, node.end_byte, depth))

    def simple(self, node: Syntax, depth: int) -> Node:
        words: list[Word] = []
        assignments: list[Assignment] = []
        declared: list[Assignment] = []
        redirects: list[Syntax] = []
        dollar = False
        end = -1
        for child in node.children:
            together = self.together(end, child)
            end = child.end_byte
            if child.type == "variable_assignment":
                (assignments if node.type in _PLAIN else declared).append(self.assignment(child, depth))
            elif child.type in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                redirects.append(child)
            elif child.type == "$":
                dollar = True  # the grammar reads `$"..."` as two words
                continue
            elif child.type in ("ERROR", "subshell"):
                self.lost = True
            elif child.type != "comment" and (child.is_named or child.type in _DECLARERS or not words):
                word = self.word(child, depth)
                if together and words and not dollar:
                    words[-1] = Word((*words[-1].parts, *word.parts))
                else:
                    self.lost = self.lost or (together and bool(assignments))
                    words.append(word)
            elif child.type not in _JOINTS:
                words.append(Word((Text(self.text(child), quoted=True),)))
            if dollar and child.type != "string":
                words.append(Word((Text("$", quoted=True),)))
            dollar = False
        found, extra, after = self.redirects(redirects, depth)
        read: Node = Simple((*words, *extra), tuple(assignments), found, tuple(declared))
        for joint, step in after:
            read = Pipeline((read, step)) if joint == "|" else Sequence((read, step), ("", joint))
        return read

    def together(self, end: int, child: Syntax) -> bool:
        """Return whether `child` continues the word that ended at `end`: the grammar sometimes splits a word in two."""
        return end == child.start_byte or (0 < end < child.start_byte and self.between(end, child.start_byte) == "")

    def between(self, start: int, end: int) -> str:
        """Return the source between two words, without line continuations."""
        return self.slice(start, end).replace("\\\n", "")

    def test(self, node: Syntax, depth: int) -> Node:
        words: list[Word] = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type in WORDS:
                words.append(self.word(child, depth))
            else:
                stack.extend(reversed(child.children))
        return Simple((Word((Text("["),)), *words))

    def assignment(self, node: Syntax, depth: int) -> Assignment:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        text = self.text(name) if name is not None else ""
        if value is not None and value.type == "array":
            values = tuple(self.word(child, depth) for child in value.children if child.is_named)
        else:
            values = (self.word(value, depth) if value is not None else Word(),)
        if name is not None and name.type == "subscript":
            values = (*values, Word((Arithmetic(self.inner(name, depth)),)))
        appends = any(child.type == "+=" for child in node.children)
        return Assignment(text.partition("[")[0], values, appends or "[" in text)

    def assignments(self, node: Syntax, depth: int) -> Node:
        found = [self.assignment(child, depth) for child in node.children if child.type == "variable_assignment"]
        return Simple((), tuple(found))

    def lone_assignment(self, node: Syntax, depth: int) -> Node:
        return Simple((), (self.assignment(node, depth),))


def _with_redirects(node: Node, redirects: tuple[Redirect, ...], words: tuple[Word, ...]) -> Node:
    """Add redirections to the last command of `node`: the grammar attaches them to a whole list or pipeline."""
    match node:
        case Simple():
            return Simple((*node.words, *words), node.assignments, (*node.redirects, *redirects), node.declared)
        case Pipeline() if node.stages:
            return Pipeline((*node.stages[:-1], _with_redirects(node.stages[-1], redirects, words)))
        case Sequence() if node.steps:
            last = _with_redirects(node.steps[-1], redirects, words)
            return Sequence((*node.steps[:-1], last), node.joints, node.background)
        case Block():
            return Block(node.body, node.subshell, (*node.redirects, *redirects))
        case _:
            return Block(node, redirects=redirects)


def _split_first(node: Node) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return the stages that a here-document's command is piped into, and the commands after them."""
    if isinstance(node, Pipeline) and node.stages and isinstance(node.stages[0], Sequence) and node.stages[0].steps:
        return (node.stages[0].steps[0], *node.stages[1:]), node.stages[0].steps[1:]
    return (node.stages if isinstance(node, Pipeline) else (node,)), ()


_PLAIN = frozenset({"command"})
_DECLARERS = frozenset({"declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"})
_KEYWORDS = frozenset(
    {"if", "then", "fi", "for", "in", "do", "done", "while", "until", "select", ";", "case", "esac", "elif", "else"}
)
_READERS = {
    "command": _Reader.simple,
    "declaration_command": _Reader.simple,
    "unset_command": _Reader.simple,
    "variable_assignment": _Reader.lone_assignment,
    "variable_assignments": _Reader.assignments,
    "test_command": _Reader.test,
    "pipeline": _Reader.pipeline,
    "list": _Reader.sequence,
    "program": _Reader.sequence,
    "subshell": _Reader.group,
    "compound_statement": _Reader.group,
    "if_statement": _Reader.branches,
    "case_statement": _Reader.branches,
    "for_statement": _Reader.loop,
    "c_style_for_statement": _Reader.loop,
    "while_statement": _Reader.loop,
    "do_group": _Reader.group,
    "function_definition": _Reader.definition,
    "redirected_statement": _Reader.redirected,
    "negated_command": _Reader.group,
}

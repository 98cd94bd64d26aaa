"""A shell command as a small immutable tree; `shell_parser` makes it, `shell_walk` walks it."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Text(msgspec.Struct, frozen=True, tag=True):
    """Literal text with escapes resolved. Quoted text is neither split nor expanded."""

    text: str
    quoted: bool = False


class Variable(msgspec.Struct, frozen=True, tag=True):
    """`$name`, or `${name operator argument}`; `inside` are the commands within the braces."""

    name: str
    operator: str = ""
    argument: str = ""
    quoted: bool = False
    inside: tuple[Script, ...] = ()


class Substitution(msgspec.Struct, frozen=True, tag=True):
    """`$(body)`: the output of `body`."""

    body: Script
    quoted: bool = False


class Channel(msgspec.Struct, frozen=True, tag=True):
    """`<(body)`, or `>(body)` when `fed`: a file name that stands for a pipe."""

    body: Script
    fed: bool = False


class Arithmetic(msgspec.Struct, frozen=True, tag=True):
    """`$((...))`: a number; `inside` are the commands in it."""

    inside: tuple[Script, ...] = ()


Part: TypeAlias = Text | Variable | Substitution | Channel | Arithmetic


class Word(msgspec.Struct, frozen=True):
    """One word, made of adjacent parts."""

    parts: tuple[Part, ...] = ()


class Assignment(msgspec.Struct, frozen=True):
    """`name=value`; an array has several values."""

    name: str
    values: tuple[Word, ...] = ()
    appends: bool = False


class Redirect(msgspec.Struct, frozen=True):
    """`operator target`; the target of `<<` and `<<<` is the text itself."""

    operator: str
    target: Word
    descriptor: int | None = None


class Simple(msgspec.Struct, frozen=True, tag=True):
    """One command. `declared` are the assignments that are arguments of `export`, `declare` and their like."""

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    declared: tuple[Assignment, ...] = ()


class Pipeline(msgspec.Struct, frozen=True, tag=True):
    """`a | b | c`."""

    stages: tuple[Node, ...]


class Sequence(msgspec.Struct, frozen=True, tag=True):
    """`a; b && c || d &`; `joints[i]` stands before `steps[i]`; `background` has the indices of steps before `&`."""

    steps: tuple[Node, ...] = ()
    joints: tuple[str, ...] = ()
    background: frozenset[int] = frozenset()


class Branches(msgspec.Struct, frozen=True, tag=True):
    """`if` and `case`: `always` runs first, then at most one of `choices`."""

    always: tuple[Node, ...]
    choices: tuple[Node, ...]
    words: tuple[Word, ...] = ()


class Loop(msgspec.Struct, frozen=True, tag=True):
    """`for`, `select`, `while` and `until`; without `name` there is no variable."""

    body: Node
    name: str = ""
    values: tuple[Word, ...] | None = None


class Definition(msgspec.Struct, frozen=True, tag=True):
    """`name() { body; }`."""

    name: str
    body: Node


class Block(msgspec.Struct, frozen=True, tag=True):
    """`{ body; }`, or `( body )` when `subshell`; also any compound command with redirections."""

    body: Node
    subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


Node: TypeAlias = Simple | Pipeline | Sequence | Branches | Loop | Definition | Block
Script: TypeAlias = Sequence


class Parsed(msgspec.Struct, frozen=True):
    """The tree of a whole source; `broken` if part of it could not be parsed."""

    script: Script
    broken: bool = False

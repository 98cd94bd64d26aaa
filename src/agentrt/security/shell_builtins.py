"""Effects of shell builtins on the shell's state. Code in arguments is rated here, all else by `command_rules`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from .calls import Call
from .outputs import output
from .paths import Zone
from .shell_scope import Scope
from .shell_text import ANY, FACT, FIELD, known
from .verdicts import unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

Effect = Callable[["Walk", Call, Scope], None]


def _move(walk: Walk, call: Call, scope: Scope) -> None:
    names = [word for word in call.words if not re.fullmatch(r"-[LPe@n]+|--", word)]
    target = names[0] if names else scope.values("HOME")[0]
    before = scope.directories
    if target == "-" or re.fullmatch(r"[-+]\d+", target):
        found = scope.values("OLDPWD")
    else:
        found_place = call.place(target)
        found = (ANY,) if found_place.zone is Zone.UNKNOWN else (found_place.path,)
        if not known(found_place.path) or any(letter in target for letter in "*?["):
            found = (ANY,)
    scope.variables["OLDPWD"] = before
    scope.variables["PWD"] = found


def _return(walk: Walk, call: Call, scope: Scope) -> None:
    scope.variables["PWD"] = (scope.values("OLDPWD")[0] if "OLDPWD" in scope.variables else ANY,)


def _alias(walk: Walk, call: Call, scope: Scope) -> None:
    for word in call.words:
        name, equals, value = word.partition("=")
        if equals and not name.startswith("-"):
            walk.code(value, scope.copy())  # a later command may use it
            scope.aliases[name] = value


def _unalias(walk: Walk, call: Call, scope: Scope) -> None:
    for word in call.words:
        scope.aliases.pop(word, None)
    if "-a" in call.words:
        scope.aliases.clear()


def _declare(walk: Walk, call: Call, scope: Scope) -> None:
    for word in call.words:
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            scope.assign(name, (value,))
        elif equals and not name.startswith("-"):
            scope.budget.spend(len(scope.variables))
            for one in list(scope.variables):
                scope.variables[one] = (ANY,)


_IN_SUBSCRIPT = re.compile(r"[^\[]*+\[.*(?:\$\(|`|\$\{)", re.DOTALL)


def _names(walk: Walk, words: Iterable[str], scope: Scope) -> None:
    """Rate words that bash takes for variable names: it runs code in a subscript, even if that was quoted."""
    for word in words:
        if _IN_SUBSCRIPT.match(word):
            walk.code(f'echo "{word}"', scope.copy())
            walk.add(unknown("a name with code in it"))


_CALCULATED = re.compile(r"\s*[A-Za-z_]\w*\[.*(?:\$\(|`)", re.DOTALL)


def assigned(walk: Walk, values: Iterable[str], scope: Scope) -> None:
    """Rate values of variables: arithmetic may take a value for a name, and run code in its subscript."""
    _names(walk, (value for value in values if _CALCULATED.match(value)), scope)


def _test(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate the names in `test -v NAME` and `[ -v NAME ]`."""
    _names(walk, (b for a, b in pairwise(call.words) if a in ("-v", "-R")), scope)


def _unset(walk: Walk, call: Call, scope: Scope) -> None:
    _names(walk, call.words, scope)
    for word in call.words:
        if "-f" in call.words:
            scope.functions.pop(word, None)
        else:
            scope.variables[word] = ("",)


def _set(walk: Walk, call: Call, scope: Scope) -> None:
    words = list(call.words)
    while words and re.fullmatch(r"[-+][A-Za-z]+", words[0]):
        words = words[2:] if words[0].endswith("o") else words[1:]
    if words[:1] == ["--"]:
        scope.arguments(tuple(words[1:]))
    elif words:
        scope.arguments(tuple(words))


def _read(walk: Walk, call: Call, scope: Scope) -> None:
    _names(walk, call.words, scope)
    names = [word for word in call.words if word.isidentifier()] or ["REPLY"]
    text = ANY if call.stdin is None else call.stdin.rstrip("\n")
    lines = text.split("\n")[:10]
    separators = dict(call.environment).get("IFS", scope.values("IFS")[0])
    fields = [_fields(line, separators, len(names)) for line in lines]
    if any(re.fullmatch(r"-\w*a\w*", word) for word in call.words):
        scope.assign(names[0], tuple(FIELD.join(_fields(line, separators, 0)) for line in lines))
    elif len(names) > 1:
        for place, name in enumerate(names):
            scope.assign(name, tuple(found[place] if place < len(found) else "" for found in fields))
    else:
        scope.assign(names[0], tuple(dict.fromkeys((text, *text.split(), *lines)))[:10])


def _fields(line: str, separators: str, most: int) -> list[str]:
    """Split a line as `read` does, into at most `most` fields; 0 is no limit."""
    if not separators or not known(separators):
        return [line] if not separators else [ANY]
    found = re.split(f"[{re.escape(separators)}]+", line.strip(), maxsplit=max(most - 1, 0) if most else 0)
    return found if most != 1 else [line]


def _read_lines(walk: Walk, call: Call, scope: Scope) -> None:
    """Set the array of lines that `mapfile` reads."""
    _names(walk, call.words, scope)
    names = [word for word in call.words if word.isidentifier()] or ["MAPFILE"]
    text = ANY if call.stdin is None else call.stdin.rstrip("\n")
    scope.assign(names[-1], (FIELD.join(text.split("\n")),))


def _calculates(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate the words of `let`: each is arithmetic, which may contain a subscript."""
    _names(walk, call.words, scope)


def _print(walk: Walk, call: Call, scope: Scope) -> None:
    if call.words[:1] == ("-v",) and len(call.words) > 2:
        _names(walk, call.words[1:2], scope)
        scope.assign(call.words[1], (output(Call("printf", call.words[2:], call.directory, call.where), scope),))


def _shift(walk: Walk, call: Call, scope: Scope) -> None:
    joined = scope.values("@")[0]
    scope.budget.spend(len(joined))
    words = joined.split(FIELD) if joined else []
    if joined == ANY:
        return
    count = int(call.words[0]) if call.words and call.words[0].isdecimal() and len(call.words[0]) < 3 else 1
    scope.arguments(tuple(words[count:]))


def _options(walk: Walk, call: Call, scope: Scope) -> None:
    names = [word for word in call.words if word.isidentifier()]
    for name in names[-1:]:
        scope.assign(name, (FACT,))
    scope.assign("OPTARG", (ANY,))


MEANT = frozenset({"cd", "pushd", "popd", "rm", "mv", "cp", "ln", "git", "sudo", "test", "["})
"""Commands that later lines rely on: defining a function with such a name is UNKNOWN."""

BUILTINS: dict[str, Effect] = {
    "test": _test,
    "[": _test,
    "cd": _move,
    "chdir": _move,
    "pushd": _move,
    "popd": _return,
    "alias": _alias,
    "unalias": _unalias,
    "export": _declare,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "readonly": _declare,
    "unset": _unset,
    "set": _set,
    "read": _read,
    "mapfile": _read_lines,
    "readarray": _read_lines,
    "let": _calculates,
    "printf": _print,
    "shift": _shift,
    "getopts": _options,
}

"""Expansion of shell words: braces, tildes, variables, substitutions and field splitting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from itertools import islice, product

from .budget import Budget
from .shell_scope import Scope
from .shell_text import ANY, FACT, FIELD, known
from .shell_tree import Arithmetic, Channel, Part, Script, Substitution, Text, Variable, Word

MAX_ALTERNATIVES = 12
MAX_FIELDS = 64
MAX_BRACES = 10

Run = Callable[[Script], tuple[str, ...]]
"""Walks and rates a substituted script; returns what it may print."""

_RANGE = re.compile(r"(-?\w+)\.\.(-?\w+)(?:\.\.-?\d+)?")


def expand(word: Word, scope: Scope, run: Run) -> tuple[tuple[str, ...], ...]:
    """Return all lists of fields that `word` may expand to; a field with marks is not known."""
    match word.parts:
        case (Text(text, quoted),) if FIELD not in text and (quoted or not ("{" in text or text.startswith("~"))):
            scope.budget.work -= len(text)  # the usual word, which stands for itself
            return ((text,),)
    lists: list[tuple[str, ...]] = [()]
    for parts in _braces(word.parts, scope.budget):
        some = _fields(parts, scope, run)
        lists = [(*head, *tail) for head, tail in islice(product(lists, some), MAX_ALTERNATIVES + 1)]
        if len(lists) > MAX_ALTERNATIVES or len(lists[0]) > MAX_FIELDS:
            return ((ANY,),)
    return tuple(dict.fromkeys(lists))


def expand_text(word: Word, scope: Scope, run: Run) -> tuple[str, ...]:
    """Return all texts that `word` may expand to where it is not split: a value, a target, a here-document."""
    texts = tuple(
        dict.fromkeys("".join(text for text, _ in combined) for combined in _combinations(word.parts, scope, run))
    )
    return tuple(text.replace(FIELD, " ") for text in texts)


def combine(words: Iterable[tuple[tuple[str, ...], ...]], budget: Budget) -> list[tuple[str, ...]]:
    """Return all lines that a command may expand to. `words` has the lists of fields of each word."""
    lines: list[list[str]] = [[]]
    for some in words:
        if len(some) == 1:
            for line in lines:
                line.extend(some[0])
            continue
        budget.spend(len(some) * sum(map(len, lines)))
        lines = [[*line, *fields] for line in lines for fields in some]
        if len(lines) > MAX_ALTERNATIVES:
            lines = [_one_of(lines)]
    return [tuple(line) for line in lines]


def _one_of(lines: list[list[str]]) -> list[str]:
    """Return one line for several: words that differ are not known."""
    return [
        ANY if len({tuple(line[i : i + 1]) for line in lines}) > 1 else lines[0][i] for i in range(max(map(len, lines)))
    ]


def append(before: tuple[str, ...], values: tuple[str, ...], budget: Budget) -> tuple[str, ...]:
    """Return the values of a variable after `name+=value`."""
    old, new = sum(map(len, before)), sum(map(len, values))
    budget.spend(len(values) * old)
    budget.expand((len(values) - 1) * old + (len(before) - 1) * new)
    return tuple(head + tail for head in before for tail in values)


def _fields(parts: tuple[Part, ...], scope: Scope, run: Run) -> list[tuple[str, ...]]:
    separators = scope.values("IFS")
    split = separators[0] if len(separators) == 1 and known(separators[0]) else " \t\n"
    scope.budget.work -= len(split)
    found: list[tuple[str, ...]] = []
    for combined in _combinations(parts, scope, run):
        fields: list[str] = []
        current: str | None = None
        for text, splits in combined:
            if not splits and FIELD not in text:
                current = (current or "") + text
                continue
            letters = f"[{re.escape(split)}{FIELD}]+" if splits and split else FIELD
            pieces = re.split(letters, text)
            if len(pieces) == 1:
                current = (current or "") + text if text or current is not None or not splits else None
                continue
            for index, piece in enumerate(pieces):
                if index:
                    if current is not None:
                        fields.append(current)
                    current = None
                if piece or not splits:
                    current = (current or "") + piece
        if current is not None:
            fields.append(current)
        found.append(tuple(fields[:MAX_FIELDS]) if len(fields) <= MAX_FIELDS else (*fields[:MAX_FIELDS], ANY))
    return found


def _combinations(parts: tuple[Part, ...], scope: Scope, run: Run) -> list[tuple[tuple[str, bool], ...]]:
    """Return all combinations of the texts of `parts`, each text with whether it is split."""
    choices: list[list[tuple[str, bool]]] = []
    for index, part in enumerate(parts):
        match part:
            case Text(text, quoted):
                if index == 0 and not quoted and text.startswith("~"):
                    text = _tilde(text, scope)
                choices.append([(text, False)])
            case Variable():
                texts = _variable(part, scope, run)
                scope.budget.expand(sum(map(len, texts)))
                choices.append([(text, not part.quoted) for text in texts])
            case Substitution(body, quoted):
                printed = [text.rstrip("\n") for text in run(body)]
                scope.budget.expand(sum(map(len, printed)))
                choices.append([(text, not quoted) for text in printed])
            case Channel(body):
                run(body)
                choices.append([(f"/dev/fd/{FACT}", False)])
            case Arithmetic(inside):
                for script in inside:
                    run(script)
                choices.append([(FACT, False)] if not inside or len(parts) == 1 or index == 0 else [("", False)])
    scope.budget.spend(2 * len(choices) + sum(len(text) for choice in choices for text, _ in choice))
    combined = list(islice(product(*choices), MAX_ALTERNATIVES + 1))
    if len(combined) > MAX_ALTERNATIVES:
        return [((ANY, True),)]
    if len(combined) > 1:
        scope.budget.expand(sum(len(text) for texts in combined[1:] for text, _ in texts))
    return combined


def _tilde(text: str, scope: Scope) -> str:
    head, slash, rest = text.partition("/")
    if head == "~":
        return scope.values("HOME")[0] + slash + rest
    if head == "~+":
        return scope.directories[0] + slash + rest
    if head == "~-":
        return ANY + slash + rest
    return f"/home/{head[1:]}{slash}{rest}"


def _variable(part: Variable, scope: Scope, run: Run) -> tuple[str, ...]:
    for script in part.inside:
        run(script)
    if part.operator in ("#", "!#"):
        return (FACT,) if part.argument == "" else _edited(part, scope)
    if part.operator == "!":
        names = scope.values(part.name)
        return tuple(v for name in names for v in (scope.values(name) if known(name) else (ANY,)))[:MAX_ALTERNATIVES]
    if part.operator == "[":
        return (
            (FACT,)
            if part.name in ("PIPESTATUS", "BASH_VERSINFO")
            else tuple(_joined(value, part.argument) for value in scope.values(part.name))
        )
    return _edited(part, scope)


def _joined(value: str, index: str) -> str:
    return value if index in ("[@]", "[*]") else (value if FIELD not in value else ANY)


def _edited(part: Variable, scope: Scope) -> tuple[str, ...]:
    values, operator, argument = scope.values(part.name), part.operator, part.argument
    if operator == "":
        return values
    if operator.lstrip(":") in ("-", "=", "+", "?"):
        return _default(part, scope, values)
    if not all(known(value) for value in values):
        return values
    return tuple(_edit(value, operator, argument, scope.budget) for value in values)


def _default(part: Variable, scope: Scope, values: tuple[str, ...]) -> tuple[str, ...]:
    plain = not part.inside and not re.search(r"[$`]", part.argument)
    text = part.argument.strip("\"'") if plain else ANY
    if not plain and (simple := re.fullmatch(r'"?\$\{?(\w+)\}?([^$`"]*)"?', part.argument)):
        other = tuple(value + simple[2] for value in scope.values(simple[1]))
    else:
        other = (_tilde(text, scope) if text.startswith("~") else text,)
    if part.operator.endswith("+"):
        return (*other, "")
    if part.operator.endswith("?"):
        return values
    assigned = part.name in scope.variables
    found = tuple(value for value in values if value) + other if assigned else (*values, *other)
    if part.operator.endswith("="):
        scope.assign(part.name, found)
    return found


def _edit(value: str, operator: str, argument: str, budget: Budget) -> str:
    """Return `${value operator argument}` for a known value."""
    budget.spend(len(value) + len(argument))
    match operator:
        case "^^":
            return value.upper() if not argument else ANY
        case ",,":
            return value.lower() if not argument else ANY
        case "^":
            return value[:1].upper() + value[1:]
        case ",":
            return value[:1].lower() + value[1:]
        case ":":
            bounds = re.fullmatch(r"\s*(-?\d+)(?::\s*(-?\d+))?", argument)
            if bounds is None:
                return ANY
            start = int(bounds[1][:6])
            rest = value[start:]
            return rest if bounds[2] is None else rest[: int(bounds[2][:6])]
        case "/" | "//":
            old, _, new = argument.partition("/")
            if re.search(r"[*?\[\\$`'\"]", old + new):
                return ANY
            return budget.replace(value, old, new, -1 if operator == "//" else 1) if old else value
        case "#" | "##" | "%" | "%%":
            return _trim(value, operator, argument, budget)
    return ANY


def _trim(value: str, operator: str, pattern: str, budget: Budget) -> str:
    if re.search(r"[$`\\'\"]", pattern) or len(pattern) > 40 or pattern.count("*") > 3 or len(value) > 1000:
        return ANY
    budget.spend(len(value) * len(value) // 8)  # each cut is matched against the whole
    compiled = re.compile(translate(pattern))
    cuts = range(len(value) + 1)
    if operator[0] == "#":
        fits = [cut for cut in cuts if compiled.match(value[:cut])]
        return value[(fits[0] if operator == "#" else fits[-1]) :] if fits else value
    fits = [cut for cut in cuts if compiled.match(value[cut:])]
    return value[: (fits[-1] if operator == "%" else fits[0])] if fits else value


def _braces(parts: tuple[Part, ...], budget: Budget) -> list[tuple[Part, ...]]:
    """Expand braces, `{a,b}` and `{1..3}`, to several words; return each as its parts."""
    count = sum(part.text.count("{") for part in parts if isinstance(part, Text) and not part.quoted)
    if not count:
        return [parts]
    if count > MAX_BRACES:
        return [(*parts, Text(ANY))]
    atoms: list[Part | str] = []
    for part in parts:
        if isinstance(part, Text) and not part.quoted:
            atoms.extend(part.text)
        else:
            atoms.append(part)
    return [_rejoined(found) for found in islice(_branches(atoms, 0, budget), MAX_FIELDS)]


def _branches(atoms: list[Part | str], depth: int, budget: Budget) -> list[list[Part | str]]:
    if depth > 8:
        return [atoms]
    budget.spend(len(atoms))
    start = 0
    while True:
        try:
            opening = atoms.index("{", start)
        except ValueError:
            return [atoms]
        level, commas, closing = 0, [opening], -1
        for index in range(opening, len(atoms)):
            atom = atoms[index]
            level += (atom == "{") - (atom == "}")
            if atom == "," and level == 1:
                commas.append(index)
            if level == 0:
                closing = index
                break
        if closing > 0:
            choices = [atoms[a + 1 : b] for a, b in zip(commas, [*commas[1:], closing], strict=True)]
            if len(commas) == 1:
                choices = _range(choices[0])
            if choices:
                tails = _branches(atoms[closing + 1 :], depth + 1, budget)
                heads = [found for choice in choices for found in _branches(choice, depth + 1, budget)]
                pairs = list(islice(product(heads, tails), MAX_FIELDS + 1))
                budget.expand(sum(opening + len(head) + len(tail) for head, tail in pairs[1:]))
                return [[*atoms[:opening], *head, *tail] for head, tail in pairs]
        budget.spend(len(atoms))
        start = opening + 1


def _range(atoms: list[Part | str]) -> list[list[Part | str]]:
    if not all(isinstance(atom, str) for atom in atoms):
        return []
    match = _RANGE.fullmatch("".join(str(atom) for atom in atoms))
    if match is None:
        return []
    first, last = match[1], match[2]
    if first.lstrip("-").isdecimal() and last.lstrip("-").isdecimal():
        return [[FACT]]
    if len(first) == len(last) == 1 and first.isascii() and last.isascii():
        low, high = sorted((ord(first), ord(last)))
        return [[chr(letter)] for letter in range(low, high + 1)]
    return []


def _rejoined(atoms: list[Part | str]) -> tuple[Part, ...]:
    parts: list[Part] = []
    letters = ""
    for atom in atoms:
        if isinstance(atom, str):
            letters += atom
            continue
        if letters:
            parts.append(Text(letters))
            letters = ""
        parts.append(atom)
    if letters:
        parts.append(Text(letters))
    return tuple(parts)

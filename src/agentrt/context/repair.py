"""Tool calls that a model got nearly right, as it meant them. Pure.

A call is fixed where only one meaning is possible, and refused with a word to the model everywhere else. What was cut
is never completed. This is why no general library that repairs JSON is used: it would close the string and the object
of a call that ended in the middle, and half a file would be written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import msgspec

from ..specs import ToolDefinition
from ..specs.content import sound
from .messages import ToolCall

CUT = (
    "the call was not run: the reply was cut at the limit of output tokens before its arguments ended."
    " Send less at once, in several smaller calls."
)

_ALONE = frozenset({"ls", "make", "pwd", "pytest", "tree"})
_COMMANDS = _ALONE | {
    "awk", "cargo", "cat", "cd", "chmod", "cp", "curl", "diff", "docker", "du", "echo", "env", "find", "git", "go",
    "grep", "head", "mkdir", "mv", "node", "npm", "pip", "pip3", "python", "python3", "rg", "rm", "ruff", "sed", "sort",
    "tail", "tar", "touch", "uniq", "wc", "wget", "which",
}  # fmt: skip
"""Programs that models call as if they were tools; those in `_ALONE` make sense without arguments."""

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
"""A string of JSON, to the end of the text when it is not closed: each character is looked at once."""
_SLIPS = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_IN_STRING = re.compile(r"\\.|[\x00-\x1f]", re.DOTALL)
_BRACKETS = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)
_FENCED = re.compile(r"\s*```\w*\s*(\{.*\})\s*(?:```)?\s*", re.DOTALL)
_NOT_ON_THE_WIRE = re.compile(r"[^A-Za-z0-9_-]")
_PATH = re.compile(r"[^A-Za-z_]*([\w.:/ -]*)")
_ALL_KINDS = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_WORDS = {"true": True, "false": False, "none": None, "null": None}


class Repaired(msgspec.Struct, frozen=True):
    """A call as it is meant; `original` is the text of its arguments when `arguments` says something else.

    With a `problem` the arguments could not be read, and are an empty object.
    """

    name: str
    arguments: msgspec.Raw
    problem: str | None = None
    original: str | None = None


def repaired(call: ToolCall, definitions: Sequence[ToolDefinition], *, cut: bool = False) -> Repaired:
    """The call with the name of a tool that exists, if one is meant, and arguments of the types that it takes.

    `cut` says that the model's reply ended here because of a limit.
    """
    given, called = sound(call.arguments), sound(call.name)
    name = named(called, definitions) or wire_name(called)
    if cut and not given.strip():
        return Repaired(name, msgspec.Raw(b"{}"), CUT, given)
    try:
        exact, value = read(given) if given.strip() else (True, {})
    except ValueError as error:
        shown = given if len(given) <= 200 else given[:200] + "..."
        problem = CUT if cut else f"the arguments are not valid JSON ({error}): {shown}. Send one JSON object."
        return Repaired(name, msgspec.Raw(b"{}"), problem, given)
    found = next((definition for definition in definitions if definition.name == name), None)
    if found is None and (command := _as_command(called.strip(), value, definitions)) is not None:
        return Repaired(command[0], msgspec.Raw(msgspec.json.encode(command[1])), original=given)
    if not isinstance(value, dict):
        problem = f"the arguments must be a JSON object, not {type(value).__name__}."
        return Repaired(name, msgspec.Raw(b"{}"), problem, given)
    if found is not None and not (called == name and _fits(value, found)):
        shape = parameters(found)
        fitting = _with_command(called, fitted(value, shape, shape), shape)
        exact, value = exact and fitting is value, fitting
    return Repaired(name, msgspec.Raw(msgspec.json.encode(value)), original=None if exact else given)


def suggestion(name: str, definitions: Sequence[ToolDefinition]) -> str:
    """What to add to the word that there is no tool `name`: the one that may be meant; "" when there is such a tool."""
    names = {definition.name.lower(): definition.name for definition in definitions}
    close = get_close_matches(name[:80].lower(), names, n=1) if name not in names.values() else []
    return f" Did you mean {names[close[0]]}?" if close else ""


# Names


def wire_name(name: str) -> str:
    """A name that every provider takes back in a history: letters, digits, "_" and "-", 64 at most."""
    return _NOT_ON_THE_WIRE.sub("_", name)[:64] or "unknown"


def named(name: str, definitions: Sequence[ToolDefinition]) -> str | None:
    """The one tool that a name means, if there is one."""
    if (whole := _one(name, definitions)) is not None:
        return whole
    leading = _PATH.match(name)
    parts = re.split(r"[.:/]", leading[1]) if leading else []
    meant = {found for part in parts if (found := _one(part, definitions)) is not None}
    return meant.pop() if len(meant) == 1 else None


def _one(name: str, definitions: Sequence[ToolDefinition]) -> str | None:
    names = [definition.name for definition in definitions]
    if name in names:
        return name
    alike = [known for known in names if _plain(known) == _plain(name)]
    if alike:
        return alike[0] if len(alike) == 1 else None
    return next((definition.name for definition in definitions if _plain(name) in definition.aliases), None)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def _as_command(name: str, value: Any, definitions: Sequence[ToolDefinition]) -> tuple[str, dict[str, Any]] | None:
    """The tool that takes shell commands and its arguments, when `name` is a program and `value` plainly what stands
    behind it.
    """
    shell = next((definition for definition in definitions if definition.shell), None)
    if shell is None or name not in _COMMANDS:
        return None
    if not isinstance(value, dict):
        value = {"args": value}
    properties = parameters(shell)["properties"]
    if shell.shell not in properties:
        return None
    others = {key: item for key, item in value.items() if key in properties and key != shell.shell}
    keys = [key for key in value if key not in others]
    if not keys and name in _ALONE:
        return shell.name, {**others, shell.shell: name}
    if len(keys) != 1 or keys[0] not in ("args", "arguments", "command", "cmd"):
        return None
    line = _line(name, value[keys[0]])
    return None if line is None else (shell.name, {**others, shell.shell: line})


def _line(name: str, given: Any) -> str | None:
    """The command line of a program and what was given as its arguments."""
    match given:
        case str(line):
            first = line.split(maxsplit=1)[0] if line.strip() else ""
            if first == name:
                return line
            whole = re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", line) is not None
            if whole or (first in _COMMANDS and name != "git"):  # "cd x && git status" names it itself
                return None
            return f"{name} {line}".strip()
        case list(items) if all(isinstance(item, str) for item in items):
            return shlex.join([name, *items])
        case _:
            return None


def _with_command(name: str, value: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    """A tool that is called by the name of one of its commands, and not told which one, is told."""
    if "command" not in value and _plain(name) in resolved(shape["properties"].get("command"), shape).get("enum", ()):
        return {"command": _plain(name), **value}
    return value


# JSON


def read(text: str) -> tuple[bool, Any]:
    """What a JSON text says, and whether it is valid as it stands. Raises `ValueError` when it cannot be read.

    Fixed are control characters in strings, trailing commas, a fence around an object, and an object that was encoded
    twice. All of the text must be there: a cut one stays unreadable.
    """
    exact, value = _decoded(text)
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            _, inner = _decoded(value)
        except ValueError:
            return exact, value
        return False, inner
    return exact, value


def _decoded(text: str) -> tuple[bool, Any]:
    try:
        return True, _decode(text)
    except ValueError as error:
        fenced = _FENCED.fullmatch(text)
        better = fixed(fenced[1] if fenced else text)
        if better == text:
            raise
        try:
            return False, _decode(better)
        except ValueError:
            raise error from None


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ValueError(str(error)) from None


def fixed(text: str) -> str:
    """JSON without control characters in its strings, and without trailing commas."""
    return _SLIPS.sub(_slip, text)


def _slip(slip: re.Match[str]) -> str:
    return "" if slip[0] == "," else _IN_STRING.sub(_escaped, slip[0])


def _escaped(found: re.Match[str]) -> str:
    """A control character as JSON has it; a backslash before one stands for itself."""
    last = found[0][-1]
    if last >= " ":
        return found[0]
    return ("\\\\" if len(found[0]) == 2 else "") + f"\\u{ord(last):04x}"


def json_end(text: str, start: int) -> int | None:
    """Where the object or array that begins at `start` ends, its strings passed over; None when it does not."""
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        if found[0] in ("{", "["):
            depth += 1
        elif found[0] in ("}", "]"):
            depth -= 1
            if depth <= 0:
                return found.end()
    return None


# Schemas


def parameters(definition: ToolDefinition) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, not to be changed; its properties are an object in any case."""
    return _parameters(bytes(definition.parameters))


@lru_cache(maxsize=1024)
def _parameters(given: bytes) -> dict[str, Any]:
    shape = msgspec.json.decode(given)
    if not isinstance(shape, dict):
        return {"properties": {}}
    properties = shape.get("properties")
    return shape if isinstance(properties, dict) else {**shape, "properties": {}}


@lru_cache(maxsize=1024)
def _no_strings(given: bytes) -> frozenset[str]:
    """The properties that take no string."""
    shape = _parameters(given)
    return frozenset(key for key, schema in shape["properties"].items() if "string" not in admitted(schema, shape))


def _fits(value: dict[str, Any], definition: ToolDefinition) -> bool:
    """Whether there is plainly nothing to read in strings: how nearly all calls are."""
    no_strings = _no_strings(bytes(definition.parameters))
    for key, item in value.items():
        if isinstance(item, dict | list) or (isinstance(item, str) and key in no_strings):
            return False
    return True


def resolved(schema: Any, whole: dict[str, Any]) -> dict[str, Any]:
    """A schema, or what it refers to within the whole; what is no object of JSON, or leads nowhere, admits all."""
    for _ in range(8):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        place: Any = whole if reference.startswith("#/") else None
        for step in reference.removeprefix("#/").split("/"):
            place = place.get(step) if isinstance(place, dict) else None
        schema = place
    return {}


def variants(schema: Any, whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas of which one must fit."""
    here = resolved(schema, whole)
    for word in ("anyOf", "oneOf"):
        if isinstance(here.get(word), list):
            return [resolved(one, whole) for one in here[word]]
    return [here]


def admitted(schema: Any, whole: dict[str, Any]) -> frozenset[str]:
    """The types of JSON that a schema admits; all of them when it does not say."""
    found: set[str] = set()
    for variant in variants(schema, whole):
        match variant:
            case {"type": str(kind)}:
                found.add(kind)
            case {"type": list(kinds)}:
                found.update(map(str, kinds))
            case {"enum": list(values)}:
                found.update(_kind(value) for value in values)
            case {"const": value}:
                found.add(_kind(value))
            case _:
                return _ALL_KINDS
    return frozenset(found | {"integer"} if "number" in found else found)


def _kind(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def fitted(value: Any, schema: Any, whole: dict[str, Any], depth: int = 8) -> Any:
    """The value, with what its schema does not take as a string read as JSON; the same object when nothing was.

    Below so many levels all stays as it is.
    """
    if isinstance(value, str):
        better = typed(value, schema, whole)
        return value if better is value else fitted(better, schema, whole, depth)
    if not depth:
        return value
    fitting = [variant for variant in variants(schema, whole) if _kind(value) in admitted(variant, whole)]
    if len(fitting) != 1:
        return value
    if isinstance(value, list):
        items = [fitted(item, fitting[0].get("items"), whole, depth - 1) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    properties = fitting[0].get("properties")
    if isinstance(value, dict) and isinstance(properties, dict):
        fields = {key: fitted(item, properties.get(key), whole, depth - 1) for key, item in value.items()}
        return fields if any(fields[key] is not value[key] for key in value) else value
    return value


def typed(text: str, schema: Any, whole: dict[str, Any]) -> Any:
    """A text as what its schema wants: itself where that may be a string, or where it cannot be read as what is."""
    kinds = admitted(schema, whole)
    if "string" in kinds:
        return text
    word = text.strip()
    try:
        value = _WORDS[word.lower()] if word.lower() in _WORDS else _decoded(word)[1]
    except ValueError:
        return text
    return value if _kind(value) in kinds else text

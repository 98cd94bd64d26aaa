"""Repairs tool calls that a model got nearly right. Pure.

A call is repaired only if it has one possible meaning; otherwise it is refused, and the model is told why. A call that
was cut off is never completed. This is why no general library that repairs JSON is used: it would close the string and
the object of a call that ended in the middle, and half a file would be written.
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

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*"?'
"""A JSON string, up to the end of the text if it is not closed. Each character is examined once."""
_SLIPS = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_IN_STRING = re.compile(r"\\.|[\x00-\x1f]", re.DOTALL)
_BRACKETS = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)
_FENCED = re.compile(r"\s*```\w*\s*(\{.*\})\s*(?:```)?\s*", re.DOTALL)
_NOT_ON_THE_WIRE = re.compile(r"[^A-Za-z0-9_-]")
_PATH = re.compile(r"[^A-Za-z_]*([\w.:/ -]*)")
_ALL_KINDS = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_WORDS = {"true": True, "false": False, "none": None, "null": None}


class Repaired(msgspec.Struct, frozen=True):
    """A call as the model meant it; `original` is the text of its arguments if `arguments` differs from it.

    With a `problem`, the arguments could not be read, and `arguments` is an empty object.
    """

    name: str
    arguments: msgspec.Raw
    problem: str | None = None
    original: str | None = None


def repaired(call: ToolCall, definitions: Sequence[ToolDefinition], *, cut: bool = False) -> Repaired:
    """Return the call with the name of an existing tool, if one is meant, and arguments of the types that it takes.

    `cut` says that a limit ended the model's reply within this call.
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
    """Return a hint to add to the error that there is no tool `name`: the tool that may be meant; "" if none may be, or
    if there is such a tool.
    """
    names = {definition.name.lower(): definition.name for definition in definitions}
    close = get_close_matches(name[:80].lower(), names, n=1) if name not in names.values() else []
    return f" Did you mean {names[close[0]]}?" if close else ""


# Names


def wire_name(name: str) -> str:
    """Return a name in a form that every provider accepts in a history: letters, digits, "_" and "-", at most 64."""
    return _NOT_ON_THE_WIRE.sub("_", name)[:64] or "unknown"


def named(name: str, definitions: Sequence[ToolDefinition]) -> str | None:
    """Return the one tool that a name means; None if there is none, or more than one."""
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
    """Return the tool that takes shell commands, and its arguments, if `name` is a program and `value` clearly holds
    the program's arguments; else None.
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
    """Return the command line of a program with the given arguments; None if these are not clear."""
    match given:
        case str(line):
            first = line.split(maxsplit=1)[0] if line.strip() else ""
            if first == name:
                return line
            whole = re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", line) is not None
            if whole or (first in _COMMANDS and name != "git"):  # "cd x && git status" names the program itself
                return None
            return f"{name} {line}".strip()
        case list(items) if all(isinstance(item, str) for item in items):
            return shlex.join([name, *items])
        case _:
            return None


def _with_command(name: str, value: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    """Add the `command` argument if it is missing and a tool was called by the name of one of its commands."""
    if "command" not in value and _plain(name) in resolved(shape["properties"].get("command"), shape).get("enum", ()):
        return {"command": _plain(name), **value}
    return value


# JSON


def read(text: str) -> tuple[bool, Any]:
    """Return whether a JSON text is valid as it stands, and its value. Raises `ValueError` if it cannot be read.

    Control characters in strings, trailing commas, a fence around an object, and an object that was encoded twice are
    fixed. A text that was cut off stays unreadable.
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
    """Return JSON with the control characters in its strings escaped, and without trailing commas."""
    return _SLIPS.sub(_slip, text)


def _slip(slip: re.Match[str]) -> str:
    return "" if slip[0] == "," else _IN_STRING.sub(_escaped, slip[0])


def _escaped(found: re.Match[str]) -> str:
    """Return a control character as a JSON escape; a backslash before it counts as a literal backslash."""
    last = found[0][-1]
    if last >= " ":
        return found[0]
    return ("\\\\" if len(found[0]) == 2 else "") + f"\\u{ord(last):04x}"


def json_end(text: str, start: int) -> int | None:
    """Return the end of the object or array that begins at `start`, skipping strings; None if it does not end."""
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
    """Return the JSON schema of a tool's arguments, which must not be changed; `properties` is always an object."""
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
    """Return the properties that accept no string."""
    shape = _parameters(given)
    return frozenset(key for key, schema in shape["properties"].items() if "string" not in admitted(schema, shape))


def _fits(value: dict[str, Any], definition: ToolDefinition) -> bool:
    """Return whether clearly no string needs to be decoded, as in nearly all calls."""
    no_strings = _no_strings(bytes(definition.parameters))
    for key, item in value.items():
        if isinstance(item, dict | list) or (isinstance(item, str) and key in no_strings):
            return False
    return True


def resolved(schema: Any, whole: dict[str, Any]) -> dict[str, Any]:
    """Return a schema, with its `$ref` followed in `whole`; {}, which admits everything, for an invalid schema or
    reference.
    """
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
    """Return the alternatives of a schema, of which one must fit."""
    here = resolved(schema, whole)
    for word in ("anyOf", "oneOf"):
        if isinstance(here.get(word), list):
            return [resolved(one, whole) for one in here[word]]
    return [here]


def admitted(schema: Any, whole: dict[str, Any]) -> frozenset[str]:
    """Return the JSON types that a schema admits; all of them if it does not say."""
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
    """Return the value with strings decoded as JSON where the schema admits no string; the same object if none was.

    Values more than `depth` levels deep stay as they are.
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
    """Return a text as a value of a type that its schema admits; the text itself if it may be a string, or if it cannot
    be decoded to such a value.
    """
    kinds = admitted(schema, whole)
    if "string" in kinds:
        return text
    word = text.strip()
    try:
        value = _WORDS[word.lower()] if word.lower() in _WORDS else _decoded(word)[1]
    except ValueError:
        return text
    return value if _kind(value) in kinds else text

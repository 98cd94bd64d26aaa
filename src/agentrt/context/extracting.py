"""Extracts the content of a summary from events without a model: words, paths and failures. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ..events import (
    ActionEvent,
    AgentErrorEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    SecretsChanged,
    UserRejectObservation,
)
from ..specs.content import plain
from ..specs.summary import Summary
from .texts import leaves

LONGEST_COMMAND = 300
LONGEST_REASON = 160
LONGEST_THOUGHT = 200
MOST_THOUGHTS = 12
MOST_SEEN = 400
"""Maximum number of paths that occur only in results; the newest are kept."""

STANDING = "Still so: "
"""The beginning of a line that stays in a summary whatever a model says."""

MOST_READ = 200_000
"""Maximum number of characters of a result that are searched."""

_PATH = re.compile(
    r"(?<![\w/.:@+-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w|(?<![\w/.:@+-])(?:~/|/[\w.@+-])[\w.@+-]*\w"
    r"|(?<![\w/.:@+-])[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}(?![\w/(]|\.\w)"
)
_ADDRESS = re.compile(r"\b\w+://\S+")
_NO_FILE = re.compile(r"(?:\d+[.,/])*\d+|[eE]\.g|[iI]\.e|etc|\w+(?:\.\w+)+\(|.*\.(?:com|org|net|io)")
_FAILURE = re.compile(
    r"(?im)^.*(?:\b(?:error|exception|failed|failure|fatal|traceback|not found|no such|denied|cannot|can't|invalid"
    r"|undefined|unrecognized|usage):?|Error\b).*$"
)


_COMMANDS = ("command", "cmd", "code", "script", "query")
"""The arguments that say what a call does."""


class _Exit(msgspec.Struct):
    exit_code: int | None = None


def found_in(events: Sequence[Event]) -> Summary:
    """Return what is found in events of a view, in which each result comes after its call."""
    calls = {event.id: event for event in events if isinstance(event, ActionEvent)}
    thoughts = [_line(event.thought, LONGEST_THOUGHT) for event in calls.values() if event.thought.strip()]
    secrets = [tuple(f"${name}" for name in event.secrets) for event in events if isinstance(event, SecretsChanged)]
    asked = tuple(_asked(events))
    return Summary(
        task=_line(asked[0], LONGEST_COMMAND) if asked else "",
        asked=asked,
        decisions=(
            *thoughts[-MOST_THOUGHTS - 1 : -1],
            *(
                f"{STANDING}the secrets {', '.join(names)} are there, for commands that name them"
                for names in secrets[-1:]
            ),
        ),
        files=tuple(_files(events)),
        open=(f"Last you thought: {thoughts[-1]}",) if thoughts else (),
        failed=tuple(_failures(events, calls)),
    )


def _asked(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, MessageEvent) and event.source == "user":
            yield f"(#{event.seq}) {plain(event.content)}"


def paths_in(text: str) -> list[str]:
    """Return the paths of files that a text names, each once, in order."""
    found = dict.fromkeys(match[0] for match in _PATH.finditer(_ADDRESS.sub(" ", text)))
    return [path for path in found if len(path) < 200 and not _NO_FILE.fullmatch(path)]


def _files(events: Sequence[Event]) -> Iterator[str]:
    """Yield a line for each file: first those found only in results, then those that calls name, the latest last."""
    named: dict[str, str] = {}
    seen: dict[str, int] = {}
    for event in events:
        match event:
            case ActionEvent():
                for path in paths_in("\n".join(strings(event.arguments_json))):
                    named.pop(path, None)
                    named[path] = f"{path}: {event.tool_name} (#{event.seq})"
            case ObservationEvent():
                for path in paths_in(plain(event.content)[:MOST_READ]):
                    seen.pop(path, None)
                    seen[path] = event.seq
            case _:
                pass
    only = [(path, seq) for path, seq in seen.items() if path not in named][-MOST_SEEN:]
    yield from (f"{path}: seen (#{seq})" for path, seq in only)
    yield from named.values()


def strings(arguments: msgspec.Raw) -> Iterator[str]:
    """Yield the strings, numbers and booleans in a call's arguments, as strings."""
    try:
        yield from leaves(msgspec.json.decode(arguments))
    except msgspec.DecodeError:
        return


def _failures(events: Iterable[Event], calls: dict[str, ActionEvent]) -> Iterator[str]:
    """Yield a line for each failed call: what was called, and why it failed."""
    last: dict[str, str] = {}
    for event in events:
        if not isinstance(event, ObservationEvent | AgentErrorEvent | UserRejectObservation):
            continue
        call, why = calls.get(event.action_id), reason_of(event)
        if call is not None and why is not None:
            called = command_of(call)
            last.pop(called, None)
            last[called] = f"`{called}`: {why} (#{event.seq})"
    yield from last.values()


def command_of(call: ActionEvent) -> str:
    """Return a call as one line: its command, else its longest text, else the name of the tool."""
    try:
        given = msgspec.json.decode(call.arguments_json)
    except msgspec.DecodeError:
        given = None
    named = (
        next((given[name] for name in _COMMANDS if isinstance(given.get(name), str)), "")
        if isinstance(given, dict)
        else ""
    )
    said = named if named.strip() else max(leaves(given), key=len, default="")
    return _line(said, LONGEST_COMMAND) if said.strip() else call.tool_name


def reason_of(result: Event) -> str | None:
    """Return why a call failed; None if it did not."""
    match result:
        case AgentErrorEvent(error=error):
            return _line(error, LONGEST_REASON)
        case UserRejectObservation(rejection_reason=why):
            return _line(f"rejected: {why}", LONGEST_REASON)
        case ObservationEvent():
            said, code = plain(result.content)[-MOST_READ:], _exit_code(result)
            if not result.is_error and code in (None, 0, -1):
                return None
            lines = [match[0].strip() for match in _FAILURE.finditer(said)]
            return _line(lines[-1] if lines else said, LONGEST_REASON) or f"exit code {code}"
        case _:
            return None


def _exit_code(result: ObservationEvent) -> int | None:
    try:
        return msgspec.json.decode(result.details_json, type=_Exit | None, strict=False).exit_code
    except (msgspec.ValidationError, AttributeError):
        return None


def _line(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"

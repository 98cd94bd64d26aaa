"""Summaries as text: how a model is asked for one, how its answer is read, and what stands in the view. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ..events import Event, ModelVisible
from ..specs.content import plain, text
from ..specs.summary import Summary
from ..specs.tokens import BYTES_A_TOKEN
from .messages import Message, to_messages

ASKED = "What the user asked for, word for word"

_SHARES = (
    ("task", "Task", 0.08),
    ("asked", ASKED, 0.25),
    ("decisions", "Decisions", 0.17),
    ("files", "Files", 0.22),
    ("open", "Open", 0.1),
    ("failed", "Failed", 0.18),
)
"""The parts, with their headings and the share of the room that each has for certain."""

_NAMES = {heading.lower(): part for part, heading, _ in _SHARES} | {"what the user asked for": "asked"}
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]*(?P<name>[^\n#]+?)[ \t]*:?[ \t]*#*[ \t]*$", re.MULTILINE)
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")

LONGEST_ENTRY = 2000
"""Characters of one entry; the whole of it is in the log."""

PROMPT = """\
The conversation above is about to be taken out of your view, since there is no room for all of it: {what}. You go on \
from the summary that you write now, and from what the user said, which is kept word for word beside it.

Answer with these headings and nothing else. Do not call a tool. Write short lines, one fact each, {words} words at \
most in all; name files by their paths, commands as they were typed, and numbers as they were. What a summary above \
says, and still holds, goes into yours.

## Task
What you are working on, in one or two sentences.
## Decisions
What was decided or found out, and why: one line each.
## Files
- path: its state now
## Open
What is still to be done, the next step first.
## Failed
- what was tried and did not work: why"""


def asking(count: int, room: int) -> str:
    """What a model is asked for the summary of so many events, for a room of so many tokens."""
    what = f"{count:,} events" if count != 1 else "one event"
    return PROMPT.format(what=what, words=max(room * 3 // 8, 60))


def read_summary(answer: str) -> Summary | None:
    """The summary that a model wrote; None for an answer that has none. What is under no heading counts as decided."""
    parts: dict[str, Any] = {}
    at, name = 0, "decisions"
    for found in [*_HEADING.finditer(answer), None]:
        text = answer[at : found.start()] if found is not None else answer[at:]
        parts.setdefault(name, []).extend(_lines(text))
        if found is not None:
            at, name = found.end(), _NAMES.get(found["name"].strip().lower(), "decisions")
    task = " ".join(parts.pop("task", ()))
    parts.pop("asked", None)  # which is kept as it was said
    if not task and not any(parts.values()):
        return None
    lines: dict[str, Any] = {name: tuple(found) for name, found in parts.items()}
    return Summary(task=task, **lines)


def _lines(text: str) -> Iterable[str]:
    lines = (_BULLET.sub("", line.strip()) for line in text.splitlines())
    return [line for line in lines if line and line.lower().strip(".") not in ("none", "nothing", "n/a", "-")]


def merged(before: Summary | None, said: Summary | None, found: Summary) -> Summary:
    """A summary of what an earlier one stood for, of what a model said, and of what was found in the events since.

    What was asked for comes from the events alone. A file or failure that the model names is not named twice.
    """
    before = before or Summary()
    if said is None:
        return Summary(
            task=found.task or before.task,
            asked=_once(before.asked, found.asked),
            decisions=_once(before.decisions, found.decisions),
            files=_latest(before.files, found.files),
            open=found.open or before.open,
            failed=_once(before.failed, found.failed),
        )
    text = "\n".join((said.task, *said.decisions, *said.files, *said.open, *said.failed))
    return Summary(
        task=said.task or before.task,
        asked=_once(before.asked, found.asked),
        decisions=said.decisions or before.decisions,
        files=_latest(tuple(line for line in (*before.files, *found.files) if subject(line) not in text), said.files),
        open=said.open,
        failed=_once(tuple(line for line in (*before.failed, *found.failed) if subject(line) not in text), said.failed),
    )


def subject(line: str) -> str:
    """What a line of a summary is about: the path of a file, the command that failed."""
    if line.startswith("`") and (end := line.find("`", 1)) > 0:
        return line[1:end]
    return line.partition(": ")[0]


def _once(before: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *more)))


def _latest(before: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """One line for each file: the last."""
    last = {subject(line): line for line in before}
    for line in more:
        last.pop(subject(line), None)  # those that were touched last stand at the end
        last[subject(line)] = line
    return tuple(last.values())


def bounded(summary: Summary, room: int) -> Summary:
    """The summary in a room of so many tokens: of each part the newest entries, with what is left out said there."""
    characters = room * BYTES_A_TOKEN
    wants = {part: sum(len(line) + 3 for line in _entries(summary, part)) for part, _, _ in _SHARES}
    given = {part: min(wants[part], int(characters * share)) for part, _, share in _SHARES}
    spare = characters - sum(given.values())
    for part, _, _ in _SHARES:
        more = min(wants[part] - given[part], max(spare, 0))
        given[part] += more
        spare -= more
    cut = {part: _newest(_entries(summary, part), given[part]) for part, _, _ in _SHARES if part != "task"}
    return replace(summary, task=_short(summary.task, max(given["task"], 200)), **cut)


def _entries(summary: Summary, part: str) -> tuple[str, ...]:
    value = getattr(summary, part)
    return (value,) if isinstance(value, str) else value


def _newest(lines: Sequence[str], room: int) -> tuple[str, ...]:
    kept: list[str] = []
    for line in reversed(lines):
        line = _short(line, LONGEST_ENTRY)
        if room < len(line) + 3:
            if not kept and room > 80:
                kept.append(_short(line, room - 3))
            break
        room -= len(line) + 3
        kept.append(line)
    return tuple(reversed(kept))


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: max(longest - 40, 0)]} [{len(text):,} characters in all]"


def rendered(summary: Summary, recall: str = "") -> str:
    """What stands in the view for the events of a summary; `recall` is the tool that brings them back."""
    back = f" `{recall}` brings any of them back, by its number or by words in it." if recall else ""
    of = f"{summary.count:,} earlier events, #{summary.first} to #{summary.last}, that are no longer shown"
    head = f"[This is a summary of {of}.{back}]"
    parts = [head]
    for part, heading, _ in _SHARES:
        if lines := [line for line in _entries(summary, part) if line]:
            parts.append(f"## {heading}\n" + (lines[0] if part == "task" else "\n".join(f"- {line}" for line in lines)))
    return "\n\n".join(parts)


def scaled(events: Sequence[Event], factor: float, question: str) -> list[Message]:
    """A prompt for a summary: the events as text, each cut to a share `factor` of its length, and the question."""
    shown = (_told(event, factor) for event in events if isinstance(event, ModelVisible))
    history = "\n\n".join(line for line in shown if line)
    if not history:
        return [Message("user", text(question))]
    return [Message("user", text(f"<conversation>\n{history}\n</conversation>\n\n{question}"))]


def _told(event: ModelVisible, factor: float) -> str:
    (message,) = to_messages([event])[:1]
    said = "\n".join((plain(message.content), *(f"{call.name} {call.arguments}" for call in message.tool_calls)))
    return f"#{event.seq} {message.role}: {said[: math.ceil(len(said) * factor)]}"

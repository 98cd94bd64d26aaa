"""Summaries as text: the prompt for one, the parser of the answer, and the text in the view. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ..events import Event, ModelVisible
from ..specs.content import plain, text
from ..specs.summary import Summary
from ..specs.tokens import BYTES_A_TOKEN, tokens_of
from ..state.seeing import standing_name
from .extracting import STANDING
from .messages import Message, to_messages

ASKED = "What the user asked for, word for word"

_SHARES = (
    ("task", "Task", 0.08),
    ("asked", ASKED, 0.35),
    ("decisions", "Decisions", 0.15),
    ("files", "Files", 0.18),
    ("open", "Open", 0.1),
    ("failed", "Failed", 0.14),
)
"""The parts: field, heading, and guaranteed share of the room."""

_NAMES = (*((heading.lower(), part) for part, heading, _ in _SHARES), ("what the user asked for", "asked"))
_HEADING = re.compile(r"[ \t]*(?P<level>#{1,6})[ \t]+(?P<said>\S.*)")
_NUMBER = re.compile(r"(?<!\d)\d++[.)]\s*+")
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")

LEFT_OUT = "[Earlier ones were left out for want of room.]"
"""The first entry of a part that has lost entries."""

LONGEST_ENTRY = 2000
"""Maximum number of characters of an entry; the log has its full text."""

PROMPT = """\
The conversation above is about to be taken out of your view, since there is no room for all of it: {what}. You go on \
from the summary that you write now. What the user said is kept word for word beside it, the newest as far as there is \
room: name under Decisions whatever else the user wants and has not taken back.

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
    """Return the question that asks a model for a summary of `count` events in `room` tokens."""
    what = f"{count:,} events" if count != 1 else "one event"
    return PROMPT.format(what=what, words=max(room * 3 // 8, 60))


def read_summary(answer: str) -> Summary | None:
    """Return the summary in a model's answer; None if there is none. Text under no known heading counts as decisions.
    An unknown heading is a line itself: of the current part if it is a subheading there, else of the decisions.
    """
    parts: dict[str, list[str]] = {}
    part, level, code = "decisions", 0, False
    for line in answer.splitlines():
        code ^= line.lstrip().startswith("```")
        heading = None if code else _HEADING.match(line)
        found, rest = _named(heading["said"]) if heading is not None else (None, line)
        if heading is not None and (found is not None or len(heading["level"]) <= level):
            part, level = found or "decisions", len(heading["level"])
        said = _BULLET.sub("", rest.strip())
        if said and said.lower().strip(".") not in ("none", "nothing", "n/a", "-") and not said.startswith("```"):
            parts.setdefault(part, []).append(said)
    parts.pop("asked", None)  # users' requests are kept word for word
    if not any(parts.values()):
        return None
    task = " ".join(parts.pop("task", ()))
    lines: dict[str, Any] = {name: tuple(found) for name, found in parts.items()}
    return Summary(task=task, **lines)


def _named(heading: str) -> tuple[str | None, str]:
    """Return the part that a heading names, and the text after its colon; None and the heading if it is unknown."""
    plainly = _NUMBER.sub("", heading.strip(" *_#"), count=1).strip(" *_")
    found = next((part for name, part in _NAMES if plainly.lower().startswith(name)), None)
    if found is None:
        return None, heading.strip(" #")
    return found, plainly.partition(":")[2].strip(" *_")


def merged(before: Summary | None, said: Summary | None, found: Summary) -> Summary:
    """Combine an earlier summary, the one that a model wrote, and what was found in the events since.

    Users' requests come from the events alone. A file or failure that the model names is not listed twice.
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
    standing = (line for line in (*before.decisions, *found.decisions) if line.startswith(STANDING))
    return Summary(
        task=said.task or before.task or found.task,
        asked=_once(before.asked, found.asked),
        decisions=_once(said.decisions or before.decisions, tuple(standing)),
        files=_latest(_unnamed((*before.files, *found.files), text), said.files),
        open=said.open,
        failed=_once(_unnamed((*before.failed, *found.failed), text), said.failed),
    )


def _unnamed(lines: Iterable[str], text: str) -> tuple[str, ...]:
    """Return the lines whose subject does not occur in a text, as a separate word or between backquotes."""
    return tuple(line for line in lines if not _names(text, line))


def _names(text: str, line: str) -> bool:
    about = subject(line)
    if line.startswith("`"):
        return f"`{about}`" in text
    return re.search(rf"(?<![\w./-]){re.escape(about)}(?![\w/-]|\.\w)", text) is not None


def subject(line: str) -> str:
    """Return what a line of a summary is about: the path of a file, or the command that failed."""
    if line.startswith("`") and (end := line.find("`", 1)) > 0:
        return line[1:end]
    return line.partition(": ")[0]


def _once(before: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *more)))


def _latest(before: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """Return one line for each file: the last."""
    last = {subject(line): line for line in before}
    for line in more:
        last.pop(subject(line), None)  # the files that were touched last come last
        last[subject(line)] = line
    return tuple(last.values())


def bounded(summary: Summary, room: int) -> Summary:
    """Cut a summary to `room` tokens: keep the newest entries of each part, and note where entries were left out."""
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
    """Return the last entries, as many as have room; a note comes first if some were left out, now or before."""
    entries, kept = [line for line in lines if line != LEFT_OUT], list[str]()
    if len(entries) < len(lines) or sum(len(_short(line, LONGEST_ENTRY)) + 3 for line in entries) > room:
        room -= len(LEFT_OUT) + 3
    for line in reversed(entries):
        line = _short(line, LONGEST_ENTRY)
        if room < len(line) + 3:
            if not kept and room > 80:
                kept.append(_short(line, room - 3))
            break
        room -= len(line) + 3
        kept.append(line)
    if len(kept) < len(lines) and lines:
        kept.append(LEFT_OUT)
    return tuple(reversed(kept))


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: max(longest - 40, 0)]} [{len(text):,} characters in all]"


def rendered(summary: Summary, recall: str = "") -> str:
    """Return the text that replaces the summarized events in the view; `recall` is the tool that brings them back."""
    missing = f" {_OUT_OF_FORCE}: {', '.join(map(standing_name, summary.left_out))}." if summary.left_out else ""
    back = f" `{recall}` brings any of them back, by its number or by words in it." if recall else ""
    of = f"{summary.count:,} earlier events, #{summary.first} to #{summary.last}, that are no longer shown"
    head = f"[This is a summary of {of}.{back}{missing}]"
    parts = [head]
    for part, heading, _ in _SHARES:
        if lines := [line for line in _entries(summary, part) if line]:
            parts.append(f"## {heading}\n" + (lines[0] if part == "task" else "\n".join(f"- {line}" for line in lines)))
    return "\n\n".join(parts)


_OUT_OF_FORCE = "Still in force, but left out for want of room, so ask for it or look at its file again"


def shortened(events: Sequence[Event], most: int, question: str) -> list[Message]:
    """Return a prompt for a summary, of at most `most` tokens: the events as text, each cut to the same share of its
    length, and the question. If that is not enough, the middle is left out.
    """
    whole = [(event, said) for event in events if isinstance(event, ModelVisible) and (said := _told(event))]
    if not whole:
        return [Message("user", text(question))]
    room = max(most - tokens_of(question), 0) * BYTES_A_TOKEN
    heads = [f"#{event.seq} {role}: " for event, (role, _) in whole]
    size = sum(len(said) for _, (_, said) in whole)
    share = min(max(room - sum(len(head) + 2 for head in heads), 0) / max(size, 1), 1.0)
    history = "\n\n".join(
        head + said[: math.ceil(len(said) * share)] for head, (_, (_, said)) in zip(heads, whole, strict=True)
    )
    if len(history) > room:
        history = f"{history[: room // 2]}\n[…]\n{history[len(history) - room // 2 :]}"
    return [Message("user", text(f"<conversation>\n{history}\n</conversation>\n\n{question}"))]


def _told(event: ModelVisible) -> tuple[str, str] | None:
    """Return the role and the text of an event's message; None if it has no message."""
    for message in to_messages([event]):
        calls = (f"{call.name} {call.arguments}" for call in message.tool_calls)
        return message.role, "\n".join((plain(message.content), *calls))
    return None

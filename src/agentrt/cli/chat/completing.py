"""Completions while a person types: commands and skills after a slash, paths after an @."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence

import anyio
import anyio.to_thread
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from ..wording import clean
from .attachments import quoted
from .commands import beginning
from .paths import fitting, listed

FRESH = 5.0
"""Seconds after which paths are listed again."""

_COMMAND = re.compile(r"/([a-z-]*)")


class ChatCompleter(Completer):
    """Completes commands from the table, skills, and paths from the last listing."""

    def __init__(self, root: str, skills: Callable[[], Iterable[tuple[str, str]]]) -> None:
        """Take the workspace `root`, and the `skills` that a message may name, each with its description."""
        self._root, self._skills = root, skills
        self._paths: Sequence[str] = ()
        self._listed, self._wanted = -FRESH, anyio.Event()

    async def look(self, listed_anew: Callable[[], None]) -> None:
        """List the paths now, and again when they are needed and the listing is old."""
        while True:
            self._paths = await anyio.to_thread.run_sync(listed, self._root)
            self._listed, self._wanted = time.monotonic(), anyio.Event()
            listed_anew()
            await self._wanted.wait()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return the completions of the text before the cursor."""
        before = document.text_before_cursor
        if (command := _COMMAND.fullmatch(before)) is not None:
            yield from self._commands(command[1])
        elif (path := wanted_path(before)) is not None:
            start, typed = path
            if time.monotonic() - self._listed > FRESH:
                self._wanted.set()
            for one in fitting(self._paths, typed):
                yield Completion(quoted(one), start_position=start, display=clean(one))

    def _commands(self, typed: str) -> Iterable[Completion]:
        for command in beginning(typed):
            text = f"/{command.name}" + (" " if command.argument else "")
            yield Completion(text, -len(typed) - 1, display=f"/{command.name}", display_meta=command.does)
        for name, does in self._skills():
            if name.startswith(typed):
                words = clean(does).splitlines() or [""]
                yield Completion(f"/{name} ", -len(typed) - 1, display=f"/{clean(name)}", display_meta=words[0][:80])


def wanted_path(before: str) -> tuple[int, str] | None:
    """Return the start of the path that is being typed, relative to the cursor, and the part typed so far. Pure."""
    line = before.rpartition("\n")[2]
    place = max(line.rfind(" @"), line.rfind("\t@")) + 1 if not line.startswith("@") or " @" in line else 0
    if not line[place:].startswith("@"):
        return None
    typed = line[place + 1 :]
    if typed.startswith('"'):
        return (-len(typed), typed[1:]) if '"' not in typed[1:] else None
    return (-len(typed), typed) if not re.search(r"\s", typed) else None

"""`Prompt`: the line that a person types, either to the agent or to answer a question shown in its place."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence

import anyio
import msgspec
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, get_common_complete_suffix
from prompt_toolkit.history import History

from .commands import named
from .completing import wanted_path
from .kept import Kept
from .pastes import Pastes

PAUSE = 0.7
"""Seconds without a key after which a person counts as done typing, so that a question may replace the prompt."""


_PART = re.compile(r"/[a-z-]*")
"""A command without an argument."""


class Asked(msgspec.Struct, frozen=True):
    """A question: its styled lines, and the text before the answer."""

    lines: Sequence[str]
    before: str


class Typed(msgspec.Struct, frozen=True):
    """The text that was sent: as the prompt showed it, and in full; and the long pasted texts in it, by their marks."""

    shown: str
    whole: str
    pasted: dict[str, str] = {}


class _History(History):
    """What was typed in earlier chats and in this one; the chat stores it."""

    def __init__(self, kept: Kept, pastes: Pastes) -> None:
        super().__init__()
        self._kept, self._pastes = kept, pastes

    def load_history_strings(self) -> Iterable[str]:
        return [self._pastes.folded_again(entry.text, entry.pasted) for entry in reversed(self._kept.read())]

    def store_string(self, string: str) -> None:
        """Do nothing: a message is stored when the log has it."""


class Prompt:
    """Two buffers; `asked` says which of them is shown."""

    def __init__(self, kept: Kept, completer: Completer) -> None:
        self._pastes = Pastes()
        history = _History(kept, self._pastes)
        self.buffer = Buffer(
            completer=completer, complete_while_typing=True, multiline=True, history=history, name="prompt"
        )
        self.answer = Buffer(multiline=False, name="answer")
        self.asked: Asked | None = None
        self._answered: anyio.Event | None = None
        self._said: str | None = None
        self._key = 0.0
        self.buffer.on_text_changed += self._note

    def paste(self, text: str) -> None:
        """Insert pasted text, folded if it is long."""
        if self.asked is not None:
            self.answer.insert_text(text.replace("\r", "\n").partition("\n")[0])
        else:
            self.buffer.insert_text(self._pastes.folded(text))

    def take(self) -> Typed | None:
        """Return the prompt's text and empty the prompt; None if it was empty."""
        shown = self.buffer.text
        if not shown.strip():
            self.buffer.reset()
            return None
        self.buffer.reset(append_to_history=True)
        return Typed(shown, self._pastes.unfolded(shown), self._pastes.pasted_in(shown))

    def complete(self) -> None:
        """Go to the next completion, or type the part that all completions have in common."""
        buffer = self.buffer
        if (state := buffer.complete_state) is not None and len(state.completions) > 1:
            buffer.complete_next()
            return
        offered = self._offered()
        if len(offered) == 1:
            buffer.apply_completion(offered[0])
            buffer.complete_state = None
        elif offered:
            buffer.insert_text(get_common_complete_suffix(buffer.document, offered))
            buffer.start_completion()

    def look_again(self) -> None:
        """Offer completions again, if a path is being typed and none are shown."""
        if self.buffer.complete_state is None and wanted_path(self.buffer.document.text_before_cursor) is not None:
            self.buffer.start_completion()

    def choose(self) -> bool:
        """Type the selected completion, or, for an incomplete command, the first one. Return whether an argument is to
        follow.
        """
        buffer = self.buffer
        chosen = buffer.complete_state.current_completion if buffer.complete_state is not None else None
        if chosen is None and _PART.fullmatch(buffer.text) and named(buffer.text[1:]) is None:
            chosen = next(iter(self._offered()), None)
            if chosen is not None:
                buffer.apply_completion(chosen)
        buffer.complete_state = None
        return chosen is not None and (chosen.text.endswith(" ") or not chosen.text.startswith("/"))

    def _offered(self) -> list[Completion]:
        asked = CompleteEvent(completion_requested=True)
        return list(self.buffer.completer.get_completions(self.buffer.document, asked))

    def give(self, text: str) -> None:
        """Put a text on the prompt, if it is empty."""
        if not self.buffer.text:
            self.buffer.insert_text(self._pastes.folded(text))

    async def ask(self, asked: Asked, shown: Callable[[], None] = lambda: None) -> str | None:
        """Return the line that answers a question, or None for no answer. Waits until the person has finished typing,
        and calls `shown` when the question replaces the prompt.
        """
        while self.buffer.text:
            left = self._key + PAUSE - time.monotonic()
            if left <= 0:
                break
            await anyio.sleep(left)
        self.answer.reset()
        self.asked, self._answered, self._said = asked, anyio.Event(), None
        shown()
        try:
            await self._answered.wait()
            return self._said
        finally:
            self.asked = self._answered = None

    def reply(self, said: str | None) -> None:
        """Answer the open question."""
        if self._answered is not None:
            self._said = said
            self._answered.set()

    def _note(self, _: object) -> None:
        self._key = time.monotonic()

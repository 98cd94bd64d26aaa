"""`Prompt`: the lines that a person types: for the agent, or as an answer to a question that takes their place."""

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
"""Seconds without a key after which a person has stopped typing, so that a question may take the prompt's place."""


_PART = re.compile(r"/[a-z-]*")
"""A command that nothing follows on."""


class Asked(msgspec.Struct, frozen=True):
    """A question: its styled lines, and what stands before the answer."""

    lines: Sequence[str]
    before: str


class Typed(msgspec.Struct, frozen=True):
    """What was sent: as it stood on the prompt, and whole."""

    shown: str
    whole: str


class _History(History):
    """What was typed in earlier chats, and in this one; it is the chat that keeps it."""

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self._kept = kept

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self._kept.read())

    def store_string(self, string: str) -> None:
        """Nothing yet: what is a message is kept once the log has it."""


class Prompt:
    """Two buffers, of which `asked` says which one is shown."""

    def __init__(self, kept: Kept, completer: Completer) -> None:
        self.buffer = Buffer(
            completer=completer, complete_while_typing=True, multiline=True, history=_History(kept), name="prompt"
        )
        self.answer = Buffer(multiline=False, name="answer")
        self.asked: Asked | None = None
        self._pastes = Pastes()
        self._answered: anyio.Event | None = None
        self._said: str | None = None
        self._key = 0.0
        self.buffer.on_text_changed += self._note

    def paste(self, text: str) -> None:
        """Insert what was pasted, folded where it is long."""
        if self.asked is not None:
            self.answer.insert_text(text.replace("\r", "\n").partition("\n")[0])
        else:
            self.buffer.insert_text(self._pastes.folded(text))

    def take(self) -> Typed | None:
        """What stands on the prompt, which is empty then; None where that is nothing."""
        shown = self.buffer.text
        if not shown.strip():
            self.buffer.reset()
            return None
        self.buffer.reset(append_to_history=True)
        return Typed(shown, self._pastes.unfolded(shown))

    def complete(self) -> None:
        """Go to the next one of what is offered, or type out as much as all that is offered has in common."""
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
        """Offer what there is now, if a path is being typed and nothing is offered."""
        if self.buffer.complete_state is None and wanted_path(self.buffer.document.text_before_cursor) is not None:
            self.buffer.start_completion()

    def choose(self) -> bool:
        """Type out what is chosen of what is offered; of a command that is not whole, the first one that is offered.
        Whether more is to follow on it.
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
        """Put a text on the prompt, if nothing stands there."""
        if not self.buffer.text:
            self.buffer.insert_text(self._pastes.folded(text))

    async def ask(self, asked: Asked, shown: Callable[[], None] = lambda: None) -> str | None:
        """The line that answers a question; None for no answer. It waits until a person is done with typing, and calls
        `shown` when the question takes the prompt's place.
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
        """Answer the question that is asked."""
        if self._answered is not None:
            self._said = said
            self._answered.set()

    def _note(self, _: object) -> None:
        self._key = time.monotonic()

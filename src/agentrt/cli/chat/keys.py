"""The key bindings of a chat."""

from __future__ import annotations

import time
from typing import Protocol

from prompt_toolkit.filters import Condition, has_completions, has_focus, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from .prompt import Prompt, Typed

TWICE = 1.5
"""Seconds within which a second Ctrl-C leaves."""


class Person(Protocol):
    """The actions that a person triggers with keys."""

    def say(self, typed: Typed) -> None:
        """Send what was typed."""
        ...

    def stop(self) -> bool:
        """Interrupt what runs, and return whether anything was running."""
        ...

    def leave(self) -> None:
        """Leave the chat."""
        ...

    def hint(self, words: str) -> None:
        """Show a hint for a moment."""
        ...


class _CtrlC:
    """Clears the line, or interrupts; leaves when it is pressed twice."""

    def __init__(self, prompt: Prompt, person: Person) -> None:
        self._prompt, self._person = prompt, person
        self._last = -TWICE

    def __call__(self, event: KeyPressEvent) -> None:
        now = time.monotonic()
        last, self._last = self._last, now
        buffer = self._prompt.answer if self._prompt.asked is not None else self._prompt.buffer
        if buffer.text:
            buffer.reset()
            self._person.hint("Ctrl-C again leaves")
        elif now - last < TWICE:
            self._person.leave()
        elif not self._person.stop():
            self._person.hint("Ctrl-C again leaves, as Ctrl-D does")


def keys(prompt: Prompt, person: Person) -> KeyBindings:
    """Return the key bindings, in addition to those of prompt_toolkit for editing a line."""
    bindings = KeyBindings()
    bindings.add("c-c")(_CtrlC(prompt, person))
    _common(bindings, prompt, person)
    _of_the_prompt(bindings, prompt, person)
    _of_a_question(bindings, prompt)
    return bindings


def _common(bindings: KeyBindings, prompt: Prompt, person: Person) -> None:
    @bindings.add("escape", filter=~has_completions & ~is_searching)
    def _(event: KeyPressEvent) -> None:
        person.stop()

    @bindings.add("c-l")
    def _(event: KeyPressEvent) -> None:
        event.app.renderer.clear()

    @bindings.add("c-z")
    def _(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    @bindings.add(Keys.BracketedPaste, eager=True)
    def _(event: KeyPressEvent) -> None:
        prompt.paste(event.data)


def _of_the_prompt(bindings: KeyBindings, prompt: Prompt, person: Person) -> None:
    here = has_focus(prompt.buffer)

    @bindings.add("enter", filter=here & ~is_searching)
    def _(event: KeyPressEvent) -> None:
        buffer = prompt.buffer
        if prompt.choose():
            return  # more is to follow on what was chosen
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        elif (typed := prompt.take()) is not None:
            person.say(typed)

    @bindings.add("escape", "enter", filter=here)
    @bindings.add("c-j", filter=here)
    def _(event: KeyPressEvent) -> None:
        prompt.buffer.newline(copy_margin=False)

    @bindings.add("escape", filter=here & has_completions)
    def _(event: KeyPressEvent) -> None:
        prompt.buffer.cancel_completion()

    @bindings.add("tab", filter=here)
    def _(event: KeyPressEvent) -> None:
        prompt.complete()

    @bindings.add("c-d", filter=here & Condition(lambda: not prompt.buffer.text))
    def _(event: KeyPressEvent) -> None:
        person.leave()


def _of_a_question(bindings: KeyBindings, prompt: Prompt) -> None:
    here = has_focus(prompt.answer)

    @bindings.add("enter", filter=here)
    def _(event: KeyPressEvent) -> None:
        said = prompt.answer.text
        prompt.answer.reset()
        prompt.reply(said)

    @bindings.add("c-d", filter=here & Condition(lambda: not prompt.answer.text))
    def _(event: KeyPressEvent) -> None:
        prompt.reply(None)

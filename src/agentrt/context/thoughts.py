"""`Thoughts`: separates the reasoning that a model writes into its text, between `<think>` and `</think>`. Pure.

Servers that know a model's template return its reasoning separately. Others leave it in the text, or strip the opening
tag, since that is a part of the prompt. A tag in code, or after a quotation mark, belongs to an answer about tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ..specs import ToolDefinition
from .messages import ToolCall
from .replies import ModelReply

Channel: TypeAlias = Literal["text", "reasoning"]

_TAGS = ("<think>", "<thinking>")
_CLOSING = ("</think>", "</thinking>")
_FENCES = ("```", "~~~")
_CLOSE = re.compile("|".join(_CLOSING))
_MARKS = re.compile("|".join(("\n", "`", *_TAGS)))
_TAG = "think"
"""A substring of every tag."""
_QUOTES = "`'\""


class Thoughts:
    """Splits a text that arrives in pieces into its channels; the result does not depend on where the pieces end."""

    def __init__(self) -> None:
        self._held = ""
        """Text that may become a tag or a fence, or white space before the first words."""
        self._inside = self._fenced = self._coded = False
        """Whether the text so far ends in reasoning, in a fenced block of code, or in inline code."""
        self._at_line_start, self._begun = True, False
        self._before = ""
        """The last character of the current line so far."""
        self.opened_in_line = False
        """Whether the last reasoning began in the middle of a line."""
        self._trims = False
        """Whether there was reasoning before the first words; then the white space around it is dropped."""

    def feed(self, piece: str) -> list[tuple[Channel, str]]:
        """Take a piece, and return the text that is now certain, by channel."""
        found: list[tuple[Channel, str]] = []
        rest, self._held = self._held + piece, ""
        while rest:
            if self._inside:
                rest = self._reasoning(rest, found)
            elif self._at_line_start:
                rest = self._line_start(rest, found)
            else:
                rest = self._line(rest, found)
        return found

    @property
    def fenced(self) -> bool:
        """Whether the text so far ends in a block of code."""
        return self._fenced

    @property
    def inside(self) -> bool:
        """Whether the text so far ends in reasoning."""
        return self._inside

    def flush(self) -> list[tuple[Channel, str]]:
        """End the text, and return the part that was held back."""
        held, self._held = self._held, ""
        if not self._inside and not self._begun and self._trims:
            held = held.lstrip()
        return [("reasoning" if self._inside else "text", held)] if held else []

    def _reasoning(self, rest: str, found: list[tuple[Channel, str]]) -> str:
        close = _CLOSE.search(rest)
        upto = close.start() if close is not None else _settled(rest, _CLOSING)
        if upto:
            found.append(("reasoning", rest[:upto]))
        if close is None:
            self._held = rest[upto:]
            return ""
        self._inside, self._at_line_start, self._before = False, True, ""
        return rest[close.end() :]

    def _line_start(self, rest: str, found: list[tuple[Channel, str]]) -> str:
        """Process the beginning of a line, or of the text; return the rest."""
        words = rest.lstrip(" \t" if self._begun else None)
        for tag in _TAGS:
            if words.startswith(tag) and not self._fenced:
                if self._begun and len(words) < len(rest):
                    found.append(("text", rest[: len(rest) - len(words)]))
                self._inside, self.opened_in_line = True, False
                self._trims = self._trims or not self._begun
                return words[len(tag) :]
        if any(mark.startswith(words) for mark in (*_TAGS, *_FENCES)):
            self._held = rest
            return ""
        if words.startswith(_FENCES):
            self._fenced = not self._fenced
        margin = len(rest) - len(words)
        trims, self._at_line_start, self._begun = self._trims and not self._begun, False, True
        if margin and not trims:
            found.append(("text", rest[:margin]))
        return words

    def _line(self, rest: str, found: list[tuple[Channel, str]]) -> str:
        mark = _MARKS.search(rest)
        upto = mark.end() if mark is not None else _settled(rest, _TAGS)
        if mark is None:
            self._held = rest[upto:]
        elif mark[0] == "\n":
            self._at_line_start, self._coded = True, False
        elif mark[0] == "`":
            self._coded = not self._coded
        elif not (self._fenced or self._coded or (rest[: mark.start()] or self._before)[-1:] in tuple(_QUOTES)):
            self._inside = self.opened_in_line = True
            upto = mark.start()
        if upto:
            self._before = rest[upto - 1]
            found.append(("text", rest[:upto]))
        return rest[mark.end() :] if mark is not None else ""


def _settled(rest: str, tags: tuple[str, ...]) -> int:
    """Return the index at which one of the tags may begin at the end of a text; its length if none does."""
    start = rest.rfind("<", max(0, len(rest) - len(tags[-1])))
    return start if start >= 0 and any(tag.startswith(rest[start:]) for tag in tags) else len(rest)


def apart(text: str) -> tuple[str, str]:
    """Return a complete text without the reasoning in it, and that reasoning."""
    if "<think" not in text and "</think" not in text:
        return text, ""
    opened, rest = _unopened(text)
    thoughts = Thoughts()
    found = [*thoughts.feed(rest), *thoughts.flush()]
    reasoning = [opened, *(piece for channel, piece in found if channel == "reasoning")]
    if thoughts.inside and thoughts.opened_in_line:  # the text mentions a tag that nothing closes
        start = max(rest.rfind(tag) for tag in _TAGS)
        said, before = apart(text[: len(text) - len(rest) + start])
        return (text, "") if not before else (said + rest[start:], before)
    if rest is text and rest == "".join(piece for _, piece in found):
        return text, ""
    said = "".join(piece for channel, piece in found if channel == "text")
    return said.strip(), "".join(reasoning).strip()


def _unopened(text: str) -> tuple[str, str]:
    """Return the reasoning at the beginning of a text with a closing tag but no opening one, if any; and the rest."""
    close = _CLOSE.search(text)
    if close is None or text[close.start() - 1 : close.start()] in tuple(_QUOTES) or _in_a_sentence(text, close):
        return "", text
    before = Thoughts()
    before.feed(text[: close.start()])
    if "<think" in text[: close.start()] or before.fenced:
        return "", text
    return text[: close.start()], text[close.end() :]


def _in_a_sentence(text: str, close: re.Match[str]) -> bool:
    """Return whether a tag stands within a sentence, which is about the tag then."""
    before, after = text[: close.start()][-1:], text[close.end() :][:1]
    return before in (" ", "*", "_", "(") and after in (" ", "*", "_", ")", ",", ".", ";", ":", "?", "!")


def reasoned(reply: ModelReply, tools: Iterable[ToolDefinition] = ()) -> ModelReply:
    """Return the reply with the reasoning moved out of its text and out of the message of a call that ends the turn."""
    if _TAG not in reply.text and all(_TAG not in call.arguments for call in reply.tool_calls):
        return reply
    text, reasoning = apart(reply.text)
    last = {tool.name for tool in tools if tool.ends_turn}
    finished = [_finished(call) if call.name in last else (call, "") for call in reply.tool_calls]
    calls = tuple(call for call, _ in finished)
    if text is reply.text and calls == reply.tool_calls:
        return reply
    found = (reply.reasoning, reasoning, *(thought for _, thought in finished))
    return replace(reply, text=text, tool_calls=calls, reasoning="\n\n".join(filter(None, found)))


def _finished(call: ToolCall) -> tuple[ToolCall, str]:
    """Return a call that ends the turn without the reasoning in its message, and that reasoning."""
    if "<think" not in call.arguments and "</think" not in call.arguments:
        return call, ""
    try:
        given = msgspec.json.decode(call.arguments, type=dict[str, Any])
    except msgspec.DecodeError:
        return call, ""
    message, reasoning = apart(str(given.get("message", "")))
    given["message"] = message
    return (replace(call, arguments=msgspec.json.encode(given).decode()), reasoning) if reasoning else (call, "")

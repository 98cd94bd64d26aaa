"""`Outputs`: what a cell prints, shows and raises, as content for a model. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...specs import Content, ImageContent, TextContent
from ...specs.content import sound

MOST_CHARACTERS = 4_000_000
"""Maximum characters kept of each text between images: half from its beginning, half from its end."""

MOST_IMAGES, LONGEST_IMAGE = 8, 4 << 20
"""Maximum number of images of a cell that a model is shown, and maximum characters of each in base64."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])?")
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_TEXTS = ("text/markdown", "text/plain", "text/latex", "application/json")


class Outputs:
    """Takes the messages of a kernel (Jupyter messaging protocol 5.4, "Messages on the IOPub channel")."""

    def __init__(self) -> None:
        self._blocks: list[Content] = []
        self._pieces: list[str] = []
        self._length = self._left_out = self._images = 0
        self._clear = False
        self.failed = False
        """Whether the cell has raised an error."""

    def take(self, kind: str, content: Mapping[str, Any]) -> str:
        """Take a message, and return the text that it adds."""
        match kind:
            case "stream":
                return self._add(str(content.get("text", "")))
            case "execute_result" | "display_data":
                return self._shown(content.get("data", {}))
            case "error":
                self.failed = True
                trace = content.get("traceback") or [f"{content.get('ename')}: {content.get('evalue')}"]
                return self._add("\n".join(map(str, trace)).rstrip("\n") + "\n")
            case "clear_output":
                self._clear = True
                if not content.get("wait"):
                    self._cleared()
        return ""

    @property
    def content(self) -> tuple[Content, ...]:
        """Texts and images, in the order in which they came."""
        blocks = [*self._blocks]
        if (last := self._text()) is not None:
            blocks.append(last)
        return tuple(blocks)

    def _add(self, text: str) -> str:
        self._cleared()
        text = sound(_ESCAPES.sub("", text)).replace("\r\n", "\n")
        if self._length + len(text) > MOST_CHARACTERS:
            whole = "".join((*self._pieces, text))
            half = MOST_CHARACTERS // 2
            self._left_out += len(whole) - 2 * half
            self._pieces, self._length = [whole[:half], whole[-half:]], 2 * half
        else:
            self._pieces.append(text)
            self._length += len(text)
        return text

    def _shown(self, data: Mapping[str, Any]) -> str:
        kind = next((kind for kind in _IMAGES if isinstance(data.get(kind), str)), None)
        if kind is not None and self._images < MOST_IMAGES and len(data[kind]) <= LONGEST_IMAGE:
            self._cleared()
            self._images += 1
            if (before := self._text()) is not None:
                self._blocks.append(before)
            self._pieces, self._length, self._left_out = [], 0, 0
            self._blocks.append(ImageContent(f"data:{kind};base64,{''.join(data[kind].split())}"))
            return ""
        found = next((data[kind] for kind in _TEXTS if kind in data), None)
        if kind is not None:
            found = f"[an image that is not shown: {found or kind}]"
        return self._add(f"{found}\n") if found is not None else ""

    def _text(self) -> TextContent | None:
        text = "".join(self._pieces)
        if self._left_out:
            half = len(text) // 2
            text = f"{text[:half]}\n[... {self._left_out:,} characters left out ...]\n{text[half:]}"
        if "\r" in text:
            text = "\n".join(map(_last, text.split("\n")))
        text = text.strip("\n")
        return TextContent(text) if text else None

    def _cleared(self) -> None:
        if self._clear:
            self._blocks, self._pieces = [], []
            self._length, self._left_out, self._images, self._clear = 0, 0, 0, False


def _last(line: str) -> str:
    """Return the last state of a line that was overwritten."""
    return next((part for part in reversed(line.split("\r")) if part), "")

"""A `Document` as the text that a model is shown. Pure."""

from __future__ import annotations

from .document import Document, Part
from .selecting import count

_WHOLE = frozenset({"list", "image", "table", "part"})
"""Units that need no name where there is one of them."""


def shown(document: Document, name: str) -> str:
    """What was read, under a line that says of what, and over one that says how to go on."""
    head = f"# {document.title}\n" if document.title else ""
    lines = [f"{head}[{name}: {document.kind}{_size(document)}]"]
    lines += [_part(document, part) for part in document.parts]
    lines += [f"[{note}]" for note in document.notes]
    if document.more:
        lines.append(f"[there is more: go on with pages={document.more!r}]")
    return "\n\n".join(lines)


def _size(document: Document) -> str:
    if document.total == 1 and document.unit in _WHOLE:
        return ""
    return f", {count(document.total, document.unit)}"


def _part(document: Document, part: Part) -> str:
    if document.total == 1 and not part.name:
        return part.text or "[it is empty]"
    named = f": {part.name}" if part.name else ""
    return f"## {document.unit.capitalize()} {part.number}{named}\n\n{part.text or '[it is empty]'}"

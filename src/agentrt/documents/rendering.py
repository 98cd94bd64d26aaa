"""`shown`: a `Document` as text for a model. Pure."""

from __future__ import annotations

from .document import Document, Part
from .selecting import count

_WHOLE = frozenset({"list", "image", "table", "part"})
"""Units whose count is not shown if it is 1."""


def shown(document: Document, name: str) -> str:
    """Return the parts under a heading that names the document, followed by notes and how to continue."""
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

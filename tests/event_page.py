"""The page of all event types, made from the types: `python -m tests.event_page > docs/events.md` writes it anew."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import get_args

from agentrt.events import KnownEvent, base, control, run, said, tree

GROUPS: dict[str, ModuleType] = {
    "What is said and done": said,
    "What the runtime does": run,
    "What a person does": control,
    "Delegation and budgets": tree,
}

TOP = """# Event types

All of them are in `agentrt.events`. This page is made from the types: `python -m tests.event_page > docs/events.md`.

```python
from agentrt.events import Event, MessageEvent, ObservationEvent
from agentrt.specs.content import plain


def show(event: Event) -> None:
    match event:
        case MessageEvent(source="agent", content=content):
            print("agent:", plain(content))
        case ObservationEvent(tool_name=name, content=content):
            print(f"{name}:", plain(content))
        case _:
            print(event.seq, type(event).__name__)
```

`action.arguments` and `observation.details` are read-only mappings. The fields `arguments_json` and `details_json` hold
the bytes. In JSON they are called `arguments` and `details`.

An event of a type that this version does not know is an `UnknownEvent`, with its JSON in `raw`.

Every event has these fields:

"""


def page() -> str:
    """The page, in Markdown."""
    kinds = {kind.__name__ for kind in get_args(KnownEvent)}
    parts = [TOP + _table(_classes(base)["Event"])]
    for title, module in GROUPS.items():
        parts.append(f"## {title}\n")
        for name, node in _classes(module).items():
            if name in kinds:
                parts.append(f"### {name}\n\n{_words(ast.get_docstring(node) or '')}\n\n{_table(node)}")
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _classes(module: ModuleType) -> dict[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _table(node: ast.ClassDef) -> str:
    rows = list(_rows(node))
    return "\n".join(("| field | type | meaning |", "| --- | --- | --- |", *rows, "")) if rows else ""


def _rows(node: ast.ClassDef) -> Iterator[str]:
    for field, below in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        name, kind = field.target.id, ast.unparse(field.annotation).replace("|", "\\|")
        if field.value is not None and not isinstance(field.value, ast.Call):
            kind += f" = {ast.unparse(field.value)}"
        meaning = "The role that caused it." if name == "source" else ""
        match below:
            case ast.Expr(value=ast.Constant(value=str(words))):
                meaning = _words(words)
        yield f"| `{name}` | `{kind}` | {meaning} |"


def _words(words: str) -> str:
    return re.sub(r"\s+", " ", inspect.cleandoc(words))


def missing() -> set[str]:
    """Types that stand on no page."""
    kinds = {kind.__name__ for kind in get_args(KnownEvent)}
    return kinds - {name for module in GROUPS.values() for name in _classes(module)}


if __name__ == "__main__":
    print(page(), end="")

"""The table of what changes a conversation's status, made from the code: `python -m tests.status_table` writes it anew,
into docs/state-machine.md for readers and into the console, which follows the status by it.
"""

from __future__ import annotations

import json
from pathlib import Path

from agentrt.state import CHANGES, Change

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "state-machine.md"
CONSOLE = ROOT / "src" / "agentrt" / "server" / "web" / "console" / "src" / "model" / "changes.ts"
BEGIN, END = "<!-- the table of the status -->\n", "<!-- its end -->\n"


def markdown() -> str:
    """The table for readers."""
    rows = (f"| `{change.event.__name__}`{_having(change)} | {_of(change)} | {_to(change)} |" for change in CHANGES)
    return "\n".join(("| event | status before | status after |", "| --- | --- | --- |", *rows, ""))


def typescript() -> str:
    """The table for the console."""
    rows = [
        {
            "event": change.event.__name__,
            "to": change.to and change.to.value,
            "of": [status.value for status in change.of],
            "having": change.having,
        }
        for change in CHANGES
    ]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return (
        "/** Which event changes the status, from what to what: made by `python -m tests.status_table`. */\n\n"
        "export interface Change {\n  event: string;\n  /** Null: what the event's `status` says. */\n"
        "  to: string | null;\n  /** None: any. */\n  of: readonly string[];\n"
        "  /** A member that has this value; false is also one that is missing or null. */\n"
        "  having: readonly [string, string | boolean] | null;\n}\n\n"
        f"export const CHANGES: readonly Change[] = [\n{lines},\n];\n"
    )


def documented(page: str) -> str:
    """The table as it stands in the docs."""
    return page.partition(BEGIN)[2].partition(END)[0]


def _having(change: Change) -> str:
    match change.having:
        case None:
            return ""
        case (name, False):
            return f" without `{name}`"
        case (name, True):
            return f" that `{name}`"
        case (name, value):
            return f" with `{name}` {value}"


def _of(change: Change) -> str:
    return ", ".join(change.of) or "any"


def _to(change: Change) -> str:
    return "its `status`" if change.to is None else change.to


if __name__ == "__main__":
    before, _, rest = DOCS.read_text().partition(BEGIN)
    DOCS.write_text(before + BEGIN + markdown() + END + rest.partition(END)[2])
    CONSOLE.write_text(typescript())

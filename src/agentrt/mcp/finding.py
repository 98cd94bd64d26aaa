"""`found`: the tools that match a query, by the full text search of SQLite. Pure."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing

import msgspec

from ..specs import ToolDefinition

WEIGHTS = (8.0, 3.0, 1.0)
"""Weights of words in the name, the description and the names of the parameters."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def found(query: str, tools: Sequence[ToolDefinition], limit: int) -> tuple[ToolDefinition, ...]:
    """Return the tools that match a query, the best first. Tools that it names exactly come before all others."""
    words = re.findall(r"[\w-]+", query)
    exact = [tool for tool in tools if tool.name in words]
    others = (tools[number] for number in _ranked(" ".join(words), tools))
    return (*exact, *(tool for tool in others if tool.name not in words))[:limit]


def _ranked(query: str, tools: Sequence[ToolDefinition]) -> list[int]:
    asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(_words(query).split()))
    if not asked:
        return []
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE tool USING fts5(name, about, given, tokenize='porter unicode61')")
        rows = ((number, *_texts(tool)) for number, tool in enumerate(tools))
        database.executemany("INSERT INTO tool(rowid, name, about, given) VALUES (?, ?, ?, ?)", rows)
        weights = ", ".join(map(str, WEIGHTS))
        chosen = database.execute(f"SELECT rowid FROM tool WHERE tool MATCH ? ORDER BY bm25(tool, {weights})", [asked])
        return [number for (number,) in chosen]


def _texts(tool: ToolDefinition) -> tuple[str, str, str]:
    properties = msgspec.json.decode(tool.parameters).get("properties", {})
    return _words(f"{tool.server} {tool.name}"), tool.description, " ".join(map(_words, properties))


def _words(name: str) -> str:
    """Return the words of a name such as `createIssue` or `create_issue`; if not ASCII, its runs of word characters."""
    return " ".join(_WORD.findall(name)) if name.isascii() else " ".join(re.findall(r"\w+", name))

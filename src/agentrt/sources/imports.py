"""The files that a CLAUDE.md imports by `@path`. Source: https://code.claude.com/docs/en/memory#import-additional-files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ..context.telling import prose
from .text import Reader

DEEPEST = 5
"""Maximum depth of imports within imports."""

_IMPORT = re.compile(r"(?<![\w`@/.])@((?:~/|\.{0,2}/)?[\w.-]+(?:/[\w.-]+)*)")


def imported(text: str, path: Path, reader: Reader, depth: int = DEEPEST) -> Iterator[tuple[Path, str]]:
    """Yield the files that a text imports, and those that these import, each with its text. A relative path begins at
    the directory of the file. Paths in code are no imports. The reader refuses files outside of its directory.
    """
    if "@" not in text or not depth:
        return
    for found in dict.fromkeys(match[1].rstrip(".") for match in _IMPORT.finditer(prose(text))):
        target = Path(os.path.normpath(path.parent / os.path.expanduser(found)))
        if not target.is_file() or (said := reader.read(target)) is None:
            continue
        yield target, said
        yield from imported(said, target, reader, depth - 1)

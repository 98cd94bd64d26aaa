"""Parses shell source with tree-sitter-bash. Only this module loads the grammar, at first use."""

from __future__ import annotations

import re
from functools import cache
from time import thread_time
from typing import TYPE_CHECKING

from .budget import TooMuch

if TYPE_CHECKING:
    from tree_sitter import Language
    from tree_sitter import Node as Syntax

MAX_SECONDS = 0.05
"""Maximum CPU time for parsing one source; source that takes longer raises `TooMuch`."""

MAX_PIPES = 1000
"""Maximum number of "|" in a source. The grammar recovers from a pipeline without an end in quadratic time, in which
nothing stops it: 1,000 take 40 ms. The text of a here-document that the source begins with does not count.
"""

_HERE = re.compile(rb"[^\n'\"`$#\\<|]{0,200}<<-?[ \t]*+(['\"]?)(\w++)\1[^\n'\"`$#\\<|]*+\n")
"""The line that begins a here-document, if it is the first and has no quotes, comments or substitutions."""

_PIECE = 8192
"""Bytes that the parser gets at a time. NULs are replaced: it would ask anew after each, and a shell ignores them."""

_WIDE = re.compile(rb"[\xc4-\xf4][\x80-\xbf]+")
"""Characters above U+00FF. Some of them crash the process in tree-sitter-bash 0.25 (seen after `{`), which reads beyond
the end of a table of the C library. So each byte is replaced by a letter, which is just as much a part of a word.
"""


@cache
def _language() -> Language:
    import tree_sitter_bash  # takes tens of milliseconds; only ratings of shell commands need it
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def parse_syntax(data: bytes) -> Syntax:
    """Return the syntax tree's root. Raises `TooMuch` if that is slow: source full of errors takes quadratic time."""
    from tree_sitter import Parser

    if data.count(b"|") > MAX_PIPES and _after_text(data).count(b"|") > MAX_PIPES:
        raise TooMuch
    end, narrow = thread_time() + MAX_SECONDS, _WIDE.sub(lambda wide: b"x" * len(wide[0]), data.replace(b"\0", b" "))
    try:
        tree = Parser(_language()).parse(
            lambda offset, _: narrow[offset : offset + _PIECE],
            encoding="utf8",
            progress_callback=lambda *_: thread_time() > end,
        )
    except ValueError:  # "Parsing failed": the callback stopped it
        raise TooMuch from None
    return tree.root_node


def _after_text(data: bytes) -> bytes:
    """Return a source without the text of the here-document that it begins with."""
    match = _HERE.match(data)
    if match is None:
        return data
    end = re.compile(rb"(?m)^\t*" + match[2] + rb"$").search(data, match.end())
    if end is None or (not match[1] and re.search(rb"\$\(|`", data[match.end() : end.start()])):
        return data
    return data[end.end() :]

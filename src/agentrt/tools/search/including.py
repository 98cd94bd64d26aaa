"""Patterns of paths, such as `*.py`, `src/**/*.ts` and `*.{js,ts}`, as regular expressions. Pure."""

from __future__ import annotations

import re

from ...errors import ToolError

MOST = 100
"""Patterns that braces may stand for."""

_MAGIC = re.compile(r"[*?\[{]")
_SET = re.compile(r"(?<!\\)(\[\^?\]?)([^\]]*)\]")
_SPECIAL = re.compile(r"(?<!\\)[\[&|~]|(?<=-)-")
"""What `re` may give another meaning in a set, some day."""
_SIMPLE_NAME = re.compile(r"[\w.*-]*[\w.-][\w.*-]*", re.ASCII)


def expressions(pattern: str) -> tuple[str, ...]:
    """Patterns of `re` of which one matches the beginning of each path that is meant; none: every path is.

    They are those of a line of gitignore(5) with braces: one without a slash means a name in any directory. Raises
    `ToolError`.
    """
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # with the first search

    found = []
    for one in _expanded(pattern):
        whole = one.removeprefix("./") + ("**" if one.endswith("/") else "")
        try:
            source, include = GitIgnoreSpecPattern.pattern_to_regex(whole)
            if source is None or not include:
                raise ValueError("give one like '*.py' or 'src/**/*.{js,ts}'")
            source = _SET.sub(lambda found: found[1] + _SPECIAL.sub(r"\\\g<0>", found[2]) + "]", str(source))
            # not what is below such a directory
            source = source.replace("(?:(?P<ps_d>/)|$)", "$")
            re.compile(source)
        except (ValueError, re.error) as error:
            raise ToolError(f"{pattern!r} is not a pattern of paths: {error}") from error
        found.append(source)
    return tuple(found)


def last_names(pattern: str) -> tuple[str, ...]:
    """Patterns of names that the last part of each such path has; none where that says nothing.

    They have no `?`, which is a byte for ripgrep.
    """
    names = {one.rpartition("/")[2].replace("?", "*") for one in _expanded(pattern)}
    return tuple(sorted(names)) if all(_SIMPLE_NAME.fullmatch(name) for name in names) else ()


def levels(pattern: str) -> int | None:
    """Directories, the first counted, in which such paths are; None where they may be below any."""
    found = [_levels(one) for one in _expanded(pattern)]
    return None if None in found else max(filter(None, found), default=None)


def _levels(pattern: str) -> int | None:
    parts = pattern.removeprefix("./").removeprefix("/").split("/")
    anywhere = len(parts) == 1 and not pattern.startswith("/")
    return None if anywhere or not parts[-1] or any("**" in part for part in parts) else len(parts)


def rooted(pattern: str) -> tuple[str, str]:
    """An absolute pattern as a directory and the rest, which means what is there, and not in any directory below."""
    parts = pattern.split("/")
    fixed = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    rest = "/".join(parts[fixed:])
    return "/".join(parts[:fixed]) or "/", f"/{rest}" if rest else ""


def _expanded(pattern: str) -> list[str]:
    from bracex import ExpansionLimitException, expand

    try:
        return expand(pattern, limit=MOST, keep_escapes=True)
    except (ExpansionLimitException, RecursionError) as error:
        raise ToolError(f"{pattern!r} stands for more than {MOST} patterns: use * where it has braces") from error

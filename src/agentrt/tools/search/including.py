"""Path patterns such as `*.py`, `src/**/*.ts` and `*.{js,ts}`, as regular expressions. Pure."""

from __future__ import annotations

import re

from ...errors import ToolError

MOST = 100
"""Maximum number of patterns that braces may expand to."""

_MAGIC = re.compile(r"[*?\[{]")
LONGEST = 1000
"""Maximum length of a pattern, in characters."""

_SET = re.compile(r"(?<!\\)(\[\^?\]?)([^\]]*)\]")
_SPECIAL = re.compile(r"(?<!\\)[\[&|~]|(?<=-)-")
"""Characters in a set that a later version of `re` may treat as special."""
_SIMPLE_NAME = re.compile(r"[\w.*-]*[\w.-][\w.*-]*", re.ASCII)


def expressions(pattern: str) -> tuple[str, ...]:
    """Return patterns for `re.match`, one of which matches each path that is meant.

    The pattern is that of a line of gitignore(5), with braces: without a slash it means a name in any directory. Raises
    `ToolError`.
    """
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # imported with the first search

    found = []
    for one in _expanded(pattern):
        whole = one.removeprefix("./") + ("**" if one.endswith("/") else "")
        try:
            source, include = GitIgnoreSpecPattern.pattern_to_regex(whole)
            if source is None or not include:
                raise ValueError("give one like '*.py' or 'src/**/*.{js,ts}'")
            source = _SET.sub(lambda found: found[1] + _SPECIAL.sub(r"\\\g<0>", found[2]) + "]", str(source))
            # match the path itself, not the paths below such a directory
            source = source.replace("(?:(?P<ps_d>/)|$)", "$")
            re.compile(source)
        except (ValueError, re.error) as error:
            raise ToolError(f"{pattern!r} is not a pattern of paths: {error}") from error
        found.append(source)
    return tuple(found)


def last_names(pattern: str) -> tuple[str, ...]:
    """Return patterns of names, one of which matches the last part of each such path; none if the names are not simple.

    They contain no `?`, because it means a byte for ripgrep.
    """
    names = {one.rpartition("/")[2].replace("?", "*") for one in _expanded(pattern)}
    return tuple(sorted(names)) if all(_SIMPLE_NAME.fullmatch(name) for name in names) else ()


def levels(pattern: str) -> int | None:
    """Return how many directory levels such paths may need, including the first; None if they may be at any depth."""
    found = [_levels(one) for one in _expanded(pattern)]
    return None if None in found else max(filter(None, found), default=None)


def _levels(pattern: str) -> int | None:
    parts = pattern.removeprefix("./").removeprefix("/").split("/")
    anywhere = len(parts) == 1 and not pattern.startswith("/")
    return None if anywhere or not parts[-1] or any("**" in part for part in parts) else len(parts)


def rooted(pattern: str) -> tuple[str, str]:
    """Split an absolute pattern into a directory and the rest. The rest, if any, begins with "/", so it means paths
    from that directory on, not names in any directory below.
    """
    parts = pattern.split("/")
    fixed = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    rest = "/".join(parts[fixed:])
    return "/".join(parts[:fixed]) or "/", f"/{rest}" if rest else ""


def _expanded(pattern: str) -> list[str]:
    from bracex import ExpansionLimitException, expand

    if len(pattern) > LONGEST:
        raise ToolError(f"the pattern has {len(pattern)} characters, the limit is {LONGEST}: use * in it")
    try:
        return expand(pattern, limit=MOST, keep_escapes=True)
    except (ExpansionLimitException, RecursionError) as error:
        raise ToolError(f"{pattern!r} stands for more than {MOST} patterns: use * where it has braces") from error

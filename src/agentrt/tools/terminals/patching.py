"""`typed_patch`: a patch that is given to the shell, as `apply_patch <<'EOF'`. No shell has this program. Pure."""

from __future__ import annotations

import re

_TYPED = re.compile(
    r"\s*(?:applypatch|apply_patch)\s*<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[ \t]*\n"
    r"(?P<patch>.*\n)[ \t]*(?P=end)\s*",
    re.DOTALL,
)


def typed_patch(command: str) -> str | None:
    """Return the patch if a command is nothing but a call of `apply_patch` with a here-document; else None."""
    found = _TYPED.fullmatch(command)
    return found["patch"] if found else None

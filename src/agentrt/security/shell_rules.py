"""Rules that rate a shell command. Pure, and simple: what they cannot read they call UNKNOWN."""

from __future__ import annotations

import re
import shlex

from ..specs import SecurityRisk

_SH = r"(?:\S*/)?(?:ba|z|da|k)?sh\b"
_RM_RF = r"(?<![-\w.])rm\b(?=[^;&|\n]*\s-(?:\w*[rR]|-recursive))(?=[^;&|\n]*\s-(?:\w*f|-force|-recursive))"
_RULES: tuple[tuple[SecurityRisk, str, re.Pattern[str]], ...] = tuple(
    (risk, reason, re.compile(pattern))
    for risk, reason, pattern in (
        (SecurityRisk.HIGH, "deletes recursively by force", _RM_RF),
        (SecurityRisk.HIGH, "runs as another user", r"(?:^|[;&|(\s])(?:sudo|doas|su)\s"),
        (SecurityRisk.HIGH, "writes to a device", r"\bdd\b.*\bof=/dev/|>\s*/dev/(?!null|stdout|stderr|tty)\w"),
        (SecurityRisk.HIGH, "makes a file system", r"\bmkfs(?:\.\w+)?\b"),
        (
            SecurityRisk.HIGH,
            "runs what it fetches",
            rf"\b(?:curl|wget)\b[^;\n]*\|\s*(?:{_SH}|(?:\S*/)?python)"
            rf"|(?:\b{_SH}|\bsource\b)[^;\n]*(?:[$<]\(|`)\s*(?:curl|wget)\b",
        ),
        (SecurityRisk.HIGH, "runs decoded text", rf"\bbase64\s+(?:-d|--decode|-D)\b[^;\n]*\|\s*{_SH}"),
        (SecurityRisk.HIGH, "evaluates text as code", r"(?:^|[;&|(\s])eval\s"),
        (SecurityRisk.HIGH, "starts processes without end", r":\(\)\s*\{.*\}\s*;"),
        (SecurityRisk.HIGH, "rewrites published history", r"\bgit\s+push\b.*(?:--force\b|\s-f\b)"),
        (SecurityRisk.HIGH, "opens permissions to everyone", r"\bchmod\s+(?:-R\s+)?0?777\s+/"),
        (SecurityRisk.HIGH, "reads keys or passwords", r"(?:\.ssh/id_|/etc/shadow|\.aws/credentials|\.netrc)"),
        (SecurityRisk.MEDIUM, "talks to the network", r"\b(?:curl|wget|ssh|scp|rsync|nc|ncat|telnet)\b"),
        (SecurityRisk.MEDIUM, "publishes", r"\bgit\s+push\b|\bnpm\s+publish\b|\btwine\s+upload\b"),
        (SecurityRisk.MEDIUM, "installs software", r"\b(?:pip|pip3|npm|apt|apt-get|cargo|gem)\s+(?:-\S+\s+)*install\b"),
        (SecurityRisk.MEDIUM, "deletes", r"(?:^|[;&|(\s])(?:rm|shred|truncate)\s|\bgit\s+(?:clean|reset\s+--hard)\b"),
        (SecurityRisk.MEDIUM, "ends processes", r"(?:^|[;&|(\s])(?:kill|pkill|killall|shutdown|reboot)\b"),
    )
)
_ORDER = (SecurityRisk.LOW, SecurityRisk.MEDIUM, SecurityRisk.HIGH)


def rate_command(command: str) -> tuple[SecurityRisk, str]:
    """The highest rating that a rule gives, and why; UNKNOWN for a command whose quoting cannot be read."""
    command = command.replace("\\\n", "")
    found = [(risk, reason) for risk, reason, pattern in _RULES if pattern.search(command)]
    if found:
        return max(found, key=lambda rating: _ORDER.index(rating[0]))
    try:
        shlex.split(command, comments=True)
    except ValueError as error:
        return SecurityRisk.UNKNOWN, f"the command cannot be read: {error}"
    if re.search(r"\$\(|`|\bsh\s+-c\b|\bxargs\b|\bexec\b", command):
        return SecurityRisk.UNKNOWN, "what it runs is only known when it runs"
    return SecurityRisk.LOW, "no rule matches"

"""`Loan`: variables that bash has for one command, passed in memory: they are in no file on disk and no argument.

Bash sources a file without a name in any directory, or reads a pipe. Both are empty again before the command runs. The
variables' earlier values are saved, and `GIVE_BACK` restores them when the command has ended, or before the next one
if the command was cut.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ..errors import ToolError

GIVE_BACK = (
    'if [ -n "${__agentrt_lent+x}" ]; then \\builtin unset -v "${__agentrt_lent[@]}" || \\builtin :;'
    ' \\builtin eval "$__agentrt_kept" || \\builtin :; \\builtin unset -v __agentrt_lent __agentrt_kept; fi 2>/dev/null'
)
"""Bash code that undoes the loan, if there is one."""

TAKE = (
    'if [ -p "$2" ]; then IFS= \\builtin read -r -d "" __agentrt_loan <"$2" || \\builtin :;'
    ' \\builtin eval "$__agentrt_loan"; \\builtin unset -v __agentrt_loan; else \\builtin . "$2"; fi'
)
"""Bash code that takes the loan whose path is the second argument."""

MOST = 1024 * 1024
"""Maximum number of bytes of a loan through a pipe (pipe(7), /proc/sys/fs/pipe-max-size)."""

_TAKE = """\
__agentrt_kept=
__agentrt_lent=({names})
{variables}"""

_VARIABLE = """\
if [[ -n ${{{name}+x}} ]]; then case ${{{name}@a}} in *[aAn]*) ;; *) __agentrt_kept+="${{{name}@A}};" ;; esac; fi
\\builtin unset -v {name}
\\builtin export {name}={value}
"""


class Loan(Protocol):
    """The variables of one command, until `close`. Bash gets `path`, as the second argument of `TAKE`."""

    path: str

    def close(self) -> None:
        """Drop the variables if they have not been read."""
        ...


class MemoryLoan:
    """A loan to a bash on this machine: a file in memory, without a name."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._file = os.memfd_create("agentrt")
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        rest = file_script(variables)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Drop the variables if they have not been read."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class PipeLoan:
    """A loan to a bash that sees a directory of this machine, but not its processes: a named pipe in that directory.

    Raises `ToolError` for more than `MOST` bytes.
    """

    def __init__(self, variables: Mapping[str, str], directory: Path) -> None:
        text = _script(variables) + b"\0"
        if len(text) > MOST:
            raise ToolError(f"the secrets that this command names have {len(text)} bytes: no more than {MOST} can be")
        self.path = str(directory / "loan")
        os.mkfifo(self.path, 0o600)
        self._pipe = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if len(text) > fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ):
                fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, MOST)
            if os.write(self._pipe, text) != len(text):
                raise ToolError("the secrets that this command names do not fit into a pipe")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Drop the variables if they have not been read."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
            with contextlib.suppress(OSError):
                os.unlink(self.path)


def file_script(variables: Mapping[str, str]) -> bytes:
    """Return the bash code of a loan that is a file: it empties the file first."""
    return b': >|"$2"\n' + _script(variables)


def _script(variables: Mapping[str, str]) -> bytes:
    """Return the bash code that takes a loan of variables."""
    each = "".join(_VARIABLE.format(name=name, value=shlex.quote(value)) for name, value in variables.items())
    return _TAKE.format(names=" ".join(variables), variables=each).encode("utf-8", "surrogateescape")

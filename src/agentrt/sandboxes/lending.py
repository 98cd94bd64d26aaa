"""`Loan`: variables that a bash has for one execution, handed over in memory: they are in no file and no argument.

The bash sources a file that has no name in any directory and is empty again before its first line runs. What the
variables were before is put by, and `GIVE_BACK` restores it at the next prompt, whatever ended the execution.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

GIVE_BACK = (
    'if [ -n "${__agentrt_lent+x}" ]; then unset -v "${__agentrt_lent[@]}" || :; eval "$__agentrt_kept" || :;'
    " unset -v __agentrt_lent __agentrt_kept; fi 2>/dev/null"
)
"""Bash: forget the loan, if there is one."""

_TAKE = """\
: >|"$2"
__agentrt_kept=
__agentrt_lent=({names})
{variables}"""

_VARIABLE = """\
if [ -n "${{{name}+x}}" ]; then case ${{{name}@a}} in *[aAn]*) ;; *) __agentrt_kept+="${{{name}@A}};" ;; esac; fi
unset -v {name}
export {name}={value}
"""


class Loan:
    """The variables of one execution, until `close`; `path` is what the bash sources, as its second argument."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._file = os.memfd_create("agentrt")
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        script = _TAKE.format(
            names=" ".join(variables),
            variables="".join(
                _VARIABLE.format(name=name, value=shlex.quote(value)) for name, value in variables.items()
            ),
        )
        rest = script.encode("utf-8", "surrogateescape")
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Take back what has not been read."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

"""What a shell is told before, with and after a command, and how its prompt looks. Pure.

A command is one line that is typed: it begins the command, sources the file with it, and prints the marker of its end.
What the line relies on cannot be changed by a command (its functions, which are read-only), or is set again each time
(the prompt and its options). `\\builtin` passes over aliases and functions, and the markers go to the terminal itself,
wherever the shell's own output goes; where that is a pipe the marker of the end goes through it, too, behind the
output. Each marker has the number of its call, so that one that comes late ends no other; a prompt's is told from that
at the end of a line. `PROMPT_COMMAND` is the user's. There is always one: a bash that is cut while it starts a program
takes its terminal back only when it runs something, and else finds its input closed and ends.

When a command is cut (C-c, or an error that ends the whole line) the rest of the line is not run. Then the prompt is
the marker of its end; and where the command has changed that as well, or has put another bash in the place of this one
(`exec bash`), a line that sources `ASKED` is typed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .lending import GIVE_BACK, TAKE

SET_UP = r"""__agentrt_begin() {
  if [[ $# -gt 2 ]]; then \builtin unset -v "${@:3}"; fi
  if [[ -n ${2-} ]]; then TAKE; fi
  \builtin export AGENTRT_CALL="$1"
  \builtin declare -g +x __agentrt_call="${1##*-}"
  [[ $BASHOPTS == *promptvars* ]] || \builtin shopt -s promptvars
  [[ $SHELLOPTS != *emacs* && $SHELLOPTS != *vi* ]] || \builtin set +o emacs +o vi
  [[ ${PS1-}${PS2-} == "$__agentrt_prompt" ]] || \builtin declare -g +x PS1="$__agentrt_prompt" PS2=
  [[ -n ${PROMPT_COMMAND-} ]] || \builtin declare -g PROMPT_COMMAND=:
  [[ $- != *e* ]] || __agentrt_code=0
  \builtin printf '\036%s-%s>\037' "$__agentrt_token" "$__agentrt_call" >/dev/tty
  \builtin return "$__agentrt_code"
}
__agentrt_say() {
  \builtin printf '\036%s-%s:%s:%s\037' "$__agentrt_token" "$__agentrt_call" "$__agentrt_code" "$PWD"
}
__agentrt_end() {
  if [[ -p /dev/fd/1 ]]; then __agentrt_say; /bin/sleep 0.2; fi
  __agentrt_say >/dev/tty
  [[ $- != *e* ]] || __agentrt_code=0
  \builtin return "$__agentrt_code"
}
\builtin declare +x -r __agentrt_token=TOKEN __agentrt_pid=$$
__agentrt_prompt='${__agentrt_token:+'$'\036''$__agentrt_token${__agentrt_call:+-$__agentrt_call};$?:$PWD'$'\037}'
\builtin declare +x -r __agentrt_prompt
\builtin readonly -f __agentrt_begin __agentrt_say __agentrt_end
PS1="$__agentrt_prompt" PS2= PROMPT_COMMAND=:
""".replace("TAKE", TAKE)
"""What a bash is set up with, once its token stands in the place of TOKEN. Another shell that inherits the prompt has
an empty one.

`__agentrt_begin` takes the call, the path of a loan or nothing, and the variables to take away. Both functions return
the exit code of the command before, unless the shell would end with that (`set -e`).
"""

SETTLED = f"{GIVE_BACK}\n"
"""Sourced where a loan is out and its command has ended. (Not a function: what it declares is not to be local.)"""

ASKED = r"""__agentrt_code=$?
\builtin printf '\036%s:%s:%s\037' TOKEN "$__agentrt_code" "$PWD" >/dev/tty
[[ $- != *e* ]] || __agentrt_code=0
\builtin return "$__agentrt_code"
"""
"""Sourced where the prompt does not say that a command has ended, or was not heard; with the token in the place of
TOKEN. It leaves the exit code as it is."""


def may_be_unclosed(command: str) -> bool:
    """Whether a command may end within a substitution, `$(` or `<(`.

    Bash 5.2 reads before its buffer after it has sourced such a file, and may then end. It is a guess: a `(` more than
    there are `)`.
    """
    return command.count("(") > command.count(")")


def command_line(scratch: Path, call: str, loan: str, gone: Iterable[str], checked: bool) -> str:
    """The line that runs the file `command` in `scratch`: with the path of a loan, or "", and without some variables.

    With `checked`, another bash reads the file first, and a file with an error of syntax is not run.

    A bash that is not set up, as it took the place of another one, is so first. The line has no `[[`: after some errors
    of syntax bash reads the next one as if it stood within a condition.
    """
    settled = f"[ -z \"${{__agentrt_lent+x}}\" ] || \\builtin . '{scratch}/settled'"
    begin = f"__agentrt_begin {call} '{loan}'" + "".join(f" {name}" for name in gone)
    check = f"\"${{BASH:-bash}}\" -O extglob -n '{scratch}/command' && " if checked else ""
    return (
        f" {{ __agentrt_code=$?; [ \"${{__agentrt_pid-}}\" = $$ ] || \\builtin . '{scratch}/start';"
        f" {settled}; {begin}; }} 2>/dev/null; {check}\\builtin . '{scratch}/command';"
        f" {{ __agentrt_code=$?; {settled}; __agentrt_end; }} 2>/dev/null\n"
    )


def asking_line(scratch: Path) -> str:
    """The line that sources `ASKED`: short, since the terminal may show it."""
    return f" \\builtin . '{scratch}/asked'\n"

"""The bash code that sets up a shell, runs a command and reports its end. Pure.

For each command one line is typed: it begins the command, sources the file that contains it, and prints the end marker.
Commands cannot change what the line relies on: its functions are read-only, the prompt and its options are set again
each time. `\\builtin` bypasses aliases and functions. The markers go to the terminal itself, wherever the shell's own
output goes. If that is a pipe, the end marker also goes through it, behind the output. Each marker has the number of
its call, so that a late marker ends no other command; a prompt's marker differs from that at the end of a line.
`PROMPT_COMMAND` belongs to the user, but is never empty: a bash that is cut while it starts a program takes its
terminal back only when it runs something. Otherwise it finds its input closed and ends.

If a command is cut (C-c, or an error that ends the whole line), the rest of the line is not run. Then the prompt is the
end marker. If the command has changed the prompt, too, or has replaced this bash by another one (`exec bash`), a line
that sources `ASKED` is typed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

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
"""Sets up a bash, with its token in place of TOKEN. In another shell that inherits the prompt, the prompt is empty.

`__agentrt_begin` takes the call, the path of a loan or "", and the names of variables to unset. It and `__agentrt_end`
return the exit code of the command before, unless that would end the shell (`set -e`).
"""

SETTLED = f"{GIVE_BACK}\n"
"""Sourced if a loan is out and its command has ended. (Not a function, because what it declares must not be local.)"""

ASKED = r"""__agentrt_code=$?
\builtin printf '\036%s:%s:%s\037' TOKEN "$__agentrt_code" "$PWD" >/dev/tty
[[ $- != *e* ]] || __agentrt_code=0
\builtin return "$__agentrt_code"
"""
"""Sourced if the prompt does not report the end of a command, or its report did not arrive; with the token in place of
TOKEN. It leaves the exit code as it is."""


def may_be_unclosed(command: str) -> bool:
    """Return whether a command may end within a substitution, `$(` or `<(`.

    After sourcing such a file, bash 5.2 reads before its buffer, and may then end. This is a guess: the command has
    more `(` than `)`.
    """
    return command.count("(") > command.count(")")


def command_line(scratch: PurePath, call: str, loan: str, gone: Iterable[str], checked: bool) -> str:
    """Return the line that runs the file `command` in `scratch`.

    `loan` is the path of a loan, or "". The variables in `gone` are unset. With `checked`, another bash parses the file
    first, and a file with a syntax error is not run.

    A bash that is not set up, because it has replaced another one, is set up first. The line has no `[[`: after some
    syntax errors bash parses the next line as if it were inside a condition.
    """
    settled = f"[ -z \"${{__agentrt_lent+x}}\" ] || \\builtin . '{scratch}/settled'"
    begin = f"__agentrt_begin {call} '{loan}'" + "".join(f" {name}" for name in gone)
    check = f"\"${{BASH:-bash}}\" -O extglob -n '{scratch}/command' && " if checked else ""
    return (
        f" {{ __agentrt_code=$?; [ \"${{__agentrt_pid-}}\" = $$ ] || \\builtin . '{scratch}/start';"
        f" {settled}; {begin}; }} 2>/dev/null; {check}\\builtin . '{scratch}/command';"
        f" {{ __agentrt_code=$?; {settled}; __agentrt_end; }} 2>/dev/null\n"
    )


def asking_line(scratch: PurePath) -> str:
    """Return the line that sources `ASKED`. It is short, because the terminal may show it."""
    return f" \\builtin . '{scratch}/asked'\n"

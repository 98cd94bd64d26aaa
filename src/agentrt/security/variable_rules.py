"""Rules for environment variables that make a program run, load or hide something."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .calls import Call, names
from .paths import Zone
from .shell_scope import Scope
from .shell_text import ANY
from .verdicts import high, medium, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

Check = Callable[["Walk", Call, Scope], None]

_LOADED = names(
    "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PYTHONHOME GCONV_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH PERL5LIB"
    " PYTHONPATH NODE_PATH RUBYLIB"
)
_QUIETLY_LOADED = frozenset({"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PERL5LIB", "PYTHONPATH", "NODE_PATH", "RUBYLIB"})
_CODE = names(
    "GIT_SSH_COMMAND GIT_SSH GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_ASKPASS "
    "SSH_ASKPASS GIT_PROXY_COMMAND"
    " PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND FCEDIT SHELL RSYNC_RSH CVS_RSH "
    "TAR_OPTIONS SUDO_ASKPASS"
    " MANOPT TEXINFO_PAGER SYSTEMD_PAGER GIT_MAN_VIEWER BASH_FUNC GH_PAGER GH_EDITOR HGEDITOR SVN_EDITOR "
    "SVN_SSH CC CXX MAKE"
    " RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC PS0 PS4"
)
_FILES = frozenset(
    {"BASH_ENV", "ENV", "PYTHONSTARTUP", "PERL5DB", "ZDOTDIR", "INPUTRC", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}
)
_HISTORY = frozenset(
    {
        "HISTFILE",
        "HISTSIZE",
        "HISTFILESIZE",
        "HISTCONTROL",
        "HISTIGNORE",
        "PSQL_HISTORY",
        "MYSQL_HISTFILE",
        "LESSHISTFILE",
    }
)
_LOADING_OPTIONS = {
    "NODE_OPTIONS": r"--(?:require|import|loader|experimental-loader)|-r\b",
    "PERL5OPT": r"-[Mmd]",
    "RUBYOPT": r"-r",
    "JAVA_TOOL_OPTIONS": r"-agent|-javaagent",
    "PYTHONWARNINGS": r"\bos\b|antigravity",
    "PYTHONBREAKPOINT": r"os\.|subprocess",
    "MAKEFLAGS": r"--eval",
    "GCC_EXEC_PREFIX": ".",
    "GIT_EXEC_PATH": ".",
    "GOFLAGS": r"-(?:toolexec|exec)",
    "CARGO_BUILD_RUSTC": ".",
}


def rate_environment(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate variables that are set for one command, or for all that follow."""
    for name, value in call.environment:
        if name in _LOADED:
            _rate_loaded(walk, call, name, value)
        elif name in _CODE or name.startswith("BASH_FUNC_"):
            if value.strip():
                walk.code(value, scope.copy())
        elif name in _FILES:
            walk.add(unknown("names a file that is run first"))
        elif name in ("HISTFILE", "PSQL_HISTORY", "MYSQL_HISTFILE") or (name in _HISTORY and value in ("0", "*")):
            walk.add(high("hides what it does"))
        elif name == "CDPATH" and value.strip():
            walk.add(unknown("changes where cd leads"))
        elif name == "PATH":
            _rate_search_path(walk, call, value)
        elif name in ("PS1", "PS2", "PS4", "PROMPT") and re.search(r"\$\(|`", value):
            walk.code(f'echo "{value}"', scope.copy())
        elif name in _LOADING_OPTIONS and re.search(_LOADING_OPTIONS[name], value):
            walk.add(unknown("loads code into other programs"))
        elif (
            re.fullmatch(r"(?i)(?:https?|all|ftp)_proxy|(?:PIP|UV)_(?:EXTRA_)?INDEX_URL|NPM_CONFIG_REGISTRY", name)
            and value
        ):
            walk.add(medium("sends what follows through others", ("network",)))
        elif re.fullmatch(r"GIT_CONFIG_(?:KEY_\d+|PARAMETERS)", name):
            walk.add(unknown("sets an option of git that may run code"))


def _rate_loaded(walk: Walk, call: Call, name: str, value: str) -> None:
    zones = {call.place(part).zone for part in re.split("[: ]", value) if part}
    if name in _QUIETLY_LOADED:
        if Zone.SCRATCH in zones and name.endswith("LIBRARY_PATH"):
            walk.add(unknown("loads code into other programs"))
    elif value.strip():
        walk.add(
            medium("loads code into other programs")
            if zones <= {Zone.SYSTEM}
            else high("loads code into other programs")
        )


def _rate_search_path(walk: Walk, call: Call, value: str) -> None:
    for part in value.split(":"):
        if ANY in part and part != ANY:
            continue
        found = call.place(part or ".")
        if (
            found.zone is Zone.SCRATCH
            or part in (".", "", "..")
            or (found.zone is Zone.INSIDE and found.path == call.where.workspace)
        ):
            walk.add(unknown("changes which programs are run"))

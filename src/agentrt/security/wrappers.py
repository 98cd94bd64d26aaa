"""Programs that run another command, which is rated as well."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from .calls import Call, names, options
from .outputs import search
from .rating import Rating
from .shell_scope import Scope
from .shell_text import ANY, DATA, FACT, FETCHED, quote, settled
from .task_rules import made
from .verdicts import high, medium, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

Unwrap = Callable[["Walk", Call, Scope], str | None]

_PRIVILEGE = high("runs as another user")
_SUDO = ("user", "group", "prompt", "host", "chdir", "role", "type")
_CONTAINER = medium("runs in a container")


class Prefix(msgspec.Struct, frozen=True):
    """A program that runs the command after its own options and `skip` words.

    Options in `plain` take no value, those in `valued` and `longs` do. With `assigns`, `NAME=value` may come first.
    """

    plain: str = ""
    valued: str = ""
    longs: tuple[str, ...] = ()
    skip: int = 0
    rating: Rating | None = None
    assigns: bool = False


PREFIXES: dict[str, Prefix] = {
    "sudo": Prefix("AbBEHknPSsiKvlV", "ugphCcrtTUDRa", _SUDO, 0, _PRIVILEGE, True),
    "pkexec": Prefix("", "", ("user",), 0, _PRIVILEGE),
    "gosu": Prefix(skip=1, rating=_PRIVILEGE),
    "setpriv": Prefix("", "", rating=_PRIVILEGE),
    "chroot": Prefix("", "", ("userspec", "groups"), 1, high("changes the root of the file system")),
    "unshare": Prefix("muinpUCTrfc", "SGRw", ("root", "wd"), 0, high("leaves its name space")),
    "nsenter": Prefix("muinpUCTrFa", "tSGRw", ("target", "root", "wd"), 0, high("enters another name space")),
    "systemd-run": Prefix("tPGqdrS", "upEM", ("unit", "property", "setenv", "on-calendar"), 0, high("runs later")),
    "env": Prefix("i0v", "uC", ("unset", "chdir"), 0, None, True),
    "nohup": Prefix(),
    "setsid": Prefix("cfw"),
    "nice": Prefix("0123456789", "n", ("adjustment",)),
    "ionice": Prefix("t", "cnpPu", ("class", "classdata")),
    "chrt": Prefix("abdfiormRpv0123456789", "TPD", (), 1),
    "taskset": Prefix("cap", "", (), 1),
    "timeout": Prefix("vfp", "ks", ("kill-after", "signal"), 1),
    "time": Prefix("pavVq", "fo", ("format", "output")),
    "stdbuf": Prefix("", "ioe", ("input", "output", "error")),
    "unbuffer": Prefix("p"),
    "caffeinate": Prefix("dimsu", "tw"),
    "catchsegv": Prefix(),
    "strace": Prefix("cCdfFhikqrtTvVwxyYzZn", "abeEIoOpPsSuUX", ("output", "trace"), 0, None, True),
    "ltrace": Prefix("bcCfhiLrStTV", "aAdeFlnopsuwx"),
    "valgrind": Prefix("vqh"),
    "xvfb-run": Prefix("al", "efnpsw", ("server-args", "server-num", "auth-file")),
    "dbus-run-session": Prefix(),
    "rlwrap": Prefix("caiInNrRsv", "bCDefFHlmoOpPqStwWz"),
    "busybox": Prefix(),
    "toybox": Prefix(),
    "builtin": Prefix(),
    "exec": Prefix("cl", "a"),
    "proxychains": Prefix("q", "f", (), 0, medium("talks to a network through others", ("network",), ("web",))),
    "torsocks": Prefix("adiqu", "Pp", (), 0, medium("talks to a network through others", ("network",), ("web",))),
    "prlimit": Prefix("", "p"),
    "faketime": Prefix("fm", "p", (), 1),
    "fakeroot": Prefix("uhv", "lsib"),
    "eatmydata": Prefix(),
    "not": Prefix(),
    "cpulimit": Prefix("iqvz", "lpe"),
    "chronic": Prefix("ev"),
    "ts": Prefix("irsm"),
    "entr": Prefix("acdnprsz"),
}  # fmt: skip

SUBCOMMANDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        names("poetry pipenv uv pdm hatch rye pixi conda mamba micromamba rustup coverage volta"), names("run")
    ),
    **dict.fromkeys(names("bundle rbenv pyenv nodenv direnv asdf yarn pnpm"), names("exec")),
    **dict.fromkeys(names("mise npm"), names("x exec")),
    **dict.fromkeys(names("npx uvx"), frozenset[str]()),
}
"""Programs with subcommands that run the command after them; without any, the program itself does."""

_VALUED = names(
    "-n --name -p --prefix --python --with --directory --project --group --extra -e --env --package --env-file "
    "--cwd -C --with-requirements --with-editable --index-url"
)
_PREFIXED_SKIP = {"direnv": 1, "rustup": 1}


def prefixed(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the command in `timeout 5 command ...`."""
    spec = PREFIXES[call.name]
    if spec.rating is not None:
        walk.add(spec.rating)
    read = options(call.words, spec.valued, spec.longs, first=True)
    if any(len(flag) == 1 and flag not in spec.plain + spec.valued for flag in read.flags) and spec.plain + spec.valued:
        walk.add(unknown(f"options of {call.name} that are not known"))
    for value in read.all("C", "chdir", "D") if call.name in ("env", "sudo") else ():
        scope = scope.copy()
        scope.variables["PWD"] = (call.place(value).path,)
    rest = read.operands[spec.skip :]
    environment = call.environment
    while spec.assigns and rest and re.match(r"[A-Za-z_]\w*=", rest[0]):
        name, _, value = rest[0].partition("=")
        environment += ((name, value),)
        rest = rest[1:]
    if not rest:
        return None
    return walk.run(rest, scope, call.stdin, environment, plain=True)


def environment(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the command of `env`, also with `-S`: one text that is split into a command."""
    for index, word in enumerate(call.words):
        split = re.fullmatch(r"(?:-[iv0]*S|--split-string=?)(.*)", word, re.DOTALL)
        if split:
            rest = call.words[index + 1 :]
            code = split[1] or (rest[0] if rest else "")
            return walk.code(f"{code} {quote(rest if split[1] else rest[1:])}", scope, call.stdin)
        if not word.startswith("-") and "=" not in word:
            break
    return prefixed(walk, call, scope)


def subcommand(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the command in `poetry run command ...`."""
    words = list(call.words)
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _VALUED else words[1:]
    wanted = SUBCOMMANDS[call.name]
    if wanted and (not words or words[0] not in wanted):
        return None
    words = words[1:] if wanted else list(call.words)
    while words and words[0].startswith("-"):
        if words[0] in ("-c", "--call", "--command") and len(words) > 1:
            return walk.code(words[1], scope, call.stdin)
        if words[0] in ("-m", "--module", "-"):
            break
        words = words[2:] if words[0] in _VALUED else words[1:]
    words = words[_PREFIXED_SKIP.get(call.name, 0) :]
    if call.name == "coverage" or words[:1] in (["-m"], ["-c"], ["-"]) or (words and words[0].endswith(".py")):
        words = ["python", *words]
    return walk.run(tuple(words), scope, call.stdin, call.environment, plain=True) if words else None


def query(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the program that `command` runs, unless `-v` or `-V` only looks it up."""
    if call.words[:1] and re.fullmatch(r"-[pvV]*[vV][pvV]*", call.words[0]):
        return None
    words = call.words[1:] if call.words[:1] in (("-p",), ("--",)) else call.words
    return walk.run(words, scope, call.stdin, call.environment, plain=True) if words else None


def evaluated(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the words of `eval`: they are code."""
    return walk.code(" ".join(call.words), scope, call.stdin)


def trapped(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the first word of `trap`: it is code for later."""
    words = [word for word in call.words if word not in ("-p", "-l", "--", "-")]
    if words:
        walk.code(words[0], scope.copy())
    return ""


def substituted_user(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate `su` and `runuser`, and the code of `-c`."""
    walk.add(_PRIVILEGE)
    read = options(call.words, "cCgGsuw", ("command", "group", "shell", "session-command", "user"))
    for code in read.all("c", "C", "command", "session-command"):
        walk.code(code, scope, call.stdin)
    return None


def arguments(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the commands of `xargs` and `parallel`: standard input becomes arguments."""
    valued = "aEIiLlnPsd" if call.name == "xargs" else "jaINnLPSd"
    valued = valued.replace("i", "").replace("l", "")
    read = options(
        call.words, valued, ("arg-file", "max-args", "max-procs", "replace", "delimiter", "jobs", "colsep"), True
    )
    command = read.operands
    stdin = DATA if call.stdin is None or read.has("a", "arg-file") else call.stdin
    if FETCHED in stdin:
        walk.add(medium("passes on what it fetches", ("network",), ("web",)))
    fields: tuple[str, ...]
    if call.name == "parallel" and ":::" in command:
        at = command.index(":::")
        command, fields = command[:at], command[at + 1 :]
    else:
        lines = call.name == "parallel" or read.has("0", "null", "d", "delimiter", "L", "I")
        fields = tuple(field for field in (re.split("[\0\n]", stdin) if lines else stdin.split()) if field)[:40]
    if len(command) > 1 and command[-1].startswith("-") and command[-1].endswith("c"):
        for field in fields:
            walk.run((*command, field), scope, plain=True)
    if not command:
        if call.name == "xargs":
            return stdin
        for field in fields:
            walk.code(field, scope)
        return DATA
    marks = read.all("I", "replace")
    mark = marks[0] if marks else "{}" if read.has("i", "replace") or call.name == "parallel" else ""
    if mark and any(mark in word for word in command):
        for field in (stdin.rstrip("\n"), *fields)[:12] if "\n" not in stdin.rstrip("\n") else fields[:12]:
            line = tuple(walk.budget.replace(word, mark, field) for word in command)
            _shell_or_run(walk, call, line, scope)
        return DATA
    return _shell_or_run(walk, call, (*command, *(fields or (DATA,))), scope) or DATA


def _shell_or_run(walk: Walk, call: Call, line: tuple[str, ...], scope: Scope) -> str | None:
    if call.name == "parallel":
        return walk.code(" ".join(line), scope, None)
    return walk.run(line, scope, None, call.environment, plain=True)


_CHANGES = frozenset({"rm", "unlink", "shred", "truncate", "mv", "chmod", "chown", "tee", "dd"})


def found(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the commands that `find` and `fd` run for each file, and what `find` itself deletes or writes."""
    words = call.words
    roots, pattern = search(words)
    walk.budget.expand(len(roots) * len(pattern))
    targets = tuple(f"{root.rstrip('/')}/{pattern}" if pattern else root for root in roots)
    if "-delete" in words:
        walk.run(("rm", "-rf", "--", *targets), scope, plain=True)
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in ("-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"):
            end = next((i for i in range(index, len(words)) if words[i] in (";", "+")), len(words))
            line = words[index:end]
            if line[:1] and line[0] in _CHANGES and any(call.leaves(root) for root in roots):
                walk.add(high("changes whole directories outside the workspace", ("outside",)))
            for target in targets:
                filled = tuple(walk.budget.replace(part, "{}", target) for part in line)
                if call.name == "fd":
                    filled = (*filled, f"./{FACT}")
                walk.run(filled, scope, plain=True)
            index = end + 1
        elif word in ("-fprint", "-fprintf", "-fprint0", "-fls") and index < len(words):
            walk.run(("tee", words[index]), scope, plain=True)
    return None


def watched(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the words of `watch`: they are one shell command."""
    read = options(call.words, "nq", ("interval",), first=True)
    return walk.code(" ".join(read.operands), scope)


def locked(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the command of `flock file command`, or the code of `-c`."""
    read = options(call.words, "wEc", ("wait", "timeout", "command"), first=True)
    for code in read.all("c", "command"):
        walk.code(code, scope)
    rest = read.operands[1:]
    if rest[:1] == ("-c",):
        return walk.code(" ".join(rest[1:]), scope)
    return walk.run(rest, scope, call.stdin, plain=True) if rest else None


def hooked(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate builtins of the shell that keep code for later: `complete -C`, `mapfile -C`, `bind -x`, `hash -p`."""
    if call.name == "hash" and "-p" in call.words:
        walk.add(unknown("changes which programs are run"))
    if call.name == "bind" and any(word.startswith("-") and "x" in word for word in call.words):
        walk.code(call.words[-1].partition(":")[2], scope.copy())
    for option, code in pairwise(call.words):
        if option in ("-C", "-F") and call.name != "hash":
            walk.code(code, scope.copy())
    return None


def recorded(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the code and the file of `script -c code file`."""
    read = options(call.words, "cEIOBmoTt", ("command", "log-out"))
    for code in read.all("c", "command"):
        walk.code(code, scope)
    for name in read.operands[:1]:
        walk.run(("tee", name), scope, plain=True)
    if len(read.operands) > 1:
        walk.run(read.operands[1:], scope, plain=True)
    return None


def contained(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the command of `docker exec`, `docker compose exec` and similar programs as if it ran here."""
    words = list(call.words)
    if call.name == "docker" and words[:1] == ["compose"]:
        words = words[1:]
    if words[:1] != ["exec"]:
        return None
    walk.add(_CONTAINER)
    read = options(
        tuple(words[1:]), "euwcn", ("env", "user", "workdir", "env-file", "container", "namespace"), first=True
    )
    rest = read.operands[1:]
    rest = rest[1:] if rest[:1] == ("--",) else rest
    return walk.run(rest, scope, call.stdin, plain=True) if rest else None


def remote(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the command of `ssh host command` as if it ran here, and commands in options."""
    read = options(call.words, "BbcDEeFIiJLlmOopQRSWw", (), first=True)
    for setting in read.all("o"):
        name, _, code = setting.partition("=") if "=" in setting else setting.partition(" ")
        if name.lower() in ("proxycommand", "localcommand", "knownhostscommand"):
            walk.add(high("runs a command in an option"))
            walk.code(code, scope)
    if len(read.operands) > 1:
        walk.code(" ".join(read.operands[1:]), scope.copy(), call.stdin)
        return FETCHED
    if call.stdin is not None and settled(call.stdin):
        walk.code(call.stdin, scope.copy())
    return FETCHED


def repeated(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate `at` and `batch`: they run standard input as shell commands at another time."""
    walk.add(high("runs something later"))
    if call.stdin is not None:
        walk.code(call.stdin, scope)
    return ANY


UNWRAPS: dict[str, Unwrap] = {
    **dict.fromkeys(PREFIXES, prefixed),
    **dict.fromkeys(SUBCOMMANDS, subcommand),
    "env": environment,
    "command": query,
    "eval": evaluated,
    "trap": trapped,
    "su": substituted_user,
    "runuser": substituted_user,
    "xargs": arguments,
    "parallel": arguments,
    "sem": arguments,
    "find": found,
    "fd": found,
    "fdfind": found,
    "watch": watched,
    "flock": locked,
    "script": recorded,
    "docker": contained,
    "docker-compose": contained,
    "kubectl": contained,
    "lxc": contained,
    "ssh": remote,
    **dict.fromkeys(("complete", "compgen", "mapfile", "readarray", "bind", "hash"), hooked),
    "make": made,
    "at": repeated,
    "batch": repeated,
}

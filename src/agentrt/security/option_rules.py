"""Rules for options that make otherwise harmless programs run code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .calls import Call, options
from .file_rules import rate_read, rate_write
from .git_rules import rate_git
from .paths import Zone
from .shell_scope import Scope
from .shell_text import DATA, SECRET
from .verdicts import high, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

Check = Callable[["Walk", Call, Scope], None]

_OPTIONS: dict[str, tuple[str, ...]] = {
    "tar": (
        "--to-command",
        "--checkpoint-action",
        "--use-compress-program",
        "-I",
        "--rsh-command",
        "--info-script",
        "-F",
        "--new-volume-script",
        "--rmt-command",
    ),
    "zip": ("-TT", "--unzip-command"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "man": ("-P", "--pager", "-H", "--html"),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "rg": ("--pre", "--hostname-bin"),
    "less": ("-K",),
    "gcc": ("-wrapper",),
    "scp": ("-S", "-D"),
    "sftp": ("-S", "-D"),
    "nmap": ("--script",),
    "make": ("--eval", "-E"),
    "mysql": ("-e", "--pager"),
    "pytest": (),
    "ag": ("--pager",),
    "git-grep": ("-O",),
    "pip": ("--proxy-command",),
    "dvips": ("-R",),
    "wget": ("--use-askpass",),
    "ctags": ("--options",),
    "bat": ("--pager",),
    "go": ("-exec", "-toolexec"),
    "apt-get": (),
}


def _hidden(walk: Walk, call: Call, scope: Scope) -> None:
    wanted = _OPTIONS[call.name]
    for index, word in enumerate(call.words):
        for name in wanted:
            if word == name and index + 1 < len(call.words):
                code = call.words[index + 1]
            elif name.startswith("--") and word.startswith(name + "="):
                code = word[len(name) + 1 :]
            elif not name.startswith("--") and word.startswith(name) and len(word) > len(name) and call.name != "zip":
                code = word[len(name) :]
            else:
                continue
            if call.name == "tar" and name == "--checkpoint-action":
                if not code.startswith("exec"):
                    continue
                walk.add(high("runs a command in an option"))
                code = code[5:]
            elif call.name == "rsync" and re.fullmatch(r"ssh(?: -[pilF46oC]\s*\S+)*", code):
                continue
            elif call.name in ("zip", "man", "split", "scp", "sftp") or name in ("--to-command", "--rsh-command", "-K"):
                walk.add(high("runs a command in an option"))
            walk.code(code, scope.copy())


def _editor(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate what editors, debuggers and clients run: `vim -c '!command'`, `ed` with a `!`, `gdb -ex 'shell ...'`."""
    texts = list(call.words)
    if (
        call.name in ("ed", "ex", "vim", "gdb", "lldb", "mail", "less", "ftp", "sqlite3", "psql", "mysql")
        and call.stdin
    ):
        texts += call.stdin.split("\n")
    for text in texts:
        text = text[1:] if text.startswith("+") else text
        found = re.match(
            r"\s*+:?\s*+(?:silent!?\s++|r(?:ead)?\s++|%|\.|\$|1,\$)?\s*+(?:!|\\!|\.shell\s|\.system\s|shell\s"
            r"|platform shell\s|pipe\s)\s*+(.+)",
            text,
            re.DOTALL,
        )
        if found:
            walk.add(high("runs a command in an option"))
            walk.code(found[1], scope.copy())
        elif call.name in ("vim", "ed") and (saved := re.match(r"\W*w(?:q|rite)?!?\s+(\S+)", text)):
            walk.add(rate_write(call, saved[1]))
        elif call.name == "emacs" and "(" in text:
            walk.add(unknown("evaluates text as code"))
            for code in re.findall(r"(?:shell-command|process)[^\"]*\"([^\"]+)\"", text):
                walk.code(code, scope.copy())
        elif (
            call.name in ("vim", "gdb", "lldb")
            and re.search(
                r"system\(|os\.(?:system|execute|exec)|\bpy(?:thon)?3?\b|\blua\b|:shell|\bterminal\b|\bcall\b.*\(", text
            )
            and not text.startswith("-")
        ):
            walk.add(
                high("runs a command in an option")
                if "system" in text or "os." in text
                else unknown("evaluates text as code")
            )
    if call.name == "gdb" and any(re.fullmatch(r"-p|--pid(?:=.*)?|-p\d+|attach", word) for word in call.words):
        walk.add(high("reads another process", ("secrets",)))


def _sed(walk: Walk, call: Call, scope: Scope) -> None:
    read = options(call.words, "efl", ("expression", "file"))
    scripts = read.all("e", "expression") or read.operands[:1]
    if read.has("sandbox"):
        return
    for script in scripts:
        if re.match(r"^(?:\d+|\$|/[^/]*/)?(?:,(?:\d+|\$|/[^/]*/))?\s*e(?:\s+(.*))?$", script, re.DOTALL) or re.search(
            r"(?:^|[;\n{])[^\S\n]*+(?:\d++|\$)?[^\S\n]*+e\s++\S", script
        ):
            walk.add(high("runs a command in an option"))
        elif re.match(r"^[^a-z]*s(.)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpIiMm0-9]*e", script):
            walk.add(unknown("runs the text that it edits"))
        for match in re.finditer(r"(?:^|[;\n{}/]|\d|\$)[^\S\n]*+([wWrR])[^\S\n]++(/\S+|~\S*)", script):
            walk.add(*((rate_write(call, match[2]),) if match[1] in "wW" else rate_read(call, match[2])))


_SHELL_IN = re.compile(r"[!(\"'=|;:,]\s*(?:/usr)?/bin/(?:ba|z|da|k)?sh\b|os\.(?:system|exec\w+)\s*\(|/dev/(?:tcp|udp)/")
_READERS = frozenset(
    {
        "find",
        "ls",
        "file",
        "stat",
        "which",
        "ldd",
        "readlink",
        "awk",
        "docker",
        "git",
        "chsh",
        "cat",
        "head",
        "wc",
        "[",
        "[[",
        "test",
    }
)


def _anything(walk: Walk, call: Call) -> None:
    for word in call.words:
        if _SHELL_IN.search(word) and call.name not in _READERS:
            walk.add(high("runs a shell in an option"))


def _apt(walk: Walk, call: Call, scope: Scope) -> None:
    for value in options(call.words, "ot", ("option",)).all("o", "option"):
        if re.match(r"(?i)(?:apt|dpkg)::.*(?:pre|post)-invoke|changelogs::|dpkg::pre", value.replace(" ", "")):
            walk.add(high("runs a command in an option"))


def _make(walk: Walk, call: Call, scope: Scope) -> None:
    for word in call.words:
        if re.search(r"\$\(shell|\$\(eval|!=", word):
            walk.add(unknown("evaluates text as code"))
        if re.match(r"SHELL=(?!(?:/usr)?/bin/(?:ba|da|z)?sh$|bash$|sh$)", word):
            walk.add(unknown("changes which programs are run"))
        if re.match(r"(?:SHELL|CC|CXX|AR|LD|MAKE|PYTHON|RM)=", word):
            walk.code(word.partition("=")[2], scope.copy())
    _hidden(walk, call, scope)


def _docker(walk: Walk, call: Call, scope: Scope) -> None:
    read = options(
        call.words, "vewupnmhlca", ("volume", "mount", "device", "env", "name", "workdir", "user", "security-opt")
    )
    sources = [text.partition(":")[0] for text in read.all("v", "volume")]
    sources += [match[1] for text in read.all("mount") if (match := re.search(r"(?:source|src)=([^,]+)", text))]
    for source in sources:
        if re.fullmatch(r"[\w.-]*", source) and source not in (".", ".."):
            continue  # the name of a volume
        found = call.place(source)
        if found.zone not in (Zone.INSIDE, Zone.SCRATCH):
            walk.add(high("gives a container the machine", ("outside",)))
    if read.has("device") or any("unconfined" in text for text in read.all("security-opt")):
        walk.add(high("gives a container the machine"))


def _pip(walk: Walk, call: Call, scope: Scope) -> None:
    words = [word for word in call.words if not word.startswith("-")]
    for word in call.words:
        if DATA in word or SECRET in word:
            walk.add(high("sends local content to a network", ("network",)))
    if words[:1] == ["config"] and words[1:2] == ["set"]:
        walk.add(high("changes where software comes from", ("outside",)))


CHECKS: dict[str, Check] = {
    **dict.fromkeys(_OPTIONS, _hidden),
    **dict.fromkeys(
        ("vim", "ed", "gdb", "lldb", "emacs", "nano", "less", "mail", "ftp", "sqlite3", "psql", "mysql"), _editor
    ),
    "git": rate_git,
    "sed": _sed,
    "apt": _apt,
    "apt-get": _apt,
    "make": _make,
    "pip": _pip,
    "docker": _docker,
}


def rate_options(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate what a program's options make it run."""
    check = CHECKS.get(call.name)
    if check is not None:
        check(walk, call, scope)
    _anything(walk, call)

"""Rules for git: options and settings that run other programs, pushes, and changes outside the workspace."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .calls import Call, options
from .file_rules import rate_write
from .network_rules import host
from .shell_scope import Scope
from .shell_text import DATA, SECRET
from .verdicts import high, medium, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

Check = Callable[["Walk", Call, Scope], None]

_GIT_CODE = re.compile(
    r"(?i)^(?:core\.(?:pager|editor|sshcommand|hookspath|fsmonitor|askpass|gitproxy|alternaterefscommand|attributesfile)"
    r"|alias\.|diff\.|difftool\.|mergetool\.|merge\..*\.driver|filter\.|pager\.|sequence\.editor|credential\.|gpg\..*program|gpg\.program|"
    r"uploadpack\.|receivepack|remote\..*\.(?:proxy|vcs|uploadpack|receivepack)|protocol\.|ssh\.variant|web\.browser|browser\.|man\.|"
    r"interactive\.difffilter|include\.path|includeif\.|init\.templatedir|sendemail|url\..*\.(?:push)?insteadof|submodule\..*\.update|trailer\..*\.c)"
)


_CHANGES = frozenset({"clean", "checkout", "switch", "reset", "restore", "rm", "apply", "am", "stash"})
"""Subcommands that change or remove files of the work tree."""


def rate_git(walk: Walk, call: Call, scope: Scope) -> None:
    words, elsewhere = list(call.words), False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word.startswith("--work-tree="):
            elsewhere = elsewhere or call.leaves(word.partition("=")[2])
        if word.startswith("--config-env"):
            walk.add(unknown("sets an option of git that may run code"))
        if word.startswith("--exec-path="):
            walk.add(unknown("changes which programs are run"))
        if word in ("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env") or (
            word.startswith("-c") and len(word) > 2
        ):
            value = word[2:] if word.startswith("-c") and len(word) > 2 else (words.pop(0) if words else "")
            if word.startswith("-c"):
                _git_setting(walk, value, scope)
            elif word in ("-C", "--work-tree"):
                elsewhere = elsewhere or call.leaves(value)
    if not words:
        return
    rest = words[1:]
    if elsewhere and words[0] in _CHANGES:
        walk.add(high("changes files outside the workspace", ("outside",)))
    if words[0] in ("clone", "fetch", "pull", "ls-remote", "push", "archive"):
        for name, word in itertools.pairwise(rest):
            if name in ("--upload-pack", "--receive-pack", "--exec") or (name == "-u" and words[0] == "clone"):
                walk.add(high("runs a command in an option"))
                walk.code(word, scope.copy())
    for word in rest:
        if re.match(r"--(?:upload-pack|receive-pack|exec|open-files-in-pager|extcmd|template|output)=?|-O.|-u\S", word):
            _git_option(walk, call, words[0], word, rest, scope)
    match words[0]:
        case "config":
            _git_config(walk, rest, scope)
        case "push":
            operands = [word for word in rest if not word.startswith("-")]
            if (
                operands
                and (re.match(r"[a-z+]+://|[\w.-]+@|[\w.-]+:(?!\d)|/|\.\.?/|~", operands[0]) or DATA in operands[0])
                and not _refspec(operands[0])
            ):
                walk.add(high("pushes to a place that is no remote of the project", ("network", "push")))
            if operands and operands[0] in scope.variables.get("git remotes", ()):
                walk.add(high("pushes to a remote that is new", ("network", "push")))
            if any(word.startswith(("+", ":")) for word in operands[1:]):
                walk.add(high("rewrites published history", ("network", "push")))
        case "remote":
            if rest[:1] == ["set-url"]:
                walk.add(unknown("changes where the project is published", ("network",)))
            elif any(word.startswith("ext::") for word in rest):
                walk.add(high("runs a command in an option"))
            elif rest[:1] == ["add"]:
                scope.variables["git remotes"] = (*scope.variables.get("git remotes", ()), *rest[1:])
                walk.add(medium("changes where the project is published", ("network",)))
        case "bisect" if rest[:1] == ["run"]:
            walk.run(tuple(rest[1:]), scope.copy(), plain=True)
        case "submodule" if rest[:1] == ["foreach"]:
            walk.code(" ".join(word for word in rest[1:] if not word.startswith("-")), scope.copy())
        case "rebase" | "filter-branch" | "replay":
            codes = options(
                tuple(rest),
                "xX" if words[0] == "rebase" else "d",
                ("exec", "tree-filter", "index-filter", "msg-filter", "env-filter"),
            )
            for code in codes.all("x", "exec", "tree-filter", "index-filter", "msg-filter", "env-filter"):
                walk.code(code, scope.copy())
        case "difftool" | "grep":
            for code in options(tuple(rest), "xO", ("extcmd",)).all("extcmd", "x" if words[0] == "difftool" else "O"):
                walk.code(code, scope.copy())
        case "clone" | "fetch" | "pull" | "ls-remote" | "archive" | "submodule":
            for setting in options(tuple(rest), "cbujo", ("config", "branch", "depth")).all("c", "config"):
                _git_setting(walk, setting, scope)
            _git_source(walk, rest)


def _refspec(text: str) -> bool:
    return bool(re.fullmatch(r"[\w-]+", text))


def _git_source(walk: Walk, rest: list[str]) -> None:
    for word in rest:
        if word.startswith(("ext::", "fd::")):
            walk.add(high("runs a command in an option"))
        elif not word.startswith("-") and (DATA in word or SECRET in word) and re.search("://|@", word):
            walk.add(high("sends local content to a network", ("network",)))
        elif host(word) == "169.254.169.254":
            walk.add(high("asks for the machine's own credentials", ("network", "secrets")))


def _git_setting(walk: Walk, value: str, scope: Scope) -> None:
    name, _, code = value.partition("=")
    if not _GIT_CODE.match(name):
        return
    lowered = name.lower()
    if lowered.startswith("alias."):
        walk.code(code[1:] if code.startswith("!") else f"git {code}", scope.copy())
    elif lowered in ("core.hookspath", "include.path", "init.templatedir") or lowered.startswith(
        ("includeif", "url.", "protocol.")
    ):
        walk.add(
            unknown("sets an option of git that may run code")
            if code not in ("", "/dev/null")
            else medium("switches hooks off")
        )
    elif code.strip() in (
        "",
        "cat",
        "true",
        "false",
        "less",
        "less -R",
        "vi",
        "vim",
        "nano",
        "delta",
        ":",
        "never",
        "always",
    ) or (
        lowered.startswith(("diff.", "merge.", "pager.", "credential."))
        and not re.search(r"[!/\s]|command|driver|textconv|helper", lowered + code)
    ):
        return
    else:
        walk.add(high("runs a command in an option"))
        walk.code(code.lstrip("!"), scope.copy())


def _git_option(walk: Walk, call: Call, command: str, word: str, rest: list[str], scope: Scope) -> None:
    name, equals, value = word.partition("=")
    if name in ("--upload-pack", "--receive-pack", "--exec") or (
        command in ("clone", "fetch", "pull", "ls-remote") and word.startswith("-u") and len(word) > 2
    ):
        if command in ("clone", "fetch", "pull", "push", "ls-remote", "archive"):
            code = (
                value
                if equals
                else word[2:]
                if not word.startswith("--")
                else rest[rest.index(word) + 1]
                if rest.index(word) + 1 < len(rest)
                else ""
            )
            walk.add(high("runs a command in an option"))
            walk.code(code, scope.copy())
    elif name == "--template" and equals and command in ("clone", "init"):
        walk.add(unknown("sets an option of git that may run code"))
    elif name == "--output" and equals:
        walk.add(rate_write(call, value))
    elif name == "--open-files-in-pager" and equals:
        walk.code(value, scope.copy())


def _git_config(walk: Walk, rest: list[str], scope: Scope) -> None:
    operands = list(options(tuple(rest), "f", ("file", "blob", "type", "default")).operands)
    if operands[:1] and operands[0] in ("get", "list", "set", "unset", "edit", "add"):
        operands = operands[1:] if operands[0] != "get" else operands[1:2]
    wide = any(word in ("--global", "--system") for word in rest)
    if len(operands) < 2:
        return
    if _GIT_CODE.match(operands[0]):
        value = operands[1]
        if value in ("cat", "", "less", "vim", "nano", "true", "simple", "cache"):
            return
        walk.add(high("sets what git runs by itself later"))
        walk.code(value.lstrip("!"), scope.copy())
    elif wide:
        walk.add(medium("changes settings outside the workspace", ("outside",)))

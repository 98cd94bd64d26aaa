"""Programs that run code: shells and interpreters of other languages. Their code is rated."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from .calls import JAVASCRIPT, Call, names, options, program
from .paths import Place, Zone, within
from .python_code import rate_python
from .script_code import rate_script, rate_script_file
from .shell_scope import Scope
from .shell_text import DATA, DECODED, FETCHED, settled
from .verdicts import high, low, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

RateText: TypeAlias = "Callable[[Walk, Call, str, Scope], None]"
"""Rates the text of a script."""

UNREADABLE = "what it runs is only known when it runs"
SHELLS = names("sh bash zsh dash ksh ash mksh fish csh tcsh rbash rzsh")
_CODE_LETTERS = {"perl": "eE", "ruby": "e", "node": "ep", "deno": "ep", "bun": "ep", "php": "rBRE", "lua": "e",
                 "Rscript": "e", "osascript": "e", "tclsh": "", "awk": "", "expect": "c", "julia": "eE", "groovy": "e",
                 "guile": "c", "elixir": "e", "ghc": "e", "gjs": "c", "jshell": "", "R": "e"}  # fmt: skip
_VALUED = {"perl": "IMm", "ruby": "Ir", "node": "r", "bun": "r", "awk": "fFv"}
"""Letters of further options that take a value."""
_IS_SCRIPT = re.compile(r"\.(?:[cm]?[jt]sx?|rb|pl|php|lua|R|jl)\Z")
_CODE_LONGS = ("eval", "print", "run", "code", "execute")
LANGUAGES = frozenset(_CODE_LETTERS)
_PYTHON_MODULES = {"pip": "pip", "pytest": "pytest", "twine": "twine", "ensurepip": "pip", "venv": "venv"}


def shell(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the code that a shell gets from `-c`, from a script file or on standard input."""
    words = list(call.words)
    code = interactive = stdin = False
    while words and words[0][:1] in "-+" and len(words[0]) > 1 and words[0] != "--":
        word = words.pop(0)
        if word in ("--rcfile", "--init-file", "-O", "-o", "+O", "+o") and words:
            value = words.pop(0)
            if word.startswith("--"):
                walk.run(("source", value), scope.copy())
        elif not word.startswith("--"):
            code, stdin, interactive = code or "c" in word[1:], stdin or "s" in word, interactive or "i" in word
            if "o" in word[1:] and words and word.endswith("o"):
                words.pop(0)
        elif word.startswith("--command") or word == "--init-command":
            code = True
    if words[:1] == ["--"]:
        words.pop(0)
    inner = scope.copy()
    inner.aliases, inner.functions = {}, {}
    if code:
        inner.arguments(tuple(words[2:]))
        inner.variables["0"] = (words[1] if len(words) > 1 else "bash",)
        return walk.code(words[0], inner, call.stdin) if words else ""
    if words and not stdin and words[0] not in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        inner.arguments(tuple(words[1:]))
        return script_file(walk, call, words[0], inner)
    inner.arguments(tuple(words))
    return "" if call.stdin is None else _fed(walk, call.stdin, inner)


def _fed(walk: Walk, text: str, scope: Scope) -> str:
    return walk.code(text, scope)


def sourced(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate `source file`: a script in the same shell."""
    if not call.words:
        return ""
    if call.words[0] in ("/dev/stdin", "-", "/dev/fd/0"):
        return walk.code(DATA if call.stdin is None else call.stdin, scope)
    return script_file(walk, call, call.words[0], scope)


def script_file(walk: Walk, call: Call, name: str, scope: Scope, rate: RateText | None = None) -> str | None:
    """Rate a script file: by its text if that is known, else only by where its path leads. `rate` rates the text; None:
    as its first line says, or as shell source.
    """
    found = call.place(name)
    if found.zone is Zone.UNKNOWN:
        mark = next((mark for mark in (FETCHED, DECODED) if mark in name), None)
        walk.add(high("runs what it fetches", ("network",)) if mark == FETCHED else unknown(UNREADABLE))
        return None
    _rate_fetched(walk, found, scope)
    text = scope.text_of(found.path)
    if found.zone in (Zone.DEVICE, Zone.SOCKET):
        walk.add(high("runs what a network or device sends"))
    elif text is None and found.zone is Zone.STREAM:
        walk.add(unknown(UNREADABLE))
    if text is None:
        return None
    return _content(walk, call, text, scope, rate)


def _rate_fetched(walk: Walk, found: Place, scope: Scope) -> None:
    if any(within(found.path, directory) for directory in scope.fetched):
        walk.add(high("runs what it fetches", ("network",), ("web",)))


def _content(walk: Walk, call: Call, text: str, scope: Scope, rate: RateText | None) -> str | None:
    if not settled(text):
        if FETCHED in text or DECODED in text:
            return walk.code(text, scope, call.stdin)
        walk.add(unknown(UNREADABLE))
        return None
    named = _named(text)
    if named in SHELLS or (rate is None and not named):  # Perl, too, obeys the first line of its script
        return walk.code(text, scope, call.stdin)
    rate = rate or (_rate_python if named == "python" else rate_script_file)
    rate(walk, call if call.name in LANGUAGES else msgspec.structs.replace(call, name=named), text, scope)
    return None


def _named(text: str) -> str:
    """Return the shell, the interpreter or `python` that the first line of a script names, else ""."""
    first = text.partition("\n")[0]
    words = map(program, first[2:].split()[:4]) if first.startswith("#!") else ()
    return next((word for word in words if word in SHELLS or word in LANGUAGES or word == "python"), "")


def _rate_python(walk: Walk, call: Call, text: str, scope: Scope) -> None:
    rate_python(walk, text, scope)


def executed(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate a program that is called by its path: it may be a script with known text."""
    found = call.place(call.path)
    _rate_fetched(walk, found, scope)
    text = scope.text_of(found.path)
    if text is None:
        return None
    inner = scope.copy()
    inner.arguments(call.words)
    return _content(walk, call, text, inner, _rate_python if found.path.endswith(".py") else None)


def python(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the code that `python` gets from `-c`, from `-m`, from a file or on standard input."""
    words = list(call.words)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        letters = word[1:]
        if word.startswith("--"):
            continue
        for at, letter in enumerate(letters):
            if letter in "cm":
                value = letters[at + 1 :] or (words.pop(0) if words else "")
                if letter == "c":
                    _python_text(walk, call, value, scope)
                    return None
                return _module(walk, call, value, tuple(words), scope)
            if letter in "WX":
                if at + 1 == len(letters) and words:
                    words.pop(0)
                break
    if words and words[0] not in ("-", "/dev/stdin"):
        return script_file(walk, call, words[0], scope, _rate_python)
    if call.stdin is not None:
        _python_text(walk, call, call.stdin, scope)
    return None


def _python_text(walk: Walk, call: Call, text: str, scope: Scope) -> None:
    if FETCHED in text or DECODED in text:
        walk.add(high("runs what it fetches" if FETCHED in text else "runs decoded text"))
    elif text == DATA:
        walk.add(unknown(UNREADABLE))
    else:
        rate_python(walk, text, scope)


def _module(walk: Walk, call: Call, name: str, words: tuple[str, ...], scope: Scope) -> str | None:
    if name == "http.server":
        walk.add(
            high("serves files to a network", ("network",)) if _serves_outside(call, words) else low("serves files")
        )
        return None
    if not settled(name):
        walk.add(unknown(UNREADABLE))
        return None
    if name in ("coverage", "pdb", "cProfile", "profile", "trace", "runpy") and words:
        rest = tuple(word for word in words if word not in ("run", "report"))
        return python(walk, Call("python", rest, call.directory, call.where, call.stdin, call.environment), scope)
    for path in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__main__.py"):
        if (text := scope.text_of(call.place(path).path)) is not None:
            return _content(walk, call, text, scope, _rate_python)
    return walk.run((_PYTHON_MODULES.get(name, name.split(".")[0]), *words), scope, call.stdin, call.environment, True)


def _serves_outside(call: Call, words: tuple[str, ...]) -> bool:
    directories = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-d", "--directory")]
    return any(call.place(text).zone is not Zone.INSIDE for text in (*directories, "."))


def language(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Rate the code that Perl, Ruby, Node or another interpreter gets from options, a file or standard input."""
    letters = _CODE_LETTERS[call.name]
    if call.name in JAVASCRIPT and call.words[:1] in (("-pe",), ("-ep",)):
        call = msgspec.structs.replace(call, words=("-e", *call.words[1:]))
    longs = (*_CODE_LONGS, "file") if call.name == "awk" else _CODE_LONGS
    read = options(call.words, letters + _VALUED.get(call.name, ""), longs)
    operands = read.operands[1:] if call.name in ("deno", "bun") and read.operands[:1] == ("run",) else read.operands
    codes = read.all(*letters, *_CODE_LONGS)
    files = (*operands[:1], *filter(_IS_SCRIPT.search, operands[1:]))  # an option that no rule knows may take the first
    if call.name == "awk":
        files = read.all("f", "file")
        codes = () if files else _program(call)
    if call.name in JAVASCRIPT and operands[:1] == ("eval",):
        codes = operands[1:2]
    for code in codes:
        rate_script(walk, call, code, scope)
    if codes:
        return None
    if files and "-" not in files:
        for file in files:
            if scope.text_of(call.place(file).path) is None:
                _rate_fetched(walk, call.place(file), scope)
            else:
                script_file(walk, call, file, scope, rate_script_file)
        return None
    if call.stdin is not None:
        rate_script(walk, call, call.stdin, scope)
    return None


def _program(call: Call) -> tuple[str, ...]:
    return options(call.words, "Fvfie", ("field-separator", "assign"), first=True).operands[:1]


INTERPRETERS: dict[str, Callable[[Walk, Call, Scope], str | None]] = {
    **dict.fromkeys(SHELLS, shell),
    **dict.fromkeys(LANGUAGES, language),
    "python": python,
    "source": sourced,
    ".": sourced,
}

"""Prediction of what a program prints, without running it: constants, decoded text, paths. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from itertools import pairwise

from .calls import Call, names, options
from .fetching import fetch_target
from .paths import Zone, secret
from .shell_scope import Scope
from .shell_text import ANY, DATA, DECODED, FACT, FETCHED, SECRET, decode_ansi, known, settled

MAX_TEXT = 100_000
MAX_SET = 400
"""Maximum length of a set of characters that is worked out."""

_SILENT = names(
    "cd pushd popd export declare local readonly typeset unset alias unalias set shopt true false : mkdir rm "
    "rmdir touch chmod chown mv ln cp sleep wait exit return test [ [[ read mapfile readarray trap ulimit "
    "umask kill shift hash disown install truncate"
)
_HOOKS = names("conda mamba pyenv rbenv nodenv direnv brew starship zoxide mise fnm ssh-agent dircolors opam")
_HOOK_WORDS = names("init hook shellenv shell.bash shell.zsh -s -b env activate")
"""Subcommands and options with which `_HOOKS` print shell settings. Their output is trusted, as the programs are."""
_FACTS = names(
    "date uname nproc id whoami hostname arch seq wc tput lsb_release sw_vers getconf groups tty uptime jobs "
    "ls stat du df free ps pgrep pidof lsof dpkg rpm expr bc md5sum sha1sum sha256sum cksum "
    "python_version"
)
_THROUGH = names("cat tac tee head tail sort uniq grep rg zcat pv column fold nl less bat sponge unbuffer")
_CHANGED = names("sed awk cut perl paste fmt iconv expand colrm jq yq tr rev join shuf")
_DECODERS = names(
    "gunzip zcat bunzip2 bzcat unxz xzcat zstdcat unzstd gpg uudecode openssl funzip base32 base58 basenc lz4cat"
)
FETCHERS = names("curl wget aria2c http lynx w3m links elinks fetch nc socat telnet ftp dig nslookup host")
_ESCAPED = re.compile(r"%(?:%|[-+ #0]*+(?:\*|\d++)?(?:\.\d++)?([a-zA-Z]))")


def output(call: Call, scope: Scope) -> str:
    """Return the text that `call` prints; marks stand for unknown parts."""
    made = _MAKERS.get(call.name)
    if made is not None:
        return made(call, scope)[:MAX_TEXT]
    if call.name in ("export", "set", "declare", "typeset", "compgen") and not set(call.words) - {
        "-p",
        "-x",
        "-v",
        "-e",
    }:
        return SECRET
    if call.name in _SILENT or (call.name in _HOOKS and any(word in _HOOK_WORDS for word in call.words)):
        return ""
    if call.name in FETCHERS:
        return _fetched(call, scope)
    if call.name in _FACTS:
        return FACT
    if call.name in _DECODERS:
        return FETCHED if FETCHED in _source(call, scope) else DECODED
    if call.name in ("grep", "rg") and any(_LISTS.fullmatch(word) for word in call.words):
        return _listed(call)
    if call.name in _THROUGH:
        return _source(call, scope)
    if call.name in _CHANGED:
        return changed(_source(call, scope))
    return DATA


def changed(text: str) -> str:
    """Return what is known of text after a program edited it: only a mark for its origin."""
    if known(text):
        return DECODED if text.strip() else text
    return next((mark for mark in (FETCHED, SECRET, DECODED, ANY, DATA) if mark in text), FACT)


def _source(call: Call, scope: Scope) -> str:
    """Return the text that a filter reads: its files, or else standard input."""
    names = [word for word in call.words if not word.startswith("-") or word == "-"]
    if call.name in ("grep", "rg", "sed", "awk", "perl", "jq", "yq", "tr", "tee", "cut"):
        names = names[1:] if call.name in ("grep", "rg", "sed", "awk", "jq", "yq") else []
    if call.name in ("head", "tail"):
        names = [name for name in names if not name.isdecimal()]
    if not names:
        return DATA if call.stdin is None else call.stdin
    return "".join(_content(call, name, scope) for name in names)


def _content(call: Call, name: str, scope: Scope) -> str:
    if name in ("-", "/dev/stdin"):
        return DATA if call.stdin is None else call.stdin
    found = call.place(name)
    if found.path in scope.files:
        text = scope.files[found.path]
        scope.budget.spend(len(text))
        return text
    return SECRET if secret(name, found.path, call.where) else DATA


def _echo(call: Call, scope: Scope) -> str:
    words = call.words
    plain = escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        plain, escapes = plain or "n" in words[0], escapes or "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    return (decode_ansi(text) if escapes else text) + ("" if plain else "\n")


def _printf(call: Call, scope: Scope) -> str:
    words = call.words
    if words[:1] == ("-v",):
        return ""
    if words[:1] == ("--",):
        words = words[1:]
    if not words:
        return ""
    form, rest = words[0], list(words[1:])

    def fill(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = rest.pop(0) if rest else ""
        match match[1]:
            case "s" | "q":
                return value
            case "b":
                return decode_ansi(value)
            case "c":
                return value[:1]
            case "d" | "i" | "u":
                return value if value.isdecimal() else FACT
            case _:
                return DECODED

    printed = ""
    for _ in range(100):
        scope.budget.spend(len(form))
        printed += _ESCAPED.sub(fill, decode_ansi(form))
        if not rest or "%" not in form:
            break
    return printed


def _base64(call: Call, scope: Scope) -> str:
    read = options(call.words, "w", ("wrap",))
    text = _source(Call("cat", read.operands, call.directory, call.where, call.stdin), scope)
    if not read.has("d", "D", "decode"):
        return base64.b64encode(text.encode()).decode() + "\n" if known(text) else changed(text)
    if not known(text):
        return FETCHED if FETCHED in text else DECODED
    return decoded(text)


def decoded(text: str) -> str:
    """Return Base64 text decoded, or `DECODED` if that fails."""
    try:
        return base64.b64decode(re.sub(r"[^A-Za-z0-9+/]", "", text) + "===").decode("utf-8")
    except (ValueError, binascii.Error):
        return DECODED


def _xxd(call: Call, scope: Scope) -> str:
    read = options(call.words, "clsog")
    text = _source(Call("cat", read.operands, call.directory, call.where, call.stdin), scope)
    if not read.has("r"):
        return changed(text)
    if not known(text) or not read.has("p"):
        return FETCHED if FETCHED in text else DECODED
    try:
        return bytes.fromhex(re.sub(r"\s", "", text)).decode("utf-8")
    except ValueError:
        return DECODED


def _tr(call: Call, scope: Scope) -> str:
    read = options(call.words)
    text = DATA if call.stdin is None else call.stdin
    sets = [_letters(word) for word in read.operands]
    if not known(text) or not sets or any(one is None for one in sets) or read.has("c", "C", "s", "complement"):
        return changed(text) if not read.has("s") else text
    first = sets[0] or ""
    if read.has("d", "delete"):
        removed = frozenset(first)
        return "".join(letter for letter in text if letter not in removed)
    if len(sets) < 2 or not sets[1]:
        return DECODED
    second = sets[1].ljust(len(first), sets[1][-1])
    return text.translate({ord(old): new for old, new in zip(first, second, strict=False)})


def _letters(text: str) -> str | None:
    """Return the characters of a set, an argument of `tr`; None if it is too long, or not understood."""
    if len(text) > MAX_SET:
        return None
    text = decode_ansi(text)
    for name, letters in (
        ("[:lower:]", "abcdefghijklmnopqrstuvwxyz"),
        ("[:upper:]", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        ("[:digit:]", "0123456789"),
        ("[:space:]", " \t\n\r\v\f"),
    ):
        text = text.replace(name, letters)
    if "[:" in text or "[=" in text or "*]" in text or not known(text):
        return None
    return re.sub(
        r"(.)-(.)",
        lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))) if ord(m[2]) - ord(m[1]) < 256 else m[0],
        text,
        flags=re.DOTALL,
    )


def _rev(call: Call, scope: Scope) -> str:
    text = _source(call, scope)
    return "\n".join(line[::-1] for line in text.split("\n")) if known(text) else changed(text)


def _pwd(call: Call, scope: Scope) -> str:
    return call.directory + "\n"


def _dirname(call: Call, scope: Scope) -> str:
    names = [word for word in call.words if not word.startswith("-")]
    if not names or not settled(names[0]):
        return DATA
    return (names[0].rstrip("/").rpartition("/")[0] or ("/" if names[0].startswith("/") else ".")) + "\n"


def _basename(call: Call, scope: Scope) -> str:
    names = [word for word in call.words if not word.startswith("-")]
    if not names or not settled(names[0]):
        return FACT
    name = names[0].rstrip("/").rpartition("/")[2]
    return (name.removesuffix(names[1]) if len(names) > 1 else name) + "\n"


def _realpath(call: Call, scope: Scope) -> str:
    names = [word for word in call.words if not word.startswith("-")]
    found = call.place(names[-1]) if names else None
    return found.path + "\n" if found and found.zone is not Zone.UNKNOWN else DATA


def _which(call: Call, scope: Scope) -> str:
    names = [word for word in call.words if not word.startswith("-")]
    if call.name == "command" and not any(word in ("-v", "-V") for word in call.words):
        return DATA
    return f"/usr/bin/{names[0]}\n" if names and settled(names[0]) else DATA


def _mktemp(call: Call, scope: Scope) -> str:
    read = options(call.words, "p", ("suffix",))
    named = read.operands[0] if read.operands else f"tmp.{FACT}"
    base = (*read.all("p", "tmpdir"), "/tmp" if not read.operands or read.has("t") else "")[0]
    return (f"{base}/{named}" if base else named) + "\n"


def _find(call: Call, scope: Scope) -> str:
    roots, pattern = search(call.words)
    scope.budget.expand(len(roots) * len(pattern))
    return "".join(f"{root}\n" if not pattern else f"{root.rstrip('/')}/{pattern}\n" for root in roots)


def search(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return where `find` starts, and a pattern for the names that it finds.

    The pattern is empty if `find` may find a start directory itself.
    """
    rest = [word for word in words if word not in ("-H", "-L", "-P")]
    count = next((i for i, word in enumerate(rest) if word.startswith(("-", "(", "!"))), len(rest))
    roots = tuple(rest[:count]) or (".",)
    tests = rest[count:]
    if "-o" in tests or "-or" in tests:
        named = [b for a, b in pairwise(tests) if a in ("-name", "-iname")]
        if len(named) == 1 + tests.count("-o") + tests.count("-or") and all(name.strip("*?") for name in named):
            return roots, named[0]
        return roots, "" if "-type" not in tests and "-mindepth" not in tests else "*"
    if "-empty" in tests:
        return roots, FACT
    for index, word in enumerate(tests[:-1]):
        if word in ("-name", "-iname", "-path", "-wholename", "-ipath") and tests[max(index - 1, 0)] not in (
            "!",
            "-not",
        ):
            last = tests[index + 1].rstrip("/").rpartition("/")[2]
            return roots, last if last.strip("*") else "*"
    narrowed = any(word in ("-mindepth", "-newer", "-mtime", "-size", "-regex", "-mmin") for word in tests)
    files = any(a == "-type" and b != "d" for a, b in pairwise(tests))
    return roots, "*" if narrowed or files else ""


_LISTS = re.compile(r"-[a-zA-Z]*[lL][a-zA-Z]*|--files-with(?:out)?-match(?:es)?")
"""Options with which `grep` prints names of files."""


def _listed(call: Call) -> str:
    """Return a pattern for the names of files below each searched path."""
    operands = [word for word in call.words if not word.startswith("-")]
    below = operands if any(word in ("-e", "-f", "--regexp", "--file") for word in call.words) else operands[1:]
    return "".join(f"{word.rstrip('/')}/*\n" for word in below or ["."])


def _ls(call: Call, scope: Scope) -> str:
    """Return a pattern for the names in each listed directory."""
    if any(word.startswith("-") and "l" in word for word in call.words):
        return FACT
    found = [word for word in call.words if not word.startswith("-")] or ["."]
    return "".join(f"{word}\n" if any(mark in word for mark in "*?[") else f"{word}/*\n" for word in found)


def _git(call: Call, scope: Scope) -> str:
    words = [word for word in call.words if not word.startswith("-")]
    if words[:1] == ["clone"] and len(words) > 1:
        target = words[2] if len(words) > 2 else words[1].rstrip("/").removesuffix(".git").rpartition("/")[2]
        scope.fetched.append(call.place(target).path)
    if "--show-toplevel" in call.words:
        return call.where.workspace + "\n"
    if any(
        word in ("ls-files", "--name-only", "rev-parse", "--name-status", "rev-list", "describe") for word in call.words
    ):
        return FACT
    return DATA


def _printenv(call: Call, scope: Scope) -> str:
    names = [word for word in call.words if not word.startswith("-")]
    if not names:
        return SECRET
    return scope.values(names[0])[0] + "\n" if call.name == "printenv" else DATA


def _fetched(call: Call, scope: Scope) -> str:
    target = fetch_target(call)
    if target is None:
        return FETCHED
    found = call.place(target)
    if found.zone is not Zone.UNKNOWN and len(scope.files) < 50:
        scope.files[found.path] = FETCHED
    return ""


_MAKERS: dict[str, Callable[[Call, Scope], str]] = {
    "echo": _echo,
    "printf": _printf,
    "base64": _base64,
    "xxd": _xxd,
    "tr": _tr,
    "rev": _rev,
    "pwd": _pwd,
    "dirname": _dirname,
    "basename": _basename,
    "realpath": _realpath,
    "readlink": _realpath,
    "which": _which,
    "command": _which,
    "mktemp": _mktemp,
    "find": _find,
    "fd": lambda call, scope: FACT,
    "git": _git,
    "ls": _ls,
    "printenv": _printenv,
    "env": _printenv,
    "yes": lambda call, scope: " ".join(call.words or ("y",)) + "\n",
}

"""Ratings of shell source: all rules are applied to every program that it may run.

A LOW command was understood: it reads, builds, tests or edits in the workspace. A program of the workspace, or one that
no rule knows, is also LOW unless its arguments match a rule for paths or networks: asking about each of them would make
confirmations useless. A script whose text is given, because the conversation wrote it, is rated by its text.

A conversation's shell lasts from call to call, but a rating sees only one command. So variables of earlier commands are
not known, and functions and aliases for later commands are rated where they are defined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise

import msgspec

from ..specs import SecurityRisk
from .budget import Budget, TooDeep, TooMuch
from .calls import JAVASCRIPT, Call, names, options, program
from .file_rules import FILE_RULES, WRITERS, rate_read, rate_write
from .interpreters import INTERPRETERS, LANGUAGES, SHELLS, executed
from .look_alikes import disguise, tampering
from .network_rules import rate_network, stays_here
from .option_rules import rate_options
from .own_rules import rate_own
from .package_rules import rate_packages, rate_unread
from .paths import Site, Zone, persists, place
from .program_table import rate_by_table
from .python_code import rate_python
from .rating import Rating
from .request_rules import note_sent, sent_ports
from .shell_scope import Scope
from .shell_text import ANY, DATA, FACT, FETCHED, SECRET, without_marks
from .shell_walk import UNREADABLE_SOURCE, Walk
from .task_rules import keep, run_script, tested
from .variable_rules import rate_environment
from .verdicts import high, highest, medium, unknown
from .wrappers import PREFIXES, UNWRAPS

MAX_COMMAND = 64 * 1024
"""Maximum length of a command, in characters; a longer one is UNKNOWN."""

_TALKERS = names(
    "echo printf : true false test [ [[ expr export declare local typeset readonly set alias let say seq log"
)
"""Programs whose arguments are text, not paths."""
_TAKES_CODE = names("make vim ed emacs gcc g++ cc clang awk pip gdb")
"""Programs that may run code from standard input."""
_PATTERN_FIRST = frozenset({"grep", "rg", "ag", "ack", "sed", "awk", "perl", "ruby", *JAVASCRIPT, "jq", "yq"})
_MESSAGES = frozenset({"commit", "log", "tag", "notes", "grep", "shortlog", "stash"})
_CODE_OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SHELLS, ("-c", "-lc", "-ec", "-xc", "-ic")),
    **dict.fromkeys(LANGUAGES, ("-e", "-E", "-r", "-c", "--eval")),
    "python": ("-c",),
    "git": ("-m", "--message", "--grep", "-S", "-G", "--author", "-t"),
    **dict.fromkeys(("gh", "glab", "hub"), ("--body", "--title", "-b", "-t")),
    "pytest": ("-k", "-m"),
    **dict.fromkeys(("grep", "rg", "ag", "sed"), ("-e", "--regexp", "--expression")),
    "docker": ("-c", "-m"),
}
"""Options whose value is code or a message, not a path."""
_PROMPTED = re.compile(r"\$\{\w+(?:\[[^]]{0,200}\])?@P\}")
"""`${name@P}`: bash expands the value once more, as it does for a prompt."""


def rate_command(source: str, where: Site, files: Mapping[str, str] = {}, budget: Budget | None = None) -> Rating:
    """Return the rating of shell source that starts in `where.start`; it is UNKNOWN if the budget does not suffice.

    `files` has the known texts of files, by path. Raises `NotAtOnce` only.
    """
    walk, scope = _walked(source, where, files, budget)
    for directory in scope.directories:
        found = place(directory, where.workspace, where)
        if found.zone not in (Zone.INSIDE, Zone.SCRATCH):
            walk.add(medium("leaves the shell outside the workspace"))
    return highest(walk.ratings)


class Wanted(msgspec.Struct, frozen=True):
    """The facts from outside that a rating depends on.

    `files` are the paths of files that are run or appended to and whose text is not known. `ports` are those of this
    machine to which requests that may change something are sent.
    """

    files: frozenset[str] = frozenset()
    ports: frozenset[int] = frozenset()


def wanted_by(source: str, where: Site, files: Mapping[str, str] = {}, budget: Budget | None = None) -> Wanted:
    """Return the facts that the rating of shell source depends on. Raises `NotAtOnce` only.

    Known texts are those in `files` and those that the source itself writes.
    """
    walk, scope = _walked(source, where, files, budget)
    return Wanted(frozenset(scope.wanted), frozenset(walk.ports))


def files_written(source: str, where: Site, budget: Budget | None = None) -> dict[str, str]:
    """Return the text of each file that shell source writes, by path, with marks for unknown text.

    Raises `NotAtOnce` only.
    """
    _, scope = _walked(source, where, {}, budget)
    return {path: scope.files.get(path, ANY) for path in scope.written}


def _walked(source: str, where: Site, files: Mapping[str, str], budget: Budget | None) -> tuple[Walk, Scope]:
    budget = budget or Budget(len(source))
    walk = Walk(where, _rate, budget)
    scope = Scope(where, budget)
    scope.files.update(files)
    _guarded(walk, source, lambda text: walk.code(text, scope))
    return walk, scope


def rate_input(text: str, where: Site, budget: Budget | None = None) -> Rating:
    """Return the rating of text typed into a running program, such as a shell, an editor or Python.

    A syntax error in shell source does not count. Raises `NotAtOnce` only.
    """
    budget = budget or Budget(len(text))
    walk = Walk(where, _rate, budget)
    _guarded(walk, text, lambda source: walk.code(source, Scope(where, budget)))
    escaped = re.match(r"\s*+:?\s*+(?:!|\\!|shell\s)\s*+(.+)", text, re.DOTALL)
    if escaped:
        _guarded(walk, escaped[1], lambda source: walk.code(source, Scope(where, budget)))
    _guarded(walk, text, lambda source: rate_python(walk, source, Scope(where, budget), lines=True))
    return highest(rating for rating in walk.ratings if rating.reason != UNREADABLE_SOURCE)


def _guarded(walk: Walk, source: str, read: Callable[[str], object]) -> None:
    """Call `read` with `source`; add UNKNOWN if the source is too long, too deep or too much."""
    if len(source) > MAX_COMMAND:
        walk.add(unknown("the command is too long to be read"))
        return
    if _PROMPTED.search(source):
        walk.add(unknown("runs what stands in a variable"))
    if reason := tampering(source):
        walk.add(high(f"holds {reason}") if "order" in reason else unknown(f"holds {reason}"))
    try:
        read(without_marks(source))
    except TooDeep:
        walk.add(unknown("commands within commands, too deep to be read"))
    except TooMuch:
        walk.add(unknown("too much to be read"))
    except RecursionError:
        walk.add(unknown("too deep to be read"))


def _rate(walk: Walk, call: Call, scope: Scope) -> str | None:
    """Apply all rules to one call; return what it prints if a wrapper or interpreter knows that, else None."""
    if call.name in ("<", ">"):
        _rate_redirect(walk, call)
        return None
    rate_environment(walk, call, scope)
    if call.name == "=":
        return None
    printed = None
    unwrap = UNWRAPS.get(call.name)
    interpret = INTERPRETERS.get(call.name)
    if unwrap is not None:
        printed = unwrap(walk, call, scope)
    elif interpret is not None:
        printed = interpret(walk, call, scope)
    elif "/" in call.path:
        printed = executed(walk, call, scope)
    if "/" in call.path and call.place(call.path).path in scope.files and (unwrap or interpret):
        executed(walk, call, scope)
    if call.name in ("npm", "pnpm", "yarn", "bun", "deno"):
        run_script(walk, call, scope)
    if call.name in _TAKES_CODE and FETCHED in (call.stdin or ""):
        walk.add(high("runs what it fetches", ("network",), ("web",)))
    if call.name == "pytest":
        tested(walk, call, scope)
    note_sent(walk, sent_ports(call), call.where)
    if not stays_here(call):
        walk.add(*rate_by_table(call))
    walk.add(*rate_network(call), *rate_packages(call), *rate_unread(call), *rate_own(call))
    if call.name in PREFIXES:
        for text in WRITERS[call.name](call) if call.name in WRITERS else ():
            if text.startswith("|"):
                walk.code(text[1:], scope.copy())
            else:
                walk.add(rate_write(call, text))
        return printed
    _rate_files(walk, call, scope)
    rate_options(walk, call, scope)
    _rate_process(walk, call, scope)
    _rate_unknown_wrapper(walk, call, scope)
    return printed


def _rate_redirect(walk: Walk, call: Call) -> None:
    operator, text = call.words
    if operator in (">&", "<&", ">&-", "<&-") and (text.isdecimal() or text in ("-", "") or FACT in text):
        return
    if operator in ("<", "<&"):
        walk.add(*rate_read(call, text))
        return
    walk.add(rate_write(call, text))
    walk.add(*rate_read(call, text) if operator == "<>" else ())


def _rate_files(walk: Walk, call: Call, scope: Scope) -> None:
    for rule in FILE_RULES:
        walk.add(*rule(call))
    writer = WRITERS.get(call.name)
    if writer is not None:
        for text in writer(call):
            walk.add(rate_write(call, text))
            scope.written.add(call.place(text).path)
            if call.name in _REWRITERS:
                scope.files[call.place(text).path] = ANY
            if call.name == "tee" and call.stdin is not None and len(scope.files) < 50:
                scope.files[call.place(text).path] = call.stdin
        _copy_known(call, scope)
    for text in (paths := _paths(call)):
        walk.add(*rate_read(call, text))
    for text in _outputs(call):
        walk.add(rate_write(call, text))
        scope.written.add(call.place(text).path)
    if not (_is_known(call) or writer is not None):
        walk.add(*(_WRITES for text in paths if persists(call.place(text), call.where)))


def _outputs(call: Call) -> Iterator[str]:
    """Yield the paths that a call names by common options for output files, such as `--output`."""
    for word, after in pairwise((*call.words, "")):
        name, _, value = word.partition("=")
        if name in _OUTPUTS and (value or not after.startswith("-")):
            yield value or after
        elif word == "-o" and "/" in after and not _is_known(call):
            yield after


def _is_known(call: Call) -> bool:
    return call.name in _TALKERS | _TRUSTED or call.name in UNWRAPS or call.name in INTERPRETERS


def _copy_known(call: Call, scope: Scope) -> None:
    """Record the files and programs that a call copies, moves or links, so that their text is known by the new name."""
    if call.name not in ("cp", "mv", "ln", "install"):
        return
    *names, last = options(call.words, "tSmgo", ("target-directory", "suffix", "mode", "owner", "group")).operands or (
        "",
    )
    into = (*WRITERS["cp"](call), last)[0]
    for name in names if into == last else (*names, last):
        source, target = call.place(name).path, call.place(into).path
        inside = call.place(f"{into}/{name.rstrip('/').rpartition('/')[2]}").path
        for copy in (inside,) if len(names) > 1 or into != last else (inside, target):
            scope.written.add(copy)
            if source in scope.files:
                scope.files[copy] = scope.files[source]
            elif copy != source:
                scope.copied[copy] = source
        if source.startswith(("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/")):
            place_ = call.place(f"{into}/{program(source)}").path
            scope.programs[target] = scope.programs[place_] = program(source)


def _paths(call: Call) -> list[str]:
    """Return the arguments of a call that may be paths."""
    if call.name in _TALKERS:
        return []
    found: list[str] = []
    pattern = call.name in _PATTERN_FIRST and not any(word in ("-e", "-f", "--regexp", "--file") for word in call.words)
    message = call.name == "git" and any(word in _MESSAGES for word in call.words[:3])
    skip = False
    for word in _without_names(call):
        if skip:
            skip = False
            continue
        skip = word in _CODE_OPTIONS.get(call.name, ()) and (message or call.name != "git")
        if "\n" in word or len(word) > 400 or DATA in word:
            continue
        if word.startswith("-"):
            value = word.partition("=")[2] or (word[2:] if not word.startswith("--") else "")
            if value and "/" in value:
                found.append(value)
            continue
        if pattern:
            pattern = False
            continue
        if call.name == "find" and word.startswith("*"):
            continue
        found.append(re.sub(r"^\w+=|^@", "", word))
    return found


def _without_names(call: Call) -> Iterator[str]:
    """Yield the words of a call; for `jq`, without the names of its variables and the values of `--arg`."""
    words = iter(call.words)
    for word in words:
        if call.name == "jq" and word in ("--arg", "--argjson"):
            next(words, None)
            next(words, None)
        elif call.name == "jq" and word in ("--rawfile", "--slurpfile"):
            next(words, None)
            yield f"{word}={next(words, '')}"
        else:
            yield word


def _rate_process(walk: Walk, call: Call, scope: Scope) -> None:
    if call.name == "kill":
        words = call.words
        if any(word in ("-l", "-L", "-0") for word in words[:1]):
            return
        targets = [word for index, word in enumerate(words) if word in ("1", "0") or (word == "-1" and index > 0)]
        walk.add(high("ends all processes") if targets else medium("ends processes"))
    elif call.name in ("pkill", "killall", "skill"):
        if any(re.fullmatch(r"-u.*|--user.*|\.\*?|-U.*|-v", word) for word in call.words) or {
            "systemd",
            "init",
            "sshd",
            "agentrt",
        } & set(call.words):
            walk.add(high("ends all processes"))
    elif (call.name == "set" and call.words[:2] == ("+o", "history")) or (
        call.name == "unset" and "HISTFILE" in call.words
    ):
        walk.add(high("hides what it does"))
    elif call.name in ("init", "telinit") and "".join(call.words[:1]) in ("0", "6"):
        walk.add(high("stops the machine"))
    elif call.name == "service" and len(call.words) > 1 and call.words[1] != "status":
        walk.add(high("changes services"))
    elif (call.name == "printenv" and any(SECRET in scope.values(word)[0] for word in call.words)) or (
        call.name == "jq" and any(re.search(r"(?<![\w.])env\b|\$ENV", word) for word in call.words[:3])
    ):
        walk.add(medium("shows the environment", ("secrets",)))
    elif call.name == "enable" and "-f" in call.words:
        walk.add(high("loads code into other programs"))
    elif (
        call.name in ("set", "declare", "export", "typeset")
        and (not call.words or call.words in (("-p",), ("-x",), ("-xp",), ("-px",)))
        and not call.environment
    ):
        walk.add(medium("shows the environment", ("secrets",)))
    elif reason := disguise("".join(call.words[:1])):
        walk.add(unknown(f"{reason} in an argument"))


_REWRITERS = frozenset({"sed", "perl", "ruby", "dd", "sort", "patch", "ed", "sponge", "truncate"})
"""Programs whose changes to a file cannot be predicted."""
_SERIOUS = (SecurityRisk.HIGH, SecurityRisk.UNKNOWN)
_OUTPUTS = names("--output --output-file --output-dir --output-document --out --outfile --out-file --outdir --out-dir")
_WRITES = unknown("a program that no rule knows may write what runs by itself later", ("outside",))
_NESTED = SHELLS | {"rm", "sudo", "su", "dd", "curl", "wget", "nc", "eval", "python", "perl"}
_TRUSTED = names(
    "git docker kubectl jq yq which type man whatis apropos grep rg ag find fd ls file stat cat head tail less ldd "
    "readlink brew pip apt"
    " apt-get npm yarn pnpm uv poetry cd cp mv ln rm chmod hash apk dnf yum pacman conda gh tldr info whereis "
    "ps pgrep pkill killall"
    " diff cmp wc sort uniq ssh scp rsync tar zip sed awk jq vim xargs parallel ansible dpkg rpm kill mkdir "
    "touch cargo go tee"
    " strings nm objdump bat chown help unset alias unalias for read printf export shellcheck pytest python test make"
    " md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum du nl od xxd hexdump base64 base32 tac cut"
    " tr tree column fold paste comm more basename dirname realpath zcat eza exa dir"
)


def _rate_unknown_wrapper(walk: Walk, call: Call, scope: Scope) -> None:
    """Rate commands in the arguments of a program that no rule knows: it may run them. Only `_SERIOUS` risks count."""
    if _is_known(call):
        return
    for word in call.words:
        first = word.split(maxsplit=1)[:1]
        if first and first[0] != word and program(first[0]) in _NESTED:
            keep(walk, _SERIOUS, partial(walk.code, word, scope.copy()))
    for index, word in enumerate(call.words[:-1]):
        if program(word) in _NESTED and (word == program(word) or word.startswith(("/bin/", "/usr/"))):
            line = call.words[index:]
            keep(walk, _SERIOUS, partial(walk.run, line, scope.copy(), call.stdin, plain=True))
            return

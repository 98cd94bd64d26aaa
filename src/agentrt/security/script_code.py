"""Ratings of code in Perl, Ruby, JavaScript, PHP, awk and similar languages, by a few patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .calls import JAVASCRIPT, Call
from .paths import secret
from .request_rules import note_sent
from .script_requests import script_ports
from .shell_scope import Scope
from .shell_text import DATA, DECODED, FETCHED, decode_ansi, settled
from .verdicts import high, medium, unknown

if TYPE_CHECKING:
    from .shell_walk import Walk

LONGEST = 4096
"""Maximum length of the arguments of a call that are read, in characters."""

_STARTS = re.compile(
    r"\b(?:system|exec|execSync|execFile\w*|spawn|spawnSync|popen|shell_exec|passthru|proc_open|os\.execute|io\.popen|"
    r"do shell script|IO\.popen|Open3\.\w+|Kernel\.(?:system|exec)|Deno\.(?:Command|run)|Bun\.spawn\w*|system2"
    r"|pcntl_exec|systemx|execa\w*|spawn_command_line\w*)\b\s*+[({\[ "
    r"]*+\s*+(?:cmd:\s*+\[\s*+)?(?:(['\"`])(.*?)(?<!\\)\1(\s*+[^\s);}\]])?|(\S))",
    re.DOTALL,
)
_TICK = re.compile(r"(?<![\w$])(`)|\bqx\s*([({/|\[])|%x([({\[<|!])")
_CLOSING = {"(": ")", "{": "}", "[": "]", "<": ">"}
"""Closing delimiters of quoted commands that differ from the opening ones."""
_PIPED = re.compile(r"\|\s*getline|\|\s*\"([^\"]{1,1000})\"|\"([^\"]{1,1000})\"\s*\|\s*getline|print\s*\|\s*(\S+)")
_NETWORK = re.compile(
    r"https?\.(?:get|request)|\bfetch\s*\(|Net::HTTP|LWP::|HTTP::Tiny|IO::Socket|TCPSocket|TCPServer|\bsocket\b|open-uri|URI\.open"
    r"|require\(['\"](?:node:)?(?:https?|net|dgram|tls|axios|request)['\"]\)|\bnet\.|curl_exec|fsockopen|file_get_contents\(['\"]http"
    r"|/inet/(?:tcp|udp)|\bUDPSocket\b|XMLHttpRequest|require\s+['\"]socket['\"]|use Socket"
)
_READS = re.compile(
    r"readFile\w*|File\.(?:read|open|foreach)|IO\.read\w*|process\.env\b(?!\.\w)|\bENV\.to_|%ENV\b|\$_ENV|getenv\(\)|file_get_contents"
    r"|<\$?\w+>|ENVIRON|createReadStream|\bopen\s*+\(?\s*+(?:my\s++)?\$?\w*+\s*+,\s*+['\"]<"
)
_DELETES = re.compile(
    r"\b(?:rmSync|rmdirSync|unlinkSync|unlink|rmtree|remove_tree|rimraf\w*|FileUtils\.rm\w*|File\.delete|Dir\.(?:delete|rmdir)|(?:fsp?|fse|promises)\.(?:rm|rmdir|unlink|remove|emptyDir)\w*|os\.remove|Deno\.remove\w*"
    r"|FileUtils\.remove\w*|rm_rf?|file\.remove|dir_delete|removeSync|emptyDir\w*)"
    r"\b\s*+[({ ]*+\s*+(?:(['\"])(.*?)\1|(\S))"
)
_WRITES = re.compile(
    r"\b(?:writeFile\w*|appendFile\w*|createWriteStream|File\.write|IO\.write|file_put_contents)\s*+\(?\s*+(['\"])(.*?)\1"
)
_PUTS = re.compile(
    r"\b(?:renameSync|rename|copyFile\w*|copySync|cpSync|symlinkSync|linkSync|copy|link|symlink|FileUtils\.(?:mv|cp\w*))"
    r"\b\s*+\(?\s*+[^,;()]{1,200},\s*+(['\"`])(.{1,400}?)\1"
)
_OPENS_TO_WRITE = re.compile(
    r"\b(?:fopen|io\.open|File\.(?:open|new))\s*+\(?\s*+(['\"])([^'\"]{1,400}+)\1\s*+,\s*+['\"](?:[wax]|r\+)"
    r"|\bopen\b[^;'\"]{0,100}(?:(['\"])\s*+\+?>>?\s*+([^'\"&>][^'\"&]{0,399}+)\3|['\"]\+?>>?['\"]\s*+,\s*+(['\"])([^'\"]{1,400}+)\5)"
)
_NEAR_HOME = re.compile(
    r"\b(?:writeFile\w*|appendFile\w*|createWriteStream|File\.write|file_put_contents)\s*\([^,;]{0,200}?['\"`/}](/\.[\w./-]{1,200})"
)
_DECODES = re.compile(
    r"atob|base64|Buffer\.from\([^)]{0,500}['\"](?:hex|base64)|pack\s*\(?['\"][Hhm]|unpack|gzinflate|str_rot13|hex2bin|fromCharCode|decode64|\bchr\("
)
_OPENS_PIPE = re.compile(
    r"\bopen\b[^;'\"]{0,100}+(?:['\"][^'\";]{0,100}+['\"][^;'\"]{0,20}+)?"
    r"['\"]\s*+(?:\|\s*+([^'\"]{1,1000}+)|([^'\"]{1,1000})\|\s*+)['\"]"
)
_EVALUATES = re.compile(
    r"\b(?:eval|assert|create_function|instance_eval|class_eval|vm\.run\w*|new Function|Function|loadstring"
    r"|load)\s*[({ ]"
)
_SHELL = re.compile(r"/bin/(?:ba|z|da|k)?sh\b")
_TEXT = re.compile(r"(['\"`])((?:\\.|(?!\1|\\).)*)\1", re.DOTALL)
_ANY_TEXT = re.compile(r"(?s:(`)((?:\\.|[^`\\])*)(?:`|\\?\Z))|(['\"])((?:\\.|(?!\3|\\).)*)\3?")
"""A text, even without its closing quote, so that the search for one does not begin again and again. Only one in
backquotes has several lines: an apostrophe in a comment hides no text after its line.
"""
_TAGGED = re.compile(r"(?<![\w$])\$(?:\.\w{1,20}|\([^()`]{0,200}\))?`([^`]*+)")
"""A command in a template of JavaScript that is run: that of Bun, zx or execa."""
_PIPES = re.compile(r"['\"](?:-\||\|-)['\"]\s*+,\s*+(['\"])([^'\"]{1,1000}+)\1")
"""The command of a pipe that Perl opens by its mode."""
_BARE_RM = re.compile(r"(?<![\w.$])rm\s*+\(\s*+(?:(['\"`])(.*?)\1|([^\s)]))")
_WHOLE = re.compile(r"recursive|rmtree|remove_|rimraf|rm_r|emptyDir|removeSync|dir_delete")
_CAPABLE = re.compile(
    r"(?i)child_process|exec|spawn|system|popen|command|getline|\bqx\b|%x|\$[\w.]*`|\bsh\b|\brun\b|\bfork\b"
    r"|\brm\b|rm_|rmdir|unlink|remove|delete|rmtree|empty|truncate"
    r"|write|append|open|copy|rename|link|chmod|chown|\bputs?\s+\w+\s*,|>>|\|\s*\"|\"\s*\||>\s*\""
    r"|http|fetch|socket|\bnet\b|axios|request|faraday|guzzle|\blwp\b|curl|\bws\b|\bdns\b|download"
    r"|eval|load|require|import|include|dofile|source|function\s*\(\s*['\"]|\bnew\s+function|process|\benv|home|~/|/etc"
)
"""Words of a script that does more than to calculate and print."""


def rate_script(walk: Walk, call: Call, code: str, scope: Scope) -> None:
    """Rate `code` in a language other than shell and Python."""
    walk.budget.spend(32 + 2 * len(code))
    if not settled(code):
        if FETCHED in code or DECODED in code:
            walk.add(high("runs what it fetches" if FETCHED in code else "runs decoded text"))
        else:
            walk.add(unknown("what it runs is only known when it runs"))
        return
    if call.name == "perl":
        code = re.sub(r"\b(system|exec)\s*+\{[^{}]{0,100}\}", r"\1 ", code)
    _rate_network(walk, code)
    if re.search(r"\bfork\b[^;]{0,200}\bwhile\b|\bwhile\b.{0,40}\bfork\b|\bloop\b.{0,20}\bfork\b", code):
        walk.add(high("starts processes without end"))
    if _EVALUATES.search(code):
        walk.add(high("runs decoded text") if _DECODES.search(code) else unknown("evaluates text as code"))
    for match in _STARTS.finditer(code):
        constant, joined, other = match[2], match[3], match[4]
        if constant is None:
            if other not in (";", None):
                walk.add(unknown("what it runs is only known when it runs"))
        elif joined and "," in joined and re.search(r"\s", constant.strip()):
            walk.code(_plain(constant), scope.copy())  # a whole command line, and options
        elif joined and "," in joined:
            given = code[match.start(1) : match.end() + 400][:LONGEST].partition(")")[0]
            walk.budget.spend(len(given))
            texts = tuple(found[2] for found in _TEXT.finditer(given))
            more = (DATA,) if re.search(r"[A-Za-z_$]", _TEXT.sub("", given)) else ()
            walk.run((*texts, *more), scope.copy(), plain=True)
        else:
            walk.code(_plain(constant) + (" " + DATA if joined else ""), scope.copy())
    commands = (found[1] for found in _TAGGED.finditer(code)) if call.name in JAVASCRIPT else _ticked(code)
    for text in commands:
        walk.code(text, scope.copy())
    if call.name == "awk":
        for match in _PIPED.finditer(code):
            text = match[1] or match[2]
            walk.code(text, scope.copy(), DATA) if text else walk.add(unknown("pipes into a command"))
        for match in re.finditer(r">>?\s*(?:\"([^\"]+)\")", code):
            walk.run(("tee", match[1]), scope.copy(), plain=True)
    if call.name in ("perl", "ruby"):
        for match in _OPENS_PIPE.finditer(code):
            walk.code(match[1] or match[2] or "", scope.copy(), DATA)
    for match in _PIPES.finditer(code):
        walk.code(match[2], scope.copy(), DATA)
    written = [match[2] for match in (*_WRITES.finditer(code), *_PUTS.finditer(code))]
    written += [match[2] or match[4] or match[6] for match in _OPENS_TO_WRITE.finditer(code)]
    written += [f"~{match[1]}" for match in _NEAR_HOME.finditer(code)]
    for path in written:
        walk.run(("tee", path.strip()), scope.copy(), plain=True)
    if call.name == "php" and re.search(r"\$\w+\s*\(", code):
        walk.add(unknown("calls a function by a name that is only known when it runs"))
    if call.name in JAVASCRIPT and re.search(r"\[\s*['\"]\w+['\"]\s*\+", code):
        walk.add(unknown("reaches by a name that is only known when it runs"))
    if "child_process" in code and not _STARTS.search(code):
        walk.add(unknown("what it runs is only known when it runs"))
    if re.search(r"require\(\s*(?!['\"])|require\(['\"][^'\"]*['\"]\s*\+", code):
        walk.add(unknown("what it runs is only known when it runs"))
    if re.search(r"process\.env\b(?![.\[])|\bENV\.to_|%ENV\b|\$_ENV\b(?!\[)", code):
        walk.add(medium("shows the environment", ("secrets",)))
    bare = _BARE_RM.finditer(code) if call.name in JAVASCRIPT or call.name == "julia" else ()
    for match in (*_DELETES.finditer(code), *bare):
        recursive = _WHOLE.search(match[0] + code[match.end() : match.end() + 60])
        walk.run(("rm", "-rf" if recursive else "-f", match[2] if match[2] else DATA), scope.copy(), plain=True)
    for match in _ANY_TEXT.finditer(code):
        text = _plain(match[2] or match[4] or "")
        if secret(text, call.place(text).path, call.where) == "credentials":
            walk.add(high("reads keys or passwords", ("secrets",)))


def rate_script_file(walk: Walk, call: Call, code: str, scope: Scope) -> None:
    """Rate a script in a language other than shell and Python. It is UNKNOWN if it may do more than to calculate and
    print, unless a pattern finds something worse: patterns do not understand a language.
    """
    key = (call.name, call.directory, hash(code))
    if key in scope.rated:
        return
    scope.rated.add(key)
    rate_script(walk, call, code, scope)
    if _CAPABLE.search(code):
        walk.add(unknown(f"a script of {call.name} may do more than a rule can read"))


def _ticked(code: str) -> Iterator[str]:
    """Yield the commands in backquotes, `qx` and `%x`."""
    place = 0
    while match := _TICK.search(code, place):
        opening = match[1] or match[2] or match[3]
        end = code.find(_CLOSING.get(opening, opening), match.end())
        if end > match.end():
            yield code[match.end() : end]
        place = max(end + 1, match.end())


def _rate_network(walk: Walk, code: str) -> None:
    note_sent(walk, script_ports(code), walk.where)
    if not _NETWORK.search(code):
        return
    if _SHELL.search(code) or re.search(r"\bspawn|\bexec\b|dup2|\|&", code):
        walk.add(high("gives a shell to a network", ("network",)))
    elif _READS.search(code):
        walk.add(high("sends local content to a network", ("network",), ("web",)))
    else:
        walk.add(medium("talks to a network", ("network",), ("web",)))


def _plain(text: str) -> str:
    return decode_ansi(text)

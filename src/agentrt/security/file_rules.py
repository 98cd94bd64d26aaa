"""Rules for commands that delete, write and read files, by where the paths lead. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from .calls import Call, Options, names, options
from .look_alikes import disguise
from .paths import Zone, holds_secrets, instructs, is_memory, persists, protects, runs_later, secret
from .rating import Rating
from .shell_text import FACT, SECRET
from .verdicts import high, low, medium, unknown

_EVERYTHING = re.compile(r"(?:^|/)\.?(?:\*|\?|\[[^\]/]*\]|\{[*.,]*\})*[*\]](?:\.\*)?/*$")
_DESTRUCTIVE = frozenset({"rm", "rmdir", "unlink", "shred", "srm", "wipe", "trash", "rimraf", "del", "rd", "trash-put"})


def rate_deletion(call: Call) -> Iterator[Rating]:
    """Rate `rm` and similar programs."""
    if call.name not in _DESTRUCTIVE:
        return
    read = options(call.words, "n" if call.name == "shred" else "", ("iterations", "interactive", "random-source"))
    recursive = read.has("r", "R", "recursive") or call.name in ("rimraf", "rd")
    forced = recursive or read.has("f", "force") or call.name in ("shred", "srm", "wipe")
    if read.has("no-preserve-root"):
        yield high("deletes the whole system")
    for text in read.operands:
        yield _deletion(call, text, recursive, forced and call.name != "rmdir")


def _deletion(call: Call, text: str, recursive: bool, forced: bool) -> Rating:
    found = call.place(text)
    if reason := disguise(text):
        return high(f"{reason} in a path that is deleted")
    if found.zone is Zone.UNKNOWN:
        return high("deletes what is not known") if forced else unknown("deletes what is not known")
    whole = (
        bool(_EVERYTHING.search(text))
        or FACT in text
        or text.rstrip("/") in (".", "..", "~", "./.", "")
        or text.endswith("/..")
    )
    base = found.path.rpartition("/")[0] or "/" if _EVERYTHING.search(text) else found.path
    if forced and protects(base, call.where) and (whole or recursive):
        return high("deletes a whole directory of yours" if base != "/" else "deletes the whole system")
    if re.search(r"/\.git(?:/|$)", found.path) and (recursive or found.path.endswith("/.git")):
        return high("deletes the history of a repository")
    match found.zone:
        case Zone.INSIDE if is_memory(found):
            return medium("deletes what later conversations are told", ("outside",))
        case Zone.INSIDE:
            return medium("deletes")
        case Zone.SCRATCH:
            whole_scratch = base in ("/tmp", "/var/tmp", "/dev/shm")
            return (
                high("deletes outside the workspace", ("outside",)) if forced and whole_scratch else medium("deletes")
            )
        case Zone.STREAM:
            return high("deletes a device")
        case _:
            if forced or whole or found.zone in (Zone.SYSTEM, Zone.DEVICE) or persists(found, call.where):
                return high("deletes outside the workspace", ("outside",))
            return medium("deletes outside the workspace", ("outside",))


def rate_write(call: Call, text: str) -> Rating:
    """Return the rating of a write to one path."""
    found = call.place(text)
    if reason := disguise(text):
        return unknown(f"{reason} in a path that is written")
    if persists(found, call.where):
        return high("writes what runs by itself later", ("outside",))
    kind = secret(text, found.path, call.where)
    if kind == "store":
        return high("changes what agentrt keeps: logs, rules, keys", ("outside",))
    if kind == "credentials":
        return high("writes keys or passwords", ("outside", "secrets"))
    if runs_later(found):
        return high("writes what runs later, outside of any wall", ("outside",))
    if instructs(found):
        return high("writes what instructs agents later", ("outside",))
    if is_memory(found) and found.zone in (Zone.INSIDE, Zone.SCRATCH):
        return medium("writes what later conversations are told", ("outside",))
    match found.zone:
        case Zone.UNKNOWN:
            return unknown("writes to a file that is not known", ("outside",))
        case Zone.SOCKET:
            return high("talks to a network by a device of the shell", ("network",))
        case Zone.DEVICE:
            return high("writes to a device", ("outside",))
        case Zone.SYSTEM:
            return high("writes to the system", ("outside",))
        case Zone.OUTSIDE:
            return medium("writes outside the workspace", ("outside",))
        case Zone.SCRATCH:
            return medium("writes a temporary file, outside the workspace")
        case _:
            return low("writes inside the workspace")


_OTHERS = re.compile(r"/(?:var/(?:mail|log|spool|www)|opt|srv|mnt|media)/")
"""System directories in which other users and programs write."""


def rate_read(call: Call, text: str) -> Iterator[Rating]:
    """Rate reading one path, or naming it as an argument."""
    found = call.place(text)
    match secret(text, found.path, call.where):
        case "store":
            yield high("reads or changes what agentrt keeps: logs, rules, keys", ("secrets",), ("outside",))
        case "credentials":
            yield high("reads keys or passwords", ("secrets",), () if found.zone is Zone.INSIDE else ("outside",))
        case "settings":
            yield medium("reads settings that may hold secrets", ("secrets",))
    if found.zone is Zone.SOCKET:
        yield high("talks to a network by a device of the shell", ("network",))
    if found.zone is Zone.DEVICE and re.match(r"/dev/(?:sd|nvme|hd|vd|xvd|mem|kmem|port|disk|mapper|dm-)", found.path):
        yield high("reads a device", ("secrets",))
    elsewhere = found.zone is Zone.OUTSIDE or (found.zone is Zone.SYSTEM and _OTHERS.match(found.path))
    if elsewhere and ("/" in text or text.startswith("~")):
        yield low("reads outside the workspace", (), ("outside",))
    if "/" in text and (reason := disguise(text)):
        yield unknown(f"{reason} in a path")


def rate_tree(call: Call, text: str) -> Iterator[Rating]:
    """Rate reading one path, and everything below it if it is a directory."""
    yield from rate_read(call, text)
    if holds_secrets(call.place(text).path, call.where):
        yield medium("searches a whole directory of yours", ("secrets",), ("outside",))


def rate_tree_write(call: Call, text: str) -> Rating:
    """Return the rating of a write to one path, or anywhere below it if it is a directory."""
    if holds_secrets(call.place(text).path, call.where):
        return high("writes to a whole directory of yours", ("outside",))
    return rate_write(call, text)


def _last(read: Options) -> tuple[str, ...]:
    given = read.all("t", "target-directory")
    return given or (read.operands[-1:] if len(read.operands) > 1 else ())


def _targets_of_copy(call: Call) -> tuple[str, ...]:
    read = options(call.words, "tSmgo", ("target-directory", "suffix", "mode", "owner", "group"))
    targets = _last(read)
    below = [f"{target}/{source.rstrip('/').split('/')[-1]}" for target in targets for source in read.operands[:-1]]
    return (*targets, *filter(partial(_is_for_later, call), below))


def _is_for_later(call: Call, path: str) -> bool:
    found = call.place(path)
    return runs_later(found) or instructs(found)


def _targets_of_link(call: Call) -> tuple[str, ...]:
    return _last(options(call.words, "tS", ("target-directory",)))


def _all_operands(valued: str = "", longs: tuple[str, ...] = ()) -> Callable[[Call], tuple[str, ...]]:
    return lambda call: options(call.words, valued, longs).operands


def _targets_of_dd(call: Call) -> tuple[str, ...]:
    return tuple(word[3:] for word in call.words if word.startswith("of="))


def _targets_of_sed(call: Call) -> tuple[str, ...]:
    read = options(call.words, "efl" if call.name == "sed" else "eEI", ("expression", "file"))
    if not read.has("i", "in-place"):
        return ()
    given = read.has("e", "f", "expression", "file")
    return read.operands if given else read.operands[1:]


def _targets_of_tar(call: Call) -> tuple[str, ...]:
    words = (f"-{call.words[0]}", *call.words[1:]) if call.words and not call.words[0].startswith("-") else call.words
    read = options(words, "fCTXIbgLNVH", ("file", "directory", "exclude", "use-compress-program", "transform"))
    files = read.all("f", "file") if read.has("c", "r", "u", "create", "append", "update") else ()
    directories = read.all("C", "directory") if read.has("x", "extract", "get") else ()
    return tuple(file for file in files if file != "-") + directories


def _targets_of_rsync(call: Call) -> tuple[str, ...]:
    return tuple(text for text in _operands_of_rsync(call)[-1:] if ":" not in text)


def _operands_of_rsync(call: Call) -> tuple[str, ...]:
    return options(call.words, "eBTMf", ("rsh", "exclude", "include", "filter", "files-from")).operands


def _targets_of_unpack(call: Call) -> tuple[str, ...]:
    return options(call.words, "dxPo", ()).all("d")


def _targets_of_clone(call: Call) -> tuple[str, ...]:
    words = [word for word in call.words if not word.startswith("-")]
    return tuple(words[2:3]) if words[:1] == ["clone"] else ()


def _targets_of_output(call: Call) -> tuple[str, ...]:
    return options(call.words, "oDKXL", ("output", "out", "outfile")).all("o", "output", "out", "outfile")


def _targets_of_patch(call: Call) -> tuple[str, ...]:
    read = options(call.words, "oDdirpBFYzV", ("output", "directory", "input"))
    return (*read.all("o", "output"), *read.all("d", "directory"), *read.operands[:1])


WRITERS: dict[str, Callable[[Call], tuple[str, ...]]] = {
    "cp": _targets_of_copy,
    "install": _targets_of_copy,
    "mv": _targets_of_copy,
    "ln": _targets_of_link,
    "tee": _all_operands("", ("output-error",)),
    "sponge": _all_operands(),
    "touch": _all_operands("drt", ("date", "reference", "time")),
    "mkdir": _all_operands("mZ", ("mode",)),
    "mkfifo": _all_operands("m", ("mode",)),
    "mknod": _all_operands("m", ("mode",)),
    "truncate": _all_operands("sr", ("size", "reference")),
    "dd": _targets_of_dd,
    "sed": _targets_of_sed,
    "perl": _targets_of_sed,
    "ruby": _targets_of_sed,
    "tar": _targets_of_tar,
    "rsync": _targets_of_rsync,
    "unzip": _targets_of_unpack,
    "git": _targets_of_clone,
    "split": lambda call: options(call.words, "abClnt").operands[1:],
    "gcc": _targets_of_output,
    "cc": _targets_of_output,
    "clang": _targets_of_output,
    "sort": _targets_of_output,
    "patch": _targets_of_patch,
    "openssl": lambda call: tuple(b for a, b in zip(call.words, call.words[1:], strict=False) if a == "-out"),
    "ed": _all_operands(),
    "setfacl": _all_operands("mxMX"),
    "go": lambda call: options(call.words, "o").all("o"),
    "strace": lambda call: options(call.words, "oepsaPuEI", first=True).all("o"),
    "venv": _all_operands(),
    "virtualenv": _all_operands("p", ("python",)),
    "zip": lambda call: options(call.words, "nxit").operands[:1],
    "7z": lambda call: tuple(word[2:] for word in call.words if word.startswith("-o")),
    **dict.fromkeys(names("gzip gunzip bzip2 bunzip2 xz unxz zstd"), _all_operands("oSTD")),
    **dict.fromkeys(names("vim vi nvim vimdiff nano pico emacs micro hx helix mcedit"), _all_operands("cuSsTiw")),
}

_MODES = re.compile(r"0?[0-7]?777|a\+?[rwx]*w[rwx]*|o\+[rwx]*w[rwx]*|\+?[rwx]*w[rwx]*|ugo\+[rwx]*w[rwx]*|a=rwx")
_SETUID = re.compile(r"[ugoa]*\+[rwxX]*s[rwxXst]*|[ug]*=[rwx]*s\w*|0?[2467][0-7]{3}")


def rate_mode(call: Call) -> Iterator[Rating]:
    """Rate `chmod`, `chown` and `chgrp`, and the setuid modes of `install`."""
    if call.name == "install":
        modes = options(call.words, "tSmgo", ("mode",)).all("m", "mode")
        if any(_SETUID.fullmatch(mode) for mode in modes):
            yield high("lets a program run as its owner")
    if call.name not in ("chmod", "chown", "chgrp"):
        return
    words = tuple(f"a{word}" if re.fullmatch(r"-[rwxXst]+", word) else word for word in call.words)
    read = options(words, "", ("reference", "from"))
    mode, targets = read.operands[:1], read.operands[1:]
    if read.has("reference"):
        targets = read.operands
    recursive = read.has("R", "recursive")
    yield medium("changes permissions")
    if call.name == "chmod" and mode and _SETUID.fullmatch(mode[0]):
        yield high("lets a program run as its owner")
    for text in targets:
        found = call.place(text)
        outside = found.zone not in (Zone.INSIDE, Zone.SCRATCH)
        if secret(text, found.path, call.where) in ("credentials", "store"):
            yield high("opens keys or passwords", ("secrets",))
        if found.zone is Zone.UNKNOWN:
            yield unknown("changes permissions of what is not known")
        elif outside and (recursive or found.zone is not Zone.OUTSIDE or (mode and _MODES.fullmatch(mode[0]))):
            yield high("opens permissions to everyone" if mode and _MODES.fullmatch(mode[0]) else "takes what "
                "is not its own",
                       ("outside",))  # fmt: skip
        elif outside:
            yield medium("changes permissions", ("outside",))


def rate_mirroring(call: Call) -> Iterator[Rating]:
    """Rate `rsync --delete`: files that are only at the target are gone afterwards."""
    if call.name == "rsync" and any(word.startswith("--del") for word in call.words):
        for text in _targets_of_rsync(call):
            yield _deletion(call, text, True, True)


_GATHERERS = frozenset({"tar", "zip", "7z", "7za", "rar", "cp", "rsync", "cpio", "scp", "ar", "restic", "borg", "mv"})
_SEARCHERS = frozenset({"grep", "rg", "ag", "ack", "ugrep"})


def rate_gathering(call: Call) -> Iterator[Rating]:
    """Rate packing, copying, moving or searching a whole directory with secrets, such as a home directory or `/`."""
    if call.name not in _GATHERERS | _SEARCHERS:
        return
    for text in call.words:
        if text.startswith("-") and "=" not in text:
            continue
        found = call.place(text.rpartition("=")[2].removesuffix("/*") or "/")
        if found.zone is Zone.UNKNOWN or not holds_secrets(found.path, call.where) or not _is_path(text):
            continue
        if (
            (call.name in _GATHERERS and call.words[-1:] != (text,))
            or call.name == "tar"
            or call.name in ("zip", "7z", "7za", "rar")
        ):
            yield high("gathers a whole directory of yours", ("secrets",), ("outside",))
        elif call.name in _SEARCHERS:
            yield medium("searches a whole directory of yours", ("secrets",), ("outside",))


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", ".", "*")) or "=" in text


def _moved(call: Call) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the operands of a call that moves files, and those of them that are local sources."""
    if call.name == "mv":
        read = options(call.words, "tS", ("target-directory", "suffix"))
        return read.operands, read.operands if read.all("t", "target-directory") else read.operands[:-1]
    if call.name == "rsync" and any(word.startswith("--remove-s") for word in call.words):
        operands = _operands_of_rsync(call)
        return operands, tuple(text for text in operands[:-1] if ":" not in text)
    return (), ()


def rate_moves(call: Call) -> Iterator[Rating]:
    """Rate `mv`, and `rsync` that removes its sources: they are gone afterwards."""
    operands, sources = _moved(call)
    gone = bool(operands) and call.place(operands[-1]).zone is Zone.STREAM
    for text in sources:
        found = call.place(text)
        if gone:
            yield _deletion(call, text, True, True)
        if found.zone is Zone.UNKNOWN:
            continue
        if protects(found.path, call.where) or found.zone is Zone.SYSTEM or (found.path.endswith("/.git")):
            yield high("takes a whole directory of yours away", ("outside",))
        elif found.zone is Zone.OUTSIDE:
            yield medium("takes what is outside the workspace away", ("outside",))
        elif is_memory(found):
            yield medium("takes away what later conversations are told", ("outside",))


def rate_traps(call: Call) -> Iterator[Rating]:
    """Rate what makes a path lead elsewhere than it says: links out of the workspace, archives with absolute paths."""
    if call.name == "ln":
        operands = options(call.words, "tS", ("target-directory", "suffix")).operands
        for text in operands[:-1]:
            if not text.startswith(("/", "~")):  # relative to the link's directory
                text = f"{operands[-1].rpartition('/')[0] or '.'}/{text}"
            found = call.place(text)
            if found.zone in (Zone.UNKNOWN, Zone.OUTSIDE) or protects(found.path, call.where):
                yield unknown("gives what is elsewhere a name in the workspace", ("outside",))
            elif is_memory(found):
                yield medium("gives what later conversations are told another name", ("outside",))
    elif call.name == "tar":
        words = (f"-{call.words[0]}", *call.words[1:]) if call.words and call.words[0][:1] != "-" else call.words
        read = options(words, "fCTXIbgLNVH", ("file", "directory"))
        if read.has("P", "absolute-names") and read.has("x", "extract", "get"):
            yield unknown("unpacks to wherever the archive says")


def rate_secret_output(call: Call) -> Iterator[Rating]:
    """Rate secrets in the arguments of a program, which may print or keep them."""
    if any(SECRET in word for word in call.words):
        yield medium("uses a secret of the environment", ("secrets",))


FILE_RULES: tuple[Callable[[Call], Iterator[Rating]], ...] = (
    rate_deletion,
    rate_mode,
    rate_mirroring,
    rate_gathering,
    rate_moves,
    rate_traps,
    rate_secret_output,
)
"""Rules for what a call does to files, except for reading and writing."""

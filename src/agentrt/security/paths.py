"""Where a path leads, judged by its text alone: symbolic links are not known. Pure."""

from __future__ import annotations

import re
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath

import msgspec

from .rating import Own
from .shell_text import ANY, FACT, MARKS, settled


class Zone(StrEnum):
    """A part of the file system."""

    INSIDE = "inside"
    """In the workspace."""
    SCRATCH = "scratch"
    """Below a directory for temporary files."""
    STREAM = "stream"
    """Not a file: /dev/null, the standard streams, the terminal."""
    DEVICE = "device"
    SOCKET = "socket"
    """/dev/tcp and /dev/udp of bash: a network."""
    SYSTEM = "system"
    """Files of the machine: programs, their settings, the kernel's files."""
    OUTSIDE = "outside"
    """Everything else: files of people."""
    UNKNOWN = "unknown"
    """A path that is only known when the command runs."""


class Site(msgspec.Struct, frozen=True):
    """Where an agent works: the absolute paths of its workspace and of the home directory ("/~" if not known).

    `start` is the directory in which a command starts, or a mark if that is not known.
    """

    workspace: str
    home: str
    start: str
    own: Own = Own()
    listening: frozenset[int] | None = frozenset()
    """The ports on which only processes of the conversation listen; None: all that are there, as in a container."""


class Place(msgspec.Struct, frozen=True):
    """A path, made absolute if possible, and its zone."""

    path: str
    zone: Zone


SCRATCH = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/folders", "/run/user")
_STREAMS = re.compile(r"/dev/(?:null|zero|full|u?random|std(?:in|out|err)|tty|fd(?:/\d+)?)|/proc/self/fd/\d+")
_SYSTEM = frozenset(
    {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "proc", "sys", "var", "boot", "nix", "run"}
    | {"srv", "snap", "System", "Library", "Applications", "private", "lost+found"}
)
_HOMES = re.compile(r"/(?:home|Users)/[^/]+|/root")


def site(workspace: str, start: str | None, own: Own = Own(), listening: frozenset[int] | None = frozenset()) -> Site:
    """Return the site of a workspace. The home directory is known only if the workspace is in it."""
    root = normal(workspace)
    match = _HOMES.match(root)
    return Site(root, match[0] if match else "/~", ANY if start is None else normal(start), own, listening)


def normal(path: str) -> str:
    """Return `path` without empty parts, `.` and `..`."""
    path = normpath(path)
    return path[1:] if path.startswith("//") else path


def within(path: str, directory: str) -> bool:
    """Return whether `path` is `directory` or below it; both must be normal."""
    return directory == "/" or path == directory or path.startswith(directory + "/")


@lru_cache(maxsize=512)
def place(text: str, directory: str, where: Site) -> Place:
    """Return where `text` leads from `directory`, with `~` resolved."""
    if text == "~" or text.startswith("~/"):
        text = where.home + text[1:]
    elif text.startswith("~"):
        text = "/home/" + text[1:]
    joined = text if text.startswith("/") else f"{directory}/{text}"
    if not settled(joined):
        return Place(joined, Zone.UNKNOWN)
    path = normal(joined)
    return Place(path, _zone(path, where))


def _zone(path: str, where: Site) -> Zone:
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return Zone.SOCKET
    if _STREAMS.fullmatch(path):
        return Zone.STREAM
    if within(path, where.workspace):
        return Zone.INSIDE
    if any(within(path, scratch) for scratch in SCRATCH):
        return Zone.SCRATCH
    if path.startswith("/dev/"):
        return Zone.DEVICE
    if path == "/" or path.split("/")[1] in _SYSTEM:
        return Zone.SYSTEM
    return Zone.OUTSIDE


def in_store(path: str, where: Site) -> bool:
    """Return whether `path` belongs to the runtime: its logs, rules and keys. A workspace inside a store does not."""
    for store in where.own.stores:
        if within(path, store):
            return not (within(where.workspace, store) and within(path, where.workspace))
    return False


def protects(path: str, where: Site) -> bool:
    """Return whether `path` must never be deleted: it is or contains the workspace, a home directory or a store, or it
    is a top-level directory.
    """
    return (
        within(where.workspace, path)
        or within(where.home, path)
        or path.count("/") < 2
        or bool(_HOMES.fullmatch(path))
        or any(within(store, path) for store in where.own.stores)
    )


def holds_secrets(path: str, where: Site) -> bool:
    """Return whether a directory contains keys, settings or a store although its name does not say so."""
    wide = path in ("/", "/home", "/etc", "/Users", "/root", where.home) or bool(_HOMES.fullmatch(path))
    wide = wide or path.endswith("/.config") or any(within(store, path) for store in where.own.stores)
    return wide and not within(path, where.workspace)


_CREDENTIALS = re.compile(
    r"(?:^|[/=@:,'\"<~{ ])(?:"
    r"\.ssh(?:/(?!known_hosts|config$|[^/]*\.pub$)[^/]*)?$|\.ssh/|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$"
    r"|\.aws(?:$|/)|\.azure(?:$|/)|\.config/(?:gcloud|gh|hub|rclone|op|doctl|configstore|heroku)(?:$|/)"
    r"|\.kube(?:$|/)|kubeconfig$|\.docker/config\.json|\.dockercfg$|\.gnupg(?:$|/)|\.password-store(?:$|/)"
    r"|\.netrc$|_netrc$|\.pgpass$|\.my\.cnf$|\.git-credentials$|\.npmrc$|\.pypirc$|\.vault-token$|\.boto$|\.s3cfg$"
    r"|\.cargo/credentials(?:\.toml)?$|\.gem/credentials$|\.terraformrc$|\.terraform\.d/credentials|\.databrickscfg$"
    r"|\.mozilla(?:$|/)|\.config/(?:google-chrome|chromium|BraveSoftware|microsoft-edge)(?:$|/)|Library/Keychains"
    r"|\.local/share/keyrings|\.claude(?:\.json$|/\.credentials)|\.codex/auth|\.electrum|\.bitcoin(?:$|/)|wallet\.dat$"
    r"|\.(?:bash|zsh|psql|mysql|python)_history$|\.m2/settings\.xml$|\.gradle/gradle\.properties$|\.composer/auth\.json$"
    r")"
)
_SYSTEM_CREDENTIALS = re.compile(
    r"/etc/(?:shadow|gshadow|master\.passwd|sudoers|security/opasswd|krb5\.keytab|ssh/ssh_host_[^/]*key|kubernetes)"
    r"|/proc/(?:self|\d+|[^/]*[*?\[][^/]*|thread-self|[\ue000-\ue006]+)/(?:task/[^/]+/)?(?:environ|mem)"
    r"|/var/run/secrets|/run/secrets|/var/lib/(?:docker|kubelet)|/(?:var/)?run/docker\.sock|/proc/kcore"
)
_ENV_FILE = re.compile(
    r"(?:^|/|=|@)\.env(?:\.(?!example|sample|template|dist)[\w.-]+)?$|(?:^|/)\.?secrets?\.(?:ya?ml|json|toml|env)$"
)
_KEY_FILE = re.compile(r"\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ovpn|ppk)$")
_PUBLIC = re.compile(r"\.ssh/(?:[^/]*\.pub|known_hosts)$")
_GUESSED = (
    "{home}/.ssh/id_rsa",
    "{home}/.aws/credentials",
    "{home}/.netrc",
    "{home}/.git-credentials",
    "{home}/.kube/config",
    "{home}/.docker/config.json",
    "{home}/.config/gh/hosts.yml",
    "{home}/.gnupg/secring.gpg",
    "{home}/.pgpass",
    "{home}/.npmrc",
    "{home}/.pypirc",
    "{home}/.bash_history",
    "/etc/shadow",
    "/etc/sudoers",
    "/proc/1/environ",
    "/root/.ssh/id_rsa",
)


_KEYS = ("id_rsa", "id_ed25519", ".netrc", ".git-credentials", ".pgpass")
"""Names of key files that a glob pattern may match in any directory."""


@lru_cache(maxsize=512)
def secret(text: str, path: str, where: Site) -> str:
    """Return how secret the file at `path`, or a file named in `text`, is: "store", "credentials", "settings" or ""."""
    if in_store(path, where):
        return "store"
    for candidate in (text, path):
        if (_CREDENTIALS.search(candidate) or _SYSTEM_CREDENTIALS.search(candidate)) and not _PUBLIC.search(candidate):
            return "credentials"
    if any(letter in path for letter in "*?["):
        parts = path.split("/")
        if re.match(r"[\w.]{3}", parts[-1]) and any(fnmatchcase(name, parts[-1]) for name in _KEYS):
            return "credentials"
        for guess in _GUESSED:
            names = guess.replace("{home}", where.home).split("/")
            if len(parts) <= len(names) and _matches(parts, names):
                return "credentials"
    if _KEY_FILE.search(path) and path.startswith("/"):
        zone = _zone(path, where)
        if zone is Zone.OUTSIDE:
            return "credentials"
        return "settings" if zone is Zone.INSIDE else ""
    return "settings" if _ENV_FILE.search(text) or _ENV_FILE.search(path) else ""


def _matches(parts: list[str], names: list[str]) -> bool:
    """Return whether a glob pattern matches a path, or matches a hidden directory above it by a wildcard.

    A wildcard does not match a leading dot.
    """
    pairs = list(zip(parts, names, strict=False))
    if any("[" not in part and set(part) - {*"*?", *name} for part, name in pairs):
        return False  # without the cost of a pattern
    if not all(fnmatchcase(name, part) and (part[:1] == name[:1] or name[:1] != ".") for part, name in pairs):
        return False
    if len(parts) == len(names):
        return True
    return any(mark in parts[-1] for mark in "*?[") and names[len(parts) - 1].startswith(".")


_PERSISTENT = re.compile(
    r"/\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|kshrc|inputrc"
    r"|xinitrc|xprofile|xsession|vimrc|exrc|gdbinit|pythonrc|gitconfig|tmux\.conf|screenrc|curlrc|wgetrc|emacs|direnvrc"
    r"|bash_completion|forward|rhosts|cshrc|tcshrc)$|^(?:/home/[^/]+|/Users/[^/]+|/root)/bin/"
    r"|/\.(?:emacs\.d|vim|nvm|oh-my-zsh|ipython|claude|cursor|pip|config/environment\.d)/|/\.cargo/(?:config|env|bin/)"
    r"|/\.local/bin/|/\.config/(?:autostart|systemd|fish|git/|nvim|pip/)|/\.local/share/systemd|/\.pam_environment|/Library/LaunchAgents"
    r"|/etc/(?:cron|systemd|init|rc|profile|ld\.so|passwd|group|shadow|sudoers|pam|ssh|hosts|environment|bash|zsh|udev)"
    r"|/\.agentrt(?:/|$)|/var/spool/cron|/usr/lib/systemd|/lib/systemd|/sitecustomize\.py$|/usercustomize\.py$|\.pth$"
)
_HOOKS = re.compile(r"/\.git(?:$|/(?:hooks(?:$|/(?!.*\.sample$))|config$|modules/|info/attributes$))")


_LATER = re.compile(
    r"/\.(?:envrc|mcp\.json|gitlab-ci\.ya?ml|travis\.ya?ml|pre-commit-config\.ya?ml|devcontainer\.json|drone\.ya?ml|exrc"
    r"|dir-locals\.el|mise\.toml|lefthook\.ya?ml|woodpecker\.ya?ml|npmrc|yarnrc(?:\.yml)?)$"
    r"|/\.(?:vscode|idea|cursor|claude|husky|devcontainer|circleci|zed|gemini|codex|roo|kiro|buildkite|woodpecker|cargo"
    r"|github/workflows|github/actions)(?:/|$)|/\.github$"
    r"|/(?:Jenkinsfile|mise\.toml|lefthook\.ya?ml|appveyor\.ya?ml|buildspec\.ya?ml|cloudbuild\.ya?ml|opencode\.json"
    r"|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml)$"
    r"|/\.(?:agents|openhands)/(?:hooks\.json$|setup\.sh$|(?:skills|agents|microagents|commands|rules)(?:/|$))",
    re.IGNORECASE,
)
_INSTRUCTS = re.compile(
    r"/(?:AGENTS?|CLAUDE|GEMINI)(?:\.local|\.override)?\.md$|/\.(?:cursorrules|windsurfrules|clinerules|goosehints)$"
    r"|/\.github/(?:copilot-instructions\.md$|instructions(?:/|$))",
    re.IGNORECASE,
)


_TELLS = re.compile(r"/\.(?:openhands|agents)(?:/|$)", re.IGNORECASE)


def is_memory(found: Place) -> bool:
    """Return whether agents of later conversations are told what is written there: memories, skills and agents, in any
    directory.
    """
    return bool(_TELLS.search(found.path))


def runs_later(found: Place) -> bool:
    """Return whether what is written there may run outside of a workspace's wall later: continuous integration, the
    tasks of an editor, hooks, servers and skills of a project.
    """
    return bool(_LATER.search(found.path))


def instructs(found: Place) -> bool:
    """Return whether agents are instructed by what is written there, in any later conversation."""
    return bool(_INSTRUCTS.search(found.path))


def persists(found: Place, where: Site) -> bool:
    """Return whether what is written there runs by itself later: startup files, services, scheduled jobs, git hooks."""
    if _HOOKS.search(found.path):
        return True
    inside = found.zone is Zone.INSIDE and not within(where.home, where.workspace)
    return not inside and bool(_PERSISTENT.search(found.path))


def clean(text: str) -> str:
    """Return `text` for a person to read: `FACT` becomes "#", any other mark an ellipsis."""
    return "".join("…" if letter in MARKS and letter != FACT else letter.replace(FACT, "#") for letter in text)

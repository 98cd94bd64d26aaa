"""Workspaces: where the tools of a conversation act, as frozen data that stands in the log.

A workspace says where; a `Place` is its live end. `PlaceType` connects the two.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Meta

from ..errors import ConfigurationError
from .given import Amount, Given, Seconds

NOWHERE = "/nonexistent/workspace"
"""A directory that is on no machine."""


Confine = Literal["auto", "require", "off"]
"""Whether the operating system confines what runs in a workspace."""


class WorkspaceSpec:
    """The base of all kinds of workspaces. A kind is a frozen struct with a tag of its own.

    Its `path` is the absolute directory in which tools begin, as they see it.
    """

    __slots__ = ()
    if TYPE_CHECKING:
        path: str

    on_this_machine: ClassVar[bool] = False
    """Whether what runs there runs as the user of this process, and sees what this process sees."""
    seen_here: ClassVar[bool] = False
    """Whether this process has the workspace's files too, under the same path, and may read and write them itself: it
    keeps them for rewinding, and reads AGENTS.md and other files of the project.
    """

    @property
    def directory(self) -> str:
        """Where this machine has the workspace's files; a directory that is not there if it has none."""
        return self.path if self.seen_here else NOWHERE

    def at(self, path: str) -> Self:
        """Return the same with another directory."""
        same: Any = self
        moved: Self = msgspec.structs.replace(same, path=path)
        return moved

    @property
    def has_own_network(self) -> bool:
        """Whether all that listens there belongs to the conversation, as in a container."""
        return False

    @property
    def confines(self) -> bool:
        """Whether something is to hold what programs may touch on this machine."""
        return False

    @property
    def may_leave(self) -> bool:
        """Whether a tool may leave what confines the others there though nobody is asked."""
        return True

    @property
    def told(self) -> str:
        """What a model is told of the system there, in place of that of this machine; "" if that holds."""
        return ""


class LocalWorkspace(
    WorkspaceSpec, msgspec.Struct, frozen=True, tag="local", omit_defaults=True, repr_omit_defaults=True
):
    """A directory of this machine, in which commands run; `path` is absolute in the log.

    `confine` says whether the operating system holds what commands and tools may touch: "auto", if this machine can;
    "require", or nothing runs; "off". Behind the wall, programs see the system, the workspace, and a `/tmp` and a
    home of their own. `caches` are directories that they see as they are, and may write, such as "~/.cache/pip".
    `variables` names variables of this process that they get besides the usual ones. `allow_unconfined` lets a tool
    leave the wall for one command where nobody is asked (`NeverConfirm`).
    """

    path: str
    confine: Confine = "auto"
    caches: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    allow_unconfined: bool = False
    on_this_machine: ClassVar[bool] = True
    seen_here: ClassVar[bool] = True

    @property
    def confines(self) -> bool:
        """Whether something is to hold what programs may touch."""
        return self.confine != "off"

    @property
    def may_leave(self) -> bool:
        """Whether nothing is to be left, or the person who chose the workspace allowed it."""
        return self.allow_unconfined or self.confine == "off"


class DockerWorkspace(WorkspaceSpec, Given, frozen=True, tag="docker"):
    """A directory of this machine, with tools in a container that sees only this directory, under the same path.

    `image` needs a bash; a missing image is pulled. `network` is Docker's name for it: "none", "bridge" or a
    network's name. `memory` is in bytes, 0 for no limit; `cpus` likewise; `processes` is the most at once. Tools
    act as the user of this process, or as `root` (of the container), which can install packages. A container lasts
    from the first command until the conversation is closed or sleeps. Raises `ConfigurationError` for invalid
    values.
    """

    path: str
    image: str
    network: str = "none"
    memory: Annotated[int, Meta(ge=0)] = 4 * 1024**3
    cpus: Annotated[float, Meta(ge=0)] = 0.0
    processes: Annotated[int, Meta(ge=1)] = 512
    root: bool = False
    seen_here: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.path, os.PathLike):
            msgspec.structs.force_setattr(self, "path", os.fspath(self.path))
        Given.__post_init__(self)
        if not self.image.strip() or any(character.isspace() for character in self.image):
            raise ConfigurationError(f"{self.image!r} is not an image: give one like 'python:3.13'")
        if self.memory < 0 or self.cpus < 0 or self.processes < 1:
            raise ConfigurationError("a container's memory and cpus are 0 or more, its processes 1 or more")

    @property
    def has_own_network(self) -> bool:
        """Whether all that listens there belongs to the conversation."""
        return self.network != "host"

    @property
    def told(self) -> str:
        """What a model is told of the system there."""
        network = " without a network" if self.network == "none" else ""
        return f"a Linux container of the image {self.image}{network}, which sees only that directory"


class MissingWorkspace(WorkspaceSpec, msgspec.Struct, frozen=True, tag="missing"):
    """A workspace in a log, of a kind that is not installed here; `given` is what the log has of it.

    Such a conversation can be read, but not opened.
    """

    kind: str
    path: str
    given: msgspec.Raw


def tag_of(kind: type[WorkspaceSpec]) -> str:
    """Return the name of a kind in the log."""
    return str(kind.__struct_config__.tag)  # type: ignore[attr-defined]


BUILT_IN = (LocalWorkspace, DockerWorkspace, MissingWorkspace)

KINDS: dict[str, type[WorkspaceSpec]] = {"local": LocalWorkspace, "docker": DockerWorkspace}
"""The known kinds by their tags; a `PlaceType` adds its own."""


def as_workspace(kind: type, given: Any) -> Any:
    """Return a workspace in a log as the struct of its kind: for the `dec_hook` of a decoder. Others stay as they are.

    Raises `msgspec.ValidationError`.
    """
    if kind is not WorkspaceSpec or isinstance(given, WorkspaceSpec):
        return given
    outline = msgspec.convert(given, _Outline)
    if outline.type == "missing":
        return as_workspace(kind, msgspec.convert(given, _Missing).given)
    if (found := KINDS.get(outline.type) or _offered(outline.type)) is not None:
        return msgspec.convert(given, found)
    return MissingWorkspace(outline.type, outline.path, msgspec.Raw(msgspec.json.encode(given)))


PLACES = "agentrt.places"
"""The group of the entry points with which packages offer kinds of places, by their tags."""


@cache
def _offered(tag: str) -> type[WorkspaceSpec] | None:
    """Return the kind with a tag that an installed package offers. A `PlaceType` that is made is in `KINDS`."""
    for point in entry_points(group=PLACES, name=tag):
        point.load()
    return KINDS.get(tag)


class _Outline(msgspec.Struct):
    type: str
    path: str


class _Missing(msgspec.Struct):
    given: Any


class RemoteWorkspace(Given, frozen=True):
    """A directory on a server, which runs the conversations; times are in seconds.

    `api_key` is a key, or the token of a server without keys; `url` may be the address with a token that a server
    shows. `path` is a directory below those that the server allows; None: a new one. After `timeout` without data, a
    connection counts as lost and a request as failed. After `give_up` without a connection, clients that follow a
    conversation get `ServerUnreachable`. Raises `ConfigurationError` for an invalid URL.
    """

    url: str
    api_key: str | None = None
    path: str | None = None
    timeout: Seconds = 30.0
    give_up: Amount = 600.0

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        parts = urlsplit(self.url)
        if parts.fragment.startswith("token="):  # the address that a server shows
            if self.api_key is None:
                msgspec.structs.force_setattr(self, "api_key", parts.fragment.removeprefix("token="))
            parts = parts._replace(fragment="")
            msgspec.structs.force_setattr(self, "url", urlunsplit(parts))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ConfigurationError(
                f"{self.url.partition('#')[0]!r} is not an address of a server: give one like 'https://host:8000'"
            )
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError(f"the URL at {parts.hostname} has a user or a password in it: give an api_key")
        msgspec.structs.force_setattr(self, "url", self.url.rstrip("/"))

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        key = [("api_key", "<hidden>")] if self.api_key is not None else []
        path = [("path", self.path)] if self.path is not None else []
        return [("url", self.url), *key, *path]

    def __repr__(self) -> str:
        return f"RemoteWorkspace({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

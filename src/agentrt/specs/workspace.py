"""The workspace of an agent: a directory of this machine, and what commands see of the rest."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from ..errors import ConfigurationError
from .given import Given


class LocalWorkspace(msgspec.Struct, frozen=True, tag="local"):
    """A directory of this machine, in which commands run; `path` is absolute in the log."""

    path: str


class DockerWorkspace(Given, frozen=True, tag="docker"):
    """A directory of this machine, with commands in a container that sees only this directory, under the same path.

    `image` needs a bash; a missing image is pulled. `network` is Docker's name for it: "none", "bridge" or a network's
    name. `memory` is in bytes, 0 for no limit; `cpus` likewise; `processes` is the most at once. Commands run as the
    user of this process, or as `root` (of the container), which can install packages. Files are edited from outside the
    container. A container lasts from the first command until the conversation is closed or sleeps. Raises
    `ConfigurationError` for invalid values.
    """

    path: str
    image: str
    network: str = "none"
    memory: Annotated[int, Meta(ge=0)] = 4 * 1024**3
    cpus: Annotated[float, Meta(ge=0)] = 0.0
    processes: Annotated[int, Meta(ge=1)] = 512
    root: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.path, os.PathLike):
            msgspec.structs.force_setattr(self, "path", os.fspath(self.path))
        Given.__post_init__(self)
        if not self.image.strip() or any(character.isspace() for character in self.image):
            raise ConfigurationError(f"{self.image!r} is not an image: give one like 'python:3.13'")
        if self.memory < 0 or self.cpus < 0 or self.processes < 1:
            raise ConfigurationError("a container's memory and cpus are 0 or more, its processes 1 or more")


Workspace: TypeAlias = LocalWorkspace | DockerWorkspace
"""A workspace on this machine."""

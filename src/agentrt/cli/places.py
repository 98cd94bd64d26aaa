"""Where an agent of the command line works: a directory, and what holds its commands there, a box or a container."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..specs import DockerWorkspace, LocalWorkspace, WorkspaceSpec
from ..specs.workspace import Confine

F = TypeVar("F", bound=Callable[..., Any])

workspace_option = click.option(
    "--workspace",
    "-w",
    type=click.Path(path_type=Path),
    default=Path("."),
    help="The directory to work in. Default: the current directory.",
)


def place_options(command: F) -> F:
    """Add the options that `place_of` takes."""
    command = click.option(
        "--confine",
        type=click.Choice(["auto", "require", "off"]),
        default=None,
        help="Have the system hold what commands and tools may touch on this machine: auto, where it can; require, or"
        " nothing runs; off. Default: auto. `agentrt doctor` says whether it can here.",
    )(command)
    command = click.option(
        "--network",
        default=None,
        metavar="NAME",
        help="The network of the container, as Docker names it: bridge, or another. Default: none.",
    )(command)
    return click.option(
        "--image",
        default=None,
        help="Run commands in a container of this image, which sees only the workspace. Needs Docker.",
    )(command)


def container_of(workspace: Path, image: str | None, network: str | None) -> DockerWorkspace | None:
    """Return the container for commands, or None. Raises `click.UsageError` for a network without a container."""
    if image is not None:
        return DockerWorkspace(str(workspace), image, network=network or "none")
    if network is not None:
        raise click.UsageError("--network is that of a container: name its image with --image")
    return None


def place_of(workspace: Path, image: str | None, network: str | None, confine: Confine | None) -> WorkspaceSpec:
    """Return the workspace. Raises `click.UsageError` for options that do not go together."""
    if (container := container_of(workspace, image, network)) is None:
        return LocalWorkspace(str(workspace), confine=confine or "auto")
    if confine is not None:
        raise click.UsageError("--confine is for commands on this machine: a container holds them anyway")
    return container

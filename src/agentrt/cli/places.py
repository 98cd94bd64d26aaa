"""Where an agent of the command line works: a directory, and the container for its commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..specs import DockerWorkspace

F = TypeVar("F", bound=Callable[..., Any])

workspace_option = click.option(
    "--workspace",
    "-w",
    type=click.Path(path_type=Path),
    default=Path("."),
    help="The directory to work in. Default: the current directory.",
)


def container_options(command: F) -> F:
    """Add the options that `container_of` takes."""
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

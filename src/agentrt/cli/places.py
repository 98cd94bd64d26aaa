"""Where an agent that the command line starts works: a directory, and the container of its commands."""

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
    help="The directory to work in. Default: this one.",
)


def container_options(command: F) -> F:
    """Adds the options that `container_of` takes."""
    command = click.option(
        "--network",
        default=None,
        metavar="NAME",
        help="The network of the container, as Docker names it: bridge, or another. Default: none.",
    )(command)
    return click.option(
        "--image",
        default=None,
        help="Run commands in a container of this image, which sees the workspace and nothing else. Needs Docker.",
    )(command)


def container_of(workspace: Path, image: str | None, network: str | None) -> DockerWorkspace | None:
    """Where commands run, if in a container. Raises `click.UsageError` for a network without one."""
    if image is not None:
        return DockerWorkspace(str(workspace), image, network=network or "none")
    if network is not None:
        raise click.UsageError("--network is that of a container: name its image with --image")
    return None

"""The kinds of places, and `place_of`, which opens the place of a workspace."""

from __future__ import annotations

from ..errors import ConfigurationError
from ..placing import PLACE_TYPES, Place, PlaceType, Setting
from ..specs import DockerWorkspace, LocalWorkspace, WorkspaceSpec
from ..specs.workspace import PLACES, MissingWorkspace, tag_of


def _here(workspace: LocalWorkspace, setting: Setting) -> Place:
    from .here import Here

    return Here(workspace, setting)


def _in_container(workspace: DockerWorkspace, setting: Setting) -> Place:
    from .contained import InContainer

    return InContainer(workspace, setting)


async def _engine_answers(workspace: DockerWorkspace) -> None:
    from .container import check_engine

    await check_engine()


LOCAL = PlaceType(LocalWorkspace, _here)
DOCKER = PlaceType(DockerWorkspace, _in_container, _engine_answers)


def place_type(workspace: WorkspaceSpec) -> PlaceType:
    """Return the kind of a workspace. Raises `ConfigurationError` if it is not installed."""
    tag = workspace.kind if isinstance(workspace, MissingWorkspace) else tag_of(type(workspace))
    if (found := PLACE_TYPES.get(tag)) is None:
        raise ConfigurationError(
            f"no kind of workspace {tag!r} is installed here: install the package that offers it ({PLACES})"
        )
    return found


def place_of(workspace: WorkspaceSpec, setting: Setting) -> Place:
    """Return the place of a workspace. Raises `ConfigurationError` if its kind is not installed."""
    return place_type(workspace).open(workspace, setting)

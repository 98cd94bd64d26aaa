"""`Place`: where the shells of a conversation run. It depends on the workspace."""

from __future__ import annotations

from typing import Protocol

from ..specs import DockerWorkspace, Workspace
from .console import Console
from .contained import ContainedConsole
from .container import Container, StartSoon
from .environment import Masked
from .local import LocalConsole


class Place(Protocol):
    """A source of consoles, until it is closed."""

    def console(self) -> Console:
        """Return a console for another shell."""
        ...

    async def close(self) -> None:
        """Release the resources of the place; its shells were closed before."""
        ...


class Here:
    """This machine. Its shells get no variable of this process in which `masked` finds a secret."""

    def __init__(self, masked: Masked, conversation: str) -> None:
        self._masked, self._conversation = masked, conversation

    def console(self) -> Console:
        """Return a console for another shell."""
        return LocalConsole(self._masked, self._conversation)

    async def close(self) -> None:
        """Do nothing: there are no resources."""


class InContainer:
    """A container. It starts with its first shell; software installed in it stays for later shells."""

    def __init__(self, workspace: DockerWorkspace, start_soon: StartSoon) -> None:
        self._container = Container(workspace, start_soon)

    def console(self) -> Console:
        """Return a console for another shell."""
        return ContainedConsole(self._container)

    async def close(self) -> None:
        """End the container."""
        await self._container.close()


def place_of(workspace: Workspace, start_soon: StartSoon, masked: Masked = str, conversation: str = "") -> Place:
    """Return the place for a conversation's shells in `workspace`. Tasks that it starts last as long as the place."""
    return InContainer(workspace, start_soon) if isinstance(workspace, DockerWorkspace) else Here(masked, conversation)

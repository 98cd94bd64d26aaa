"""`Place`: where the shells of a conversation run, by its workspace."""

from __future__ import annotations

from typing import Protocol

from ..specs import DockerWorkspace, Workspace
from .console import Console
from .contained import ContainedConsole
from .container import Container, StartSoon
from .environment import Masked
from .local import LocalConsole


class Place(Protocol):
    """Gives consoles, until it is closed."""

    def console(self) -> Console:
        """One for another shell."""
        ...

    async def close(self) -> None:
        """Give up what it holds; its shells were closed before."""
        ...


class Here:
    """This machine; its shells have no variable of this process that `masked` finds a secret in."""

    def __init__(self, masked: Masked, conversation: str) -> None:
        self._masked, self._conversation = masked, conversation

    def console(self) -> Console:
        """One for another shell."""
        return LocalConsole(self._masked, self._conversation)

    async def close(self) -> None:
        """Nothing is held."""


class InContainer:
    """A container, which starts with its first shell; what is installed in it lasts from shell to shell."""

    def __init__(self, workspace: DockerWorkspace, start_soon: StartSoon) -> None:
        self._container = Container(workspace, start_soon)

    def console(self) -> Console:
        """One for another shell."""
        return ContainedConsole(self._container)

    async def close(self) -> None:
        """End the container."""
        await self._container.close()


def place_of(workspace: Workspace, start_soon: StartSoon, masked: Masked = str, conversation: str = "") -> Place:
    """Where the shells of a conversation run that works in `workspace`; its tasks last as long as the place."""
    return InContainer(workspace, start_soon) if isinstance(workspace, DockerWorkspace) else Here(masked, conversation)

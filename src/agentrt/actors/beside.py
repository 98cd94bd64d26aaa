"""The commands that people and programs run in a conversation's place: each stands in its log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ..decisions.outcomes import LOGGED, told_of
from ..errors import ActorError, LogError
from ..events import CommandEnded, CommandStarted
from ..placing import Place, StartSoon
from ..secrets import Mask
from ..specs.content import tail
from ..workspaces.asking import CommandResult
from ..workspaces.commands import Command, Commands
from .event_log import Log


def commands_beside(log: Log, place: Place, start_soon: StartSoon, mark: str, mask: Callable[[], Mask]) -> Commands:
    """Return the commands of a conversation. One begins once that is durable, and the model is told of its end."""

    async def begins(command: Command) -> None:
        seconds = command.wanted.timeout
        await log.append(
            CommandStarted(
                id=command.id, by=command.by, command_line=command.wanted.command, cwd=command.cwd, timeout=seconds
            )
        )

    async def ended(command: Command, result: CommandResult) -> None:
        event = CommandEnded(
            caused_by=command.id,
            exit_code=result.exit_code,
            stdout=tail(result.stdout, LOGGED),
            stderr=tail(result.stderr, LOGGED),
            timeout_occurred=result.timeout_occurred,
            stopped=command.stopped,
            duration=result.duration,
        )
        with suppress(ActorError, LogError):
            await log.append(*told_of(result.command, event))

    return Commands(place, start_soon, mark, mask, begins, ended)

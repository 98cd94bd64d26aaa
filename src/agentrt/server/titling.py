"""`Titling`: new conversations get a title once their agent has replied, by one short call of its model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

import anyio

from ..controls import GenerateTitle
from ..conversation.titles import needs_title
from ..errors import AgentrtError
from ..events import Event
from ..state import State
from .hosting import Hosting
from .principals import EVERYONE

_log = logging.getLogger(__name__)

WAITING = 1_000
"""Maximum number of conversations that wait for a title; others keep the first words of their task."""

AT_ONCE = 4
"""Maximum number of calls at once."""


class Titling:
    """Gives titles. `committed` is an observer of the runtime, and `run` is a task."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self._asked = set[str]()
        """Those that wait for a title or are getting one."""
        self._send, self._receive = anyio.create_memory_object_stream[str](WAITING)

    def committed(self, events: Sequence[Event], state: State, seconds: float) -> None:
        """Note a conversation whose first reply is in the log."""
        if needs_title(events, state):
            assert state.created is not None
            name = state.created.conversation_id
            with suppress(anyio.WouldBlock):
                if name not in self._asked:
                    self._send.send_nowait(name)
                    self._asked.add(name)

    async def run(self) -> None:
        """Give titles to the conversations that were noted, until it is cancelled."""
        with self._send, self._receive:
            async with anyio.create_task_group() as workers:
                for _ in range(AT_ONCE):
                    workers.start_soon(self._work)

    async def _work(self) -> None:
        async for name in self._receive:
            try:
                conversation = await self._hosting.get(name, EVERYONE)
                if not conversation.state.ledger.title:
                    await conversation.do(GenerateTitle(if_untitled=True))
            except AgentrtError as error:  # the first words of the task stand for it
                _log.info("conversation %s has no title: %s", name, error)
            except Exception:
                _log.exception("conversation %s has no title", name)
            finally:
                self._asked.discard(name)

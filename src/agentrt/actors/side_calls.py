"""`SideCalls`: model calls besides the conversation. Their cost is logged, their text is not."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ..context.images import image_blobs, with_blobs
from ..context.messages import Message, around, to_messages
from ..context.replies import ModelReply
from ..context.titles import titled, titling
from ..errors import ConfigurationError, ModelError
from ..events import Event, MessageEvent
from ..ids import new_id
from ..protocols import ModelClient, ModelRequest, Speech
from ..specs import AnyLLM
from ..specs.content import plain, sound, text
from ..specs.llm import named, named_as, window_of
from ..state import Seen, State
from .draft import Draft
from .event_log import Log
from .veil import Veil

ASIDE = (
    "This is a question besides the task, asked by the person you work for. Answer it in plain words from what you"
    " know already; do not call a tool. Afterwards you go on as if it had not been asked.\n\n"
)


class SideCalls:
    """Model calls that are not in the history. Their cost is in the ledger, under a usage id."""

    def __init__(self, log: Log, client: ModelClient, veil: Veil) -> None:
        self._log, self._client, self._veil = log, client, veil

    async def complete(
        self,
        messages: Sequence[Message],
        usage_id: str,
        llm: AnyLLM | None = None,
        speech: Speech | None = None,
        *,
        embeds: bool = False,
    ) -> ModelReply:
        """Return the reply of `llm`, or of the agent's own model, to `messages`.

        Raise `ModelError` or `ConfigurationError`.
        """
        state = self._log.state
        assert state.created is not None
        chosen = named_as(llm or state.spec.llm, usage_id)
        await self._client.prepare(chosen)
        draft = Draft(self._log, f"{usage_id}-{new_id()}", chosen, visible=False)
        # some providers refuse a history with calls if no tools are offered
        tools = self._veil.tools(state.tools) if any(message.tool_calls for message in messages) else ()
        try:
            told, name = self._veil.messages(messages), state.created.conversation_id
            reply = await self._client.complete(ModelRequest(chosen, told, tools, name, speech, embeds), draft)
        except ModelError as error:
            await self._log.append(draft.ended(error.code))
            error.args = tuple(self._veil.text(str(said)) for said in error.args)
            raise
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._log.append(draft.ended("interrupted"))
            raise
        await self._log.append(draft.called(reply))
        return replace(reply, text=self._veil.text(sound(reply.text)))

    def window(self, llm: AnyLLM | None = None) -> int:
        """Return the context window of `llm`, or of the agent's own model, in tokens; 0 if it is unknown."""
        return window_of(llm or self._log.state.spec.llm, self._client.known)

    async def ask(self, question: str, llm: AnyLLM | None = None) -> str:
        """Return the agent's answer to a question, from what it sees now. The history does not change."""
        told = await self.told(await self.history(self._log.state))
        reply = await self.complete([*told, Message("user", text(ASIDE + question))], "ask-agent", llm)
        return reply.text

    async def sample(self, messages: Sequence[Message]) -> tuple[str, str]:
        """Return the reply of the agent's own model to messages of an MCP server, and the model's name."""
        reply = await self.complete(messages, "mcp-sampling")
        return reply.text, named(self._log.state.spec.llm)

    async def told(self, events: Sequence[Event]) -> list[Message]:
        """Return the events of a view as messages to the agent's model."""
        told = to_messages(events, around(self._log.state.spec))
        if kept := image_blobs(told):
            blobs = {sha256: await self._log.fetch(blob) for sha256, blob in kept.items()}
            told = await anyio.to_thread.run_sync(with_blobs, told, blobs)
        return told

    async def history(self, state: State) -> list[Event]:
        """Return the events that the model sees in a state, as far as the view is complete."""
        return await self.load(complete_view(state))

    async def load(self, view: Sequence[Seen]) -> list[Event]:
        """Return the events at places of a view, with secrets masked. Raise `LogCorrupt`."""
        return [self._veil.event(event) for event in await self._log.load(view)]

    async def title(self, length: int, llm: AnyLLM | None = None) -> str:
        """Return a title for the user's first message; "" if there is none. If the model fails, shorten the message."""
        state = self._log.state
        here = state.branch
        heard = (seen for seen in (*here.view, *here.queued) if seen.user and seen.id not in here.unheard)
        first = next(heard, None)
        if first is None:
            return ""
        (message,) = await self.load([first])
        assert isinstance(message, MessageEvent)
        said = plain(message.content)
        try:
            reply = await self.complete(titling(said, length), "title", llm)
        except (ModelError, ConfigurationError):
            return titled(said, length)
        return titled(reply.text, length) or titled(said, length)


def complete_view(state: State) -> list[Seen]:
    """Return what the model sees, then what is queued, up to the first batch of calls that lacks results."""
    open_calls = {p.action.id for p in state.branch.pending}
    view = [*state.branch.view]
    first = next((place for place, seen in enumerate(view) if seen.id in open_calls), len(view))
    while first < len(view) and first and view[first - 1].type == "ActionEvent":
        first -= 1
    unheard = state.branch.unheard  # hooks still decide whether the model sees them
    queued = [seen for seen in state.branch.queued if seen.id not in unheard]
    return [*view[:first], *(queued if first == len(view) else ())]

"""`ToolModels`: the saved models, as tools use them; and what a model of another family is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Protocol, TypeAlias

import anyio.to_thread

from ..context.images import is_image
from ..context.messages import Message
from ..context.prompt import family
from ..errors import ConfigurationError, ModelError, ProfileMissing, ToolError
from ..events import ConversationStateUpdateEvent, Event
from ..protocols import ModelClient, Speech
from ..secrets import SecretRegistry
from ..specs import LLM, AnyLLM, BlobReference, Content
from ..specs.content import text
from ..specs.llm import known_of, members, named
from ..specs.raw import raw
from ..state import State
from .event_log import Log
from .side_calls import SideCalls

USAGE, HEARING, EMBEDDING = "vision", "transcription", "embedding"
"""Usage ids under which the costs of looking at images, of transcribing speech and of embedding texts are summed."""

Saved = Callable[[str, SecretRegistry], AnyLLM]
"""Loads the model of a profile, and masks its keys from then on. For a thread. Raises `ConfigurationError`."""


Keep: TypeAlias = Callable[[bytes, str, str], Awaitable[BlobReference]]
"""Stores bytes with a name and a media type beside the log, with secrets masked."""

Retold: TypeAlias = Callable[[State, AnyLLM, Keep], Awaitable[tuple[Event, ...]]]
"""Reads what a model is told in a conversation, and returns the events that record it."""


async def nothing_told(state: State, llm: AnyLLM, keep: Keep) -> tuple[Event, ...]:
    """Return no event: the conversation keeps what it was told."""
    return ()


async def told_anew(log: Log, llm: AnyLLM, retold: Retold) -> tuple[Event, ...]:
    """Return the events for a conversation that goes on with a model; none if the model is of the same family."""
    if log.state.prompt is None or family(llm) == family(log.state.spec.llm):
        return ()
    return await retold(log.state, llm, log.keep)


def nothing_saved(name: str, secrets: SecretRegistry) -> AnyLLM:
    """Raise `ProfileMissing`: there are no saved models."""
    raise ProfileMissing(name, ())


class ModelParts(Protocol):
    """The parts of a conversation that this module uses."""

    @property
    def client(self) -> ModelClient: ...

    @property
    def saved(self) -> Saved: ...

    @property
    def secrets(self) -> SecretRegistry: ...

    @property
    def retold(self) -> Retold: ...


class ToolModels:
    """The saved models of one conversation, as one of its actions uses them."""

    def __init__(self, log: Log, parts: ModelParts, calls: SideCalls, action: str) -> None:
        self._log, self._client, self._calls, self._action = log, parts.client, calls, action
        self._saved, self._secrets, self._retold = parts.saved, parts.secrets, parts.retold

    async def switch(self, profile: str) -> str:
        """Have the agent go on with a saved model, and return the model's name. Raise `ToolError`."""
        llm = await self._prepared(profile)
        for one in members(llm):
            known = self._client.known(one)
            if self._log.state.spec.limits.max_cost is not None and None in (known.input_cost, known.output_cost):
                raise ToolError(f"the price of {one.model} is unknown, and this conversation has a budget")
        change = ConversationStateUpdateEvent(source="agent", caused_by=self._action, key="llm", value=raw(llm))
        try:
            told = await told_anew(self._log, llm, self._retold)
        except ConfigurationError as error:
            raise ToolError(str(error)) from error
        await self._log.append(change, *told)
        return named(llm)

    async def look(self, number: int, question: str, profile: str) -> str:
        """Return what a vision model says about an image that the agent sees, numbered from 1. Raise `ToolError`."""
        told = await self._calls.told(await self._calls.history(self._log.state))
        images = [block for message in told for block in message.content if is_image(block)]
        if not 1 <= number <= len(images):
            there = f"there are {len(images)}, from 1" if images else "there is none"
            raise ToolError(f"there is no image {number} in what you see: {there}")
        return await self.see([images[number - 1]], question, profile)

    async def see(self, images: Sequence[Content], question: str, profile: str = "") -> str:
        """Return what a vision model says about images, within the conversation's budget. Raise `ToolError`.

        Without a profile it is the agent's own model.
        """
        llm = await self._prepared(profile) if profile else None
        one = members(llm or self._log.state.spec.llm)[0]
        if not known_of(one, self._client.known(one)).vision:
            raise ToolError(f"{one.model} cannot see images: give the name of a profile whose model can")
        asked = Message("user", (*text(question), *images))
        try:
            return (await self._calls.complete([asked], USAGE, llm)).text
        except (ModelError, ConfigurationError) as error:
            raise ToolError(f"{one.model} could not be asked: {error}") from error

    async def hear(self, mp3: bytes, seconds: float, model: str) -> str:
        """Return a transcript of the speech in an MP3 file, within the conversation's budget. Raise `ToolError`."""
        digest = (await anyio.to_thread.run_sync(sha256, mp3)).hexdigest()
        asked = [Message("user", text(f"[{seconds:.1f} s of sound, SHA-256 {digest}]"))]
        try:
            llm = await anyio.to_thread.run_sync(partial(self._saved, model, self._secrets))
        except ConfigurationError:
            llm = beside(members(self._log.state.spec.llm)[0], model)
        try:
            return (await self._calls.complete(asked, HEARING, llm, Speech(mp3, seconds))).text
        except (ModelError, ConfigurationError) as error:
            raise ToolError(f"{named(llm)} could not write down what is said: {error}") from error

    @property
    def embeddings(self) -> str:
        """The agent's embedding model with its address; "" if it has none."""
        llm = self._log.state.spec.embeddings
        return "" if llm is None else f"{llm.model} {llm.base_url or ''}".rstrip()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return the vectors of texts, within the conversation's budget. Raise `ToolError`."""
        llm = self._log.state.spec.embeddings
        if llm is None:
            raise ToolError("there is no embedding model: the user has to name one, Agent(embeddings=...)")
        try:
            asked = [Message("user", text(one)) for one in texts]
            reply = await self._calls.complete(asked, EMBEDDING, llm, embeds=True)
        except (ModelError, ConfigurationError) as error:
            raise ToolError(f"{llm.model} could not be asked: {error}") from error
        if len(reply.vectors) != len(texts):
            raise ToolError(f"{llm.model} gave {len(reply.vectors)} vectors for {len(texts)} texts")
        return reply.vectors

    async def _prepared(self, profile: str) -> AnyLLM:
        try:
            llm = await anyio.to_thread.run_sync(partial(self._saved, profile, self._secrets))
            await self._client.prepare(llm)
        except ConfigurationError as error:
            raise ToolError(str(error)) from error
        return llm


def beside(own: LLM, model: str) -> LLM:
    """Return a model by its name. If it has the provider of the agent's own model, it gets the same key and address."""
    provider, slash, _ = own.model.partition("/")
    same = model.startswith(f"{provider}/") or ("/" not in model and (provider == "openai" or not slash))
    if not same or own.base_url is None:
        return LLM(model, api_key=own.api_key, api_key_env=own.api_key_env) if same else LLM(model)
    return LLM(
        model=model if "/" in model else f"openai/{model}",
        base_url=own.base_url,
        api_key=own.api_key,
        api_key_env=own.api_key_env,
        extra_headers=own.extra_headers,
        timeout=own.timeout,
        num_retries=own.num_retries,
        retry_min_wait=own.retry_min_wait,
        retry_max_wait=own.retry_max_wait,
    )

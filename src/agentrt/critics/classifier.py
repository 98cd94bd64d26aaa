"""`APIBasedCritic`: asks a served classifier how likely it is that the work is done, and what is wrong with it.

The interface is vLLM's `/classify`: the request has a conversation, the answer the probabilities of the labels.
(docs.vllm.ai, "Classification API", 0.13.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

import anyio
import msgspec

from ..context.judging import CriticResult
from ..context.messages import Message, to_messages
from ..errors import (
    AuthenticationFailed,
    BadModelRequest,
    ConfigurationError,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    RateLimited,
)
from ..events import Event
from ..protocols import Sleep
from ..secrets import Mask
from ..specs import WorkspaceSpec
from ..specs.content import plain
from .taxonomy import ISSUES, LABELS, SUCCESS, categorized, in_words

if TYPE_CHECKING:
    from aiohttp import ClientSession

TIMEOUT = 300.0
"""Seconds before a request times out."""

WAITS = (1.0, 2.0)
"""Seconds between the tries of a request."""

ISSUE_THRESHOLD = 0.75
"""Minimum probability of an issue that is reported to the agent and sends it back."""

MAX_SIZE = 1 << 20
"""Maximum number of bytes of an answer."""

_SHOWN = 200
"""Characters of an answer that an error shows."""

Render: TypeAlias = Callable[[Sequence[Message]], str]
"""Renders a conversation as one text, by the template of a model."""


class _Item(msgspec.Struct):
    probs: list[float]


class _Answer(msgspec.Struct):
    data: list[_Item]


class APIBasedCritic:
    """A `Critic` that calls a served classifier: the score is the probability of the label `success`.

    An issue of the agent's behaviour with at least `issue_threshold` probability also sends it back. `labels` name the
    classifier's probabilities in order. The conversation is sent as messages, to which the server applies the model's
    template, or, for a server that takes only text, as the output of `render`; each image becomes a word. A request
    with a temporary failure is made again after each of `WAITS`. Raises `ConfigurationError` without a URL, a key, or
    a label `success`.
    """

    def __init__(
        self,
        server_url: str,
        api_key: str,
        model_name: str,
        *,
        issue_threshold: float = ISSUE_THRESHOLD,
        labels: Sequence[str] = LABELS,
        timeout_seconds: float = TIMEOUT,
        render: Render | None = None,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        parts = urlsplit(server_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("a served critic needs its server_url, with http:// or https://")
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError(f"the URL of the critic at {parts.hostname} has a user in it: give an api_key")
        if not api_key.strip():
            raise ConfigurationError(f"the critic at {server_url} needs an api_key")
        if SUCCESS not in labels:
            raise ConfigurationError(f"one of a classifier's labels must be {SUCCESS!r}: its probability is the score")
        self._url, self._key, self._model = f"{server_url.rstrip('/')}/classify", api_key.strip(), model_name
        self._threshold, self._labels, self._timeout = issue_threshold, tuple(labels), timeout_seconds
        self._render, self._sleep = render, sleep

    def __repr__(self) -> str:
        return f"APIBasedCritic({self._url!r}, model_name={self._model!r}, api_key=<hidden>)"

    async def evaluate(self, events: Sequence[Event], workspace: WorkspaceSpec) -> CriticResult:
        """Return the classifier's judgement of the conversation. Raises the `ModelError` of the last try."""
        messages = to_messages(events)
        body: dict[str, Any] = {"model": self._model}
        body |= {"input": self._render(messages)} if self._render else {"messages": [_wire(m) for m in messages]}
        return self._result(self._probabilities(await self._answered(msgspec.json.encode(body))))

    async def _answered(self, body: bytes) -> bytes:
        for wait in WAITS:
            try:
                return await self._post(body)
            except ModelError as error:
                if not error.retryable:
                    raise
            await self._sleep(wait)
        return await self._post(body)

    async def _post(self, body: bytes) -> bytes:
        import aiohttp  # heavy

        try:
            with anyio.fail_after(self._timeout):
                async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
                    return await self._answer(session, body)
        except TimeoutError:
            raise ModelTimeout(f"{self._url} took more than {self._timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as failure:
            raise ModelUnavailable(f"{self._url} failed with {type(failure).__name__}") from None

    async def _answer(self, session: ClientSession, body: bytes) -> bytes:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        async with session.post(self._url, data=body, headers=headers, allow_redirects=False) as response:
            if response.status != 200:
                raise _refused(f"{self._url} answered with status {response.status}", response.status)
            said = bytearray()
            async for piece in response.content.iter_any():
                said += piece
                if len(said) > MAX_SIZE:
                    raise BadModelRequest(f"{self._url} answered more than {MAX_SIZE} bytes")
            return bytes(said)

    def _probabilities(self, answer: bytes) -> dict[str, float]:
        try:
            data = msgspec.json.decode(answer, type=_Answer).data
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            shown = Mask([self._key]).text(answer.decode(errors="replace"))[:_SHOWN]  # who repeats what it was sent
            raise BadModelRequest(f"{self._url} did not answer with a classification: {shown}") from None
        given = len(data[0].probs) if data else 0
        if given != len(self._labels):
            raise BadModelRequest(
                f"{self._url} tells {given} classes apart, and there are {len(self._labels)} labels: give its own"
            )
        if not all(0 <= probability <= 1 for probability in data[0].probs):
            raise BadModelRequest(f"{self._url} gives probabilities that are none: below 0 or above 1")
        return dict(zip(self._labels, data[0].probs, strict=True))

    def _result(self, probabilities: Mapping[str, float]) -> CriticResult:
        found = categorized(probabilities)
        likely = [
            f"{in_words(label)} ({probability:.0%})"
            for labels in found.values()
            for label, probability in labels.items()
            if label in ISSUES and probability >= self._threshold
        ]
        fault = f"; likely at fault: {', '.join(likely)}" if likely else ""
        return CriticResult(
            score=probabilities[SUCCESS],
            message=f"check each thing that was asked for{fault}",
            refine=bool(likely),
            metadata={"categorized_features": found},
        )


def _wire(message: Message) -> dict[str, Any]:
    """Return a chat message in OpenAI's form."""
    wire: dict[str, Any] = {"role": message.role, "content": plain(message.content)}
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return wire if message.tool_call_id is None else wire | {"tool_call_id": message.tool_call_id}


def _refused(words: str, status: int) -> ModelError:
    if status in (401, 403):
        return AuthenticationFailed(f"{words}: is the api_key right?")
    if status == 429:
        return RateLimited(words)
    return ModelUnavailable(words) if status >= 500 else BadModelRequest(words)

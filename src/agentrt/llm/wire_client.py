"""`WireClient`: single calls to directly called providers: built once, sent by one pool, read as they arrive."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..context.budget import cost
from ..context.replies import ModelReply
from ..errors import MissingKey, ModelError, UnknownModel
from ..loading import load
from ..protocols import ModelRequest, Watch
from ..secrets import Mask
from ..specs import LLM, AnyLLM, Capabilities
from ..specs.llm import members
from . import responses
from .adapting import adapted, parsed
from .catalogue import Catalogue
from .headers import headers_of
from .known import capabilities
from .masking import keys_of
from .providers import Provider, provider_of
from .refusals import late, one_line, refusal, unreachable, wait_in
from .streams import CLOSING
from .wires import (
    AnthropicMessages,
    Asked,
    ChatCompletions,
    Format,
    GeminiContent,
    Histories,
    OpenAIResponses,
    Reader,
    Sent,
    ServerSentEvents,
    WireError,
    cut,
    error_in,
)

if TYPE_CHECKING:
    import httpx2 as httpx

KEPT_ALIVE = 100
"""Maximum number of idle connections kept for later calls."""

_LATER = 1 / 16
"""Fraction of the patience by which silence may be noticed late, to avoid setting the timer anew for each piece."""

_LONGEST_ERROR = 1 << 20
"""Maximum number of bytes read of an error answer."""

_LONGEST_ANSWER = 256 << 20
"""Maximum number of bytes of an answer; a longer answer is aborted."""

_FOR_AN_ERROR = 2.0
"""Seconds to wait for the text of an error after its status."""

_AFTER_THE_END = 10.0
"""Seconds to wait after the end of an answer for its usage and the end of the stream."""

_FOR_THE_REST = 0.05
"""Seconds to wait for the last bytes of a stream."""

_NO_STREAM = (b"{", b"[", b"<")
"""The first bytes of JSON and of proxies' pages, which are not streams."""


class _Model:
    """The facts that were looked up about one `LLM`."""

    __slots__ = ("base", "entry", "keys", "known", "llm", "name", "official", "provider", "variables")

    def __init__(self, llm: LLM, provider: Provider, catalogue: Catalogue, environment: Mapping[str, str]) -> None:
        prefix, self.name = catalogue.named(llm.model)
        entry = catalogue.entry(llm.model)
        self.llm, self.provider, self.entry = llm, provider, entry or {}
        self.known: Capabilities = capabilities(llm, prefix, entry)
        given = llm.base_url or _address_in(environment, prefix)
        self.official = given is None
        base = (given or provider.url).rstrip("/")
        if provider.speaks == "anthropic":
            base = base.removesuffix("/v1/messages").removesuffix("/v1")
        self.base = base if base.endswith(provider.suffix) else base + provider.suffix
        self.keys = (llm.api_key_env,) if llm.api_key_env is not None else provider.keys
        self.variables = environment

    @property
    def key(self) -> str | None:
        """The key in its current value, without the line break that an environment file may leave in it."""
        return next((value for name in self.keys if (value := self.variables.get(name, "").strip())), None)

    @property
    def mask(self) -> Mask:
        """The mask that hides the current keys."""
        keys = keys_of(self.llm, self.variables)
        return Mask([*keys, *map(str.strip, keys)])

    @property
    def address(self) -> str | None:
        """The address of the model, unless it is the provider's own."""
        return None if self.official and self.provider.needs_key else self.base


class WireClient:
    """A `ModelClient` for the models of `providers.PROVIDERS`.

    Keys come from `environment` (None: the process's), and are only passed to the call. Proxies and certificates are
    those of the environment, as httpx2 reads it.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._models: dict[str, _Model] = {}
        self._catalogue: Catalogue | None = None
        self._histories = Histories()
        self._http: httpx.AsyncClient | None = None
        self._library: ModuleType | None = None
        self._lock = anyio.Lock()

    async def load(self) -> None:
        """Import what calls need, off the event loop."""
        await self._ready()

    async def prepare(self, llm: AnyLLM) -> None:
        """Load what a call needs, off the event loop. Raises `ConfigurationError` if none can work."""
        await self._ready()
        for one in members(llm):
            model = self._model(one)
            self._check(model)
            if model.known.responses:
                responses.check(one)

    async def catalogue(self) -> Catalogue:
        """The catalogue of known models."""
        await self._ready()
        assert self._catalogue is not None
        return self._catalogue

    def known(self, llm: LLM) -> Capabilities:
        """Return what is known of a model; it must be prepared."""
        return self._model(llm).known

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Call the model once. Raises `ModelError`, `UnknownModel`, `MissingKey`; cancelling closes the connection."""
        await self._ready()
        llm = request.one
        model = self._model(llm)
        self._check(model)
        sent = adapted(request, model.known)
        allowed = await watch.begin(sent, model.known)
        most = min((n for n in (allowed, llm.max_output_tokens) if n is not None), default=None)
        asked = Asked(sent, model.provider, model.name, model.known, model.entry, most, model.official, self._histories)
        form = _format(model)
        reader = form.reader(asked, watch)
        try:
            await self._call(model, form.sent(asked), reader)
            reply = _reply(reader, llm)
        except ModelError as error:
            error.args = (one_line(str(error), model.mask),)
            raise
        if not model.known.native_tool_calling:
            reply = parsed(reply, request)
        return replace(reply, cost=cost(reply.usage, model.known), model=llm.model, usage_id=llm.usage_id)

    async def aclose(self) -> None:
        """Close the connections."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def _call(self, model: _Model, sent: Sent, reader: Reader) -> None:
        """Post a request and read its answer. Raises `ModelError`, without text that may contain a key."""
        llm, failure, begun = model.llm, None, False
        key = model.key or ("none" if not model.official else None)
        headers = headers_of(model.provider.speaks, key, sent.headers, llm.extra_headers, _named(model))
        try:
            async with self._posted(model, sent, headers) as (answer, alarm):
                if answer.status_code >= 300:
                    failure = await _refused(answer, model, self._failures)
                else:
                    begun = True
                    await _read(answer, reader, alarm, llm.timeout, self._failures)
        except WireError as error:
            failure = _told(model, error, error.status)
        except (msgspec.DecodeError, ValueError) as error:
            failure = _misunderstood(llm, error)
        except self._failures as error:
            said = one_line(str(error) or type(error).__name__, model.mask)
            if isinstance(error, TimeoutError):
                failure = late(llm)
            else:
                failure = cut(said) if begun else unreachable(llm, said, model.address)
            if reader.ended:  # all was said, only the end of the stream was not
                failure = None
        if failure is not None:
            raise failure

    @asynccontextmanager
    async def _posted(
        self, model: _Model, sent: Sent, headers: dict[str, str]
    ) -> AsyncIterator[tuple[httpx.Response, asyncio.Timeout]]:
        """Return an answer whose body has not been read; it is closed at the end, or at once when cancelled."""
        assert self._http is not None
        async with asyncio.timeout(model.llm.timeout) as alarm:
            request = self._http.build_request("POST", model.base + sent.path, content=sent.body, headers=headers)
            answer = await self._http.send(request, stream=True)
            try:
                yield answer, alarm
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING):
                    await answer.aclose()

    @property
    def _failures(self) -> tuple[type[Exception], ...]:
        assert self._library is not None
        return (self._library.HTTPError, self._library.InvalidURL, self._library.StreamError, OSError)

    async def _ready(self) -> None:
        if self._http is not None:
            return
        async with self._lock:
            if self._http is None:
                self._library = await load("httpx2")
                if self._catalogue is None:
                    self._catalogue = await anyio.to_thread.run_sync(Catalogue.read)
                self._http = await anyio.to_thread.run_sync(_pool, self._library)

    def _model(self, llm: LLM) -> _Model:
        found = self._models.get(llm.model)
        if found is None or found.llm != llm:
            provider = provider_of(llm)
            assert self._catalogue is not None
            if provider is None:
                raise UnknownModel(llm.model)
            found = self._models[llm.model] = _Model(llm, provider, self._catalogue, self._environment)
        return found

    def _check(self, model: _Model) -> None:
        if model.key is None and (model.llm.api_key_env is not None or (model.official and model.provider.needs_key)):
            raise MissingKey(model.llm.model, model.keys[:1])


def _pool(library: Any) -> Any:
    """Return the connection pool, without a time limit. This reads certificates.

    It speaks HTTP/1.1, a connection for each stream. Over HTTP/2, httpcore2 resets no stream that is closed early, so
    the provider goes on with an answer that was interrupted, and a cancelled write breaks the streams beside it.
    """
    limits = library.Limits(max_connections=None, max_keepalive_connections=KEPT_ALIVE, keepalive_expiry=60.0)
    return library.AsyncClient(http2=False, timeout=None, limits=limits, follow_redirects=False)


def _format(model: _Model) -> Format:
    match model.provider.speaks:
        case "anthropic":
            return AnthropicMessages()
        case "gemini":
            return GeminiContent()
        case _:
            return OpenAIResponses() if model.known.responses else ChatCompletions()


def _address_in(environment: Mapping[str, str], prefix: str) -> str | None:
    """Return a provider's address from the environment, as litellm and the vendors' programs read it."""
    names = (f"{prefix.upper()}_BASE_URL", f"{prefix.upper()}_API_BASE")
    return next((value for name in names if (value := environment.get(name))), None)


def _named(model: _Model) -> str:
    return model.keys[0] if model.keys else "the provider's key"


async def _refused(answer: httpx.Response, model: _Model, failures: tuple[type[Exception], ...]) -> ModelError:
    """Return the error of an answer with an error status, without waiting for the rest of its text."""
    data = bytearray()
    with suppress(*failures):
        async with asyncio.timeout(_FOR_AN_ERROR):
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > _LONGEST_ERROR:
                    break
    error = error_in(bytes(data))
    if answer.is_redirect:
        error.said = answer.headers.get("location", "")
    wait = wait_in(answer.headers)
    return _told(model, error, answer.status_code, answer.reason_phrase, wait)


def _told(model: _Model, error: WireError, status: int, plain: str = "", wait: float | None = None) -> ModelError:
    """Return the error for a provider's message; `plain` is used if there is no message."""
    said = one_line(error.said, model.mask) or plain
    return refusal(model.llm, status, said, f"{error.said} {error.code}", _named(model), wait)


async def _read(
    answer: httpx.Response,
    reader: Reader,
    alarm: asyncio.Timeout,
    patience: float,
    failures: tuple[type[Exception], ...],
) -> None:
    """Read an answer as it arrives: a stream until its format ends it, any other answer completely.

    The first byte tells which it is: not all servers name the type. Raises `TimeoutError` if a stream is silent for
    `patience` seconds, and `ValueError` for an answer without end.
    """
    loop, events, whole, size = asyncio.get_running_loop(), ServerSentEvents(), list[bytes](), 0
    streamed: bool | None = None
    due, ends = 0.0, False
    async with aclosing(answer.aiter_bytes()) as pieces:
        async for piece in pieces:
            size += len(piece)
            if size > _LONGEST_ANSWER:
                raise ValueError("it has no end")
            if streamed is None and (begun := piece.lstrip()):
                streamed = begun[:1] not in _NO_STREAM
            if not streamed:
                whole.append(piece)
                continue
            for data in events.feed(piece):
                if reader.take(data):
                    await _finish(pieces, failures)
                    return
            if ends:
                continue
            if reader.ended:  # once: what trickles on after that holds up nobody
                ends = True
                alarm.reschedule(loop.time() + min(patience, _AFTER_THE_END))
            elif (now := loop.time()) >= due:
                due = now + patience * _LATER
                alarm.reschedule(due + patience)
    if not streamed:
        reader.whole(b"".join(whole))
        return
    for data in events.end():
        if reader.take(data):
            return


async def _finish(pieces: AsyncIterator[bytes], failures: tuple[type[Exception], ...]) -> None:
    """Read the rest of a stream, which has usually arrived already, so that its connection can be used again."""
    with suppress(*failures):
        async with asyncio.timeout(_FOR_THE_REST):
            async for _ in pieces:
                pass


def _reply(reader: Reader, llm: LLM) -> ModelReply:
    try:
        return reader.reply()
    except (msgspec.DecodeError, ValueError) as error:
        failure = _misunderstood(llm, error)
    raise failure


def _misunderstood(llm: LLM, error: Exception) -> ModelError:
    """Return the error for an answer in a wrong format. The text of `error` contains nothing of the answer."""
    return refusal(llm, 0, f"its answer is not understood: {error}", "", "")

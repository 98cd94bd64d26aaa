"""`WireClient`: single calls to providers that are called directly, through one pool of connections."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

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
from ..specs.llm import given_key, members
from . import responses
from .adapting import adapted, parsed
from .arriving import Arriving
from .catalogue import Catalogue
from .headers import headers_of
from .known import capabilities
from .masking import keys_of
from .providers import Provider, provider_of
from .refusals import late, one_line, refusal, unreachable, wait_in
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
    WireError,
    cut,
    error_in,
)

if TYPE_CHECKING:
    from .transfers import TransferError, Transfers


class _Model:
    """The facts that were looked up about one `LLM`."""

    __slots__ = ("base", "entry", "keys", "known", "llm", "name", "named", "official", "provider", "variables")

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
        self.named = llm.api_key or llm.api_key_env
        self.keys = provider.keys if self.named is None else (self.named,)
        self.variables = environment

    @property
    def key(self) -> str | None:
        """The current value of the key, without the line break that an environment file may leave in it."""
        if self.llm.api_key is not None:
            return given_key(self.llm.api_key)
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
    those of the environment.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._models: dict[str, _Model] = {}
        self._catalogue: Catalogue | None = None
        self._histories = Histories()
        self._transfers: Transfers | None = None
        self._failure: type[TransferError]
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
        transfers, llm = await self._ready(), request.one
        model = self._model(llm)
        self._check(model)
        sent = adapted(request, model.known)
        allowed = await watch.begin(sent, model.known)
        most = min((n for n in (allowed, llm.max_output_tokens) if n is not None), default=None)
        asked = Asked(sent, model.provider, model.name, model.known, model.entry, most, model.official, self._histories)
        form = _format(model)
        reader = form.reader(asked, watch)
        try:
            await self._call(transfers, model, form.sent(asked), reader)
            reply = _reply(reader, llm)
        except ModelError as error:
            error.args = (one_line(str(error), model.mask),)
            raise
        if not model.known.native_tool_calling:
            reply = parsed(reply, request)
        return replace(reply, cost=cost(reply.usage, model.known), model=llm.model, usage_id=llm.usage_id)

    async def aclose(self) -> None:
        """Close the connections."""
        transfers, self._transfers = self._transfers, None
        if transfers is not None:
            await transfers.aclose()

    async def _call(self, transfers: Transfers, model: _Model, sent: Sent, reader: Reader) -> None:
        """Post a request and read its answer. Raises `ModelError`, without text that may contain a key."""
        llm, failure = model.llm, None
        key = model.key or ("none" if not model.official else None)
        headers = headers_of(model.provider.speaks, key, sent.headers, llm.extra_headers, _named(model))
        alarm = asyncio.timeout(llm.timeout)
        arriving = Arriving(reader, alarm, llm.timeout)
        try:
            async with alarm:
                await transfers.post(model.base + sent.path, headers, sent.body, arriving, llm.timeout)
            arriving.end()
        except WireError as error:
            failure = _told(model, error, error.status)
        except (msgspec.DecodeError, ValueError) as error:
            failure = _misunderstood(llm, error)
        except TimeoutError:
            failure = late(llm)
        except self._failure as error:
            said = one_line(str(error), model.mask)
            failure = cut(said) if arriving.status else unreachable(llm, said, model.address)
            if reader.ended:  # the answer is complete, only the stream's end is missing
                failure = None
        if (text := arriving.refused) is not None:
            failure = _refused(model, arriving, text)
        if failure is not None:
            raise failure

    async def _ready(self) -> Transfers:
        if self._transfers is not None and not self._transfers.stale:
            return self._transfers
        async with self._lock:
            if self._transfers is not None and self._transfers.stale:
                await self.aclose()
            if (transfers := self._transfers) is None:
                library = await load(f"{__package__}.transfers")
                if self._catalogue is None:
                    self._catalogue = await anyio.to_thread.run_sync(Catalogue.read)
                transfers = self._transfers = library.Transfers()
                self._failure = library.TransferError
            assert transfers is not None
            return transfers

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
        if model.key is None and (model.named is not None or (model.official and model.provider.needs_key)):
            raise MissingKey(model.llm.model, model.keys[:1])


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


def _refused(model: _Model, arriving: Arriving, text: bytes) -> ModelError:
    """Return the error of an answer with an error status."""
    error = error_in(text)
    if arriving.status < 400:
        error.said = arriving.headers.get("location", "")
    return _told(model, error, arriving.status, arriving.reason, wait_in(arriving.headers))


def _told(model: _Model, error: WireError, status: int, plain: str = "", wait: float | None = None) -> ModelError:
    """Return the error for a provider's message; `plain` is used if there is no message."""
    said = one_line(error.said, model.mask) or plain
    return refusal(model.llm, status, said, f"{error.said} {error.code}", _named(model), wait)


def _reply(reader: Reader, llm: LLM) -> ModelReply:
    try:
        return reader.reply()
    except (msgspec.DecodeError, ValueError) as error:
        failure = _misunderstood(llm, error)
    raise failure


def _misunderstood(llm: LLM, error: Exception) -> ModelError:
    """Return the error for an answer in a wrong format. The text of `error` contains nothing of the answer."""
    return refusal(llm, 0, f"its answer is not understood: {error}", "", "")

"""`LiteLLMClient`: single calls to any model that litellm knows.

litellm's own retries are off: they would not appear in the log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import anyio
from msgspec.structs import replace

from ..context.budget import cost
from ..context.replies import ModelReply
from ..errors import MissingKey, UnknownModel
from ..protocols import ModelRequest, Watch
from ..secrets import Mask
from ..specs import LLM, AnyLLM, Capabilities
from ..specs.llm import given_key, members
from . import chat, embedding, library, responses, transcribing
from .adapting import adapted, parsed
from .failures import model_error
from .known import known
from .masking import keys_of
from .wires.format import cache_key


class _Model:
    """The facts that were looked up about one `LLM`."""

    __slots__ = ("known", "llm", "provider")

    def __init__(self, llm: LLM, provider: str, known: Capabilities) -> None:
        self.llm, self.provider, self.known = llm, provider, known


class LiteLLMClient:
    """A `ModelClient` that uses litellm. Keys come from `environment` (None: the process's), and are only passed to the
    call.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._litellm: ModuleType | None = None
        self._lock = anyio.Lock()
        self._models: dict[str, _Model] = {}

    async def load(self) -> None:
        """Import litellm, off the event loop."""
        await self._load()

    async def prepare(self, llm: AnyLLM) -> None:
        """Import litellm and look up the model, off the event loop. Raises `ConfigurationError` if no call can work."""
        litellm = await self._load()
        for one in members(llm):
            model = self._model(one, litellm)
            self._key(one, litellm, model.provider)
            if model.known.responses:
                responses.check(one)

    def known(self, llm: LLM) -> Capabilities:
        """Return what is known of a model; it must be prepared."""
        assert self._litellm is not None
        return self._model(llm, self._litellm).known

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """Call the model once. Raises `ModelError`, `UnknownModel`, `MissingKey`; cancelling closes the connection."""
        litellm, llm = await self._load(), request.one
        model = self._model(llm, litellm)
        key = self._key(llm, litellm, model.provider) or ("none" if llm.base_url else None)
        sent, facts = adapted(request, model.known), model.known
        if request.embeds and facts.output_cost is None:
            facts = replace(facts, output_cost=0.0)  # it writes nothing
        most = await watch.begin(sent, facts)
        given = {
            "model": llm.model,
            "api_key": key,
            "api_base": llm.base_url,
            "timeout": llm.timeout,
            "stream": llm.stream,
            "extra_headers": llm.extra_headers or None,
            "num_retries": 0,
            "max_retries": 0,
            "max_output_tokens": min((n for n in (most, llm.max_output_tokens) if n is not None), default=None),
        }
        if request.conversation and llm.base_url is None and model.provider == "openai" and llm.caching_prompt:
            given["prompt_cache_key"] = cache_key(request.conversation)
        try:
            if request.speech is not None:
                reply = await transcribing.complete(litellm, llm, request.speech, _addressed(given))
            elif request.embeds:
                reply = await embedding.complete(litellm, llm, sent.messages, _addressed(given))
            elif model.known.responses:
                reply = await responses.complete(litellm, sent, model.known, given, watch)
            else:
                reply = await chat.complete(litellm, sent, model.provider, model.known, given, watch)
        except Exception as error:
            mask = Mask(keys_of(llm, self._environment))
            clean = mask.text(str(error)) == str(error)
            failure = model_error(litellm, error, llm, mask)
            if failure is error:
                raise
            raise failure from (error if clean else None)
        if not model.known.native_tool_calling and not request.is_special:
            reply = parsed(reply, request)
        price = cost(reply.usage, facts)
        return replace(reply, cost=price, model=llm.model, usage_id=llm.usage_id)

    async def aclose(self) -> None:
        """Close the connections, if no other client of this process uses them."""
        litellm, self._litellm = self._litellm, None
        if litellm is not None:
            await library.release(litellm)

    async def _load(self) -> ModuleType:
        if self._litellm is None:
            async with self._lock:
                if self._litellm is None:
                    self._litellm = await library.acquire()
        return self._litellm

    def _model(self, llm: LLM, litellm: ModuleType) -> _Model:
        found = self._models.get(llm.model)
        if found is None or found.llm != llm:
            try:
                provider = litellm.get_llm_provider(llm.model, api_base=llm.base_url)[1]
            except litellm.exceptions.BadRequestError:
                raise UnknownModel(llm.model) from None
            found = self._models[llm.model] = _Model(llm, provider, known(litellm, llm, provider))
        return found

    def _key(self, llm: LLM, litellm: ModuleType, provider: str) -> str | None:
        if llm.api_key is not None:
            if (key := given_key(llm.api_key)) is None:
                raise MissingKey(llm.model, (llm.api_key,))
            return key
        if llm.api_key_env is not None:
            if not self._environment.get(llm.api_key_env):
                raise MissingKey(llm.model, (llm.api_key_env,))
            return self._environment[llm.api_key_env]
        if llm.base_url is None:
            needed = litellm.validate_environment(llm.model)
            missing = tuple(name for name in needed["missing_keys"] if not self._environment.get(name))
            if missing and not needed["keys_in_environment"]:
                raise MissingKey(llm.model, missing)
        return self._environment.get(f"{provider.upper()}_API_KEY") or None


def _addressed(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that is no chat: those that say where it goes, and for how long."""
    names = ("model", "api_key", "api_base", "timeout", "extra_headers", "max_retries")
    return {name: given[name] for name in names if given.get(name) is not None}

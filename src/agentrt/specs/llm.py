"""`LLM`: a model and its settings, as immutable configuration; and combinations of several models."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import force_setattr, replace

from ..errors import ConfigurationError
from .given import Amount, Count, Given, Price, Seconds, Share, Some

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class _Model(Given, frozen=True):
    """The only field of an `LLM` that may be given without its name."""

    model: str


class LLM(_Model, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """A model and the settings of its calls.

    `LLM("anthropic/claude-opus-4-5")`: any name that litellm knows, with its provider. The API key comes from the
    provider's usual environment variable, from the one that `api_key_env` names, or is given as `api_key`. Fields that
    are None are left to the provider, or to litellm's data about the model.
    """

    base_url: str | None = None
    api_key_env: str | None = None
    """The environment variable that holds the API key; None: the provider's usual one."""
    api_key: str | None = None
    """The API key itself: a str, a `StaticSecret` or a `SecretStr`. This process keeps it, and the field becomes a name
    that stands for it, which is what the log has. A process that opens the conversation later has to make an `LLM` with
    the same key, or to switch to one with another.
    """
    api: Literal["auto", "chat", "responses"] = "auto"
    """The provider's API to call: OpenAI's Responses API, or chat completions, which all providers have."""
    client: Literal["auto", "wire", "litellm"] = "auto"
    """How the model is called. "wire": agentrt calls the provider's API directly; "litellm": through litellm; "auto":
    directly where agentrt supports the provider's API, else through litellm.
    """
    temperature: Amount | None = None
    top_p: Share | None = None
    top_k: Count | None = None
    seed: int | None = None
    max_output_tokens: Some | None = None
    max_input_tokens: Some | None = None
    """The size of the context window in tokens, if litellm does not know it."""
    reasoning_effort: Effort | None = None
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None
    thinking_budget: Count | None = None
    """The number of tokens for thinking, for providers that count them; takes precedence over the effort."""
    encrypted_reasoning: bool = True
    """Whether reasoning is sent along encrypted, so that the provider need not store it."""
    native_tool_calling: bool | None = None
    """Whether tools are offered through the API; otherwise they are described in the prompt."""
    vision: bool | None = None
    """Whether the model can see images."""
    caching_prompt: bool = True
    """Whether to mark the parts of the prompt to cache, for providers that need such marks."""
    extra_headers: dict[str, str] = msgspec.field(default_factory=dict)
    extra_body: dict[str, Any] = msgspec.field(default_factory=dict)
    """Additional headers and body fields of the request, unchanged. The log contains them: do not put secrets here."""
    timeout: Seconds = 300.0
    """The time limit in seconds for a call, and between two pieces of a streamed answer."""
    num_retries: Count = 5
    """The number of retries after a temporary failure."""
    retry_min_wait: Amount = 1.0
    retry_max_wait: Amount = 64.0
    """The least and the longest wait before a retry, in seconds; it doubles with each retry, with jitter."""
    stream: bool = True
    input_cost_per_token: Price | None = None
    output_cost_per_token: Price | None = None
    cache_read_cost_per_token: Price | None = None
    cache_write_cost_per_token: Price | None = None
    """Prices in USD, for models that litellm has no prices for. Cached tokens cost as much as input if not given."""
    usage_id: str = "default"
    """The name under which usage and cost are added up."""

    def __post_init__(self) -> None:
        if self.api_key is not None:
            force_setattr(self, "api_key", _kept_key(self.api_key))
            if self.api_key_env is not None:
                raise ConfigurationError("LLM(api_key=..., api_key_env=...): give one of them")
        Given.__post_init__(self)
        if self.base_url is not None:
            try:
                parts = urlsplit(self.base_url)
                parts.port  # noqa: B018 - which raises for one that is out of range
            except ValueError:
                parts = urlsplit("")
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigurationError(
                    f"LLM(base_url=...): {self.base_url!r} is not a URL: give one like 'http://127.0.0.1:8000/v1'"
                )


_NAMED_KEY = re.compile(r"key:[0-9a-f]{12}")
_keys: dict[str, str] = {}
"""The keys that were given in this process, by the names that stand for them. An `LLM` is decoded again from the log
when a conversation wakes, and passed on to others, so the keys cannot be a part of it.
"""


def given_key(name: str) -> str | None:
    """Return the key that a name stands for, if it was given in this process."""
    return _keys.get(name)


def _kept_key(given: Any) -> str:
    """Keep a key for this process; return the name that stands for it, which says nothing of it."""
    given = given.get_secret_value() if hasattr(given, "get_secret_value") else given
    if not isinstance(given, str) or not given.strip() or not given.isprintable():
        raise ConfigurationError("LLM(api_key=...): expected the key, a str of one line, or a secret that has it")
    if _NAMED_KEY.fullmatch(given):
        return given
    name = f"key:{sha256(given.strip().encode()).hexdigest()[:12]}"
    _keys[name] = given.strip()
    return name


class FallbackLLM(Given, frozen=True, tag=True):
    """The first of several models that answers: the next one is tried after all retries of the previous one failed."""

    llms: tuple[AnyLLM, ...]

    def __post_init__(self) -> None:
        if isinstance(self.llms, list | tuple):
            force_setattr(self, "llms", tuple(map(as_llm, self.llms)))
        Given.__post_init__(self)
        if not self.llms:
            raise ConfigurationError("a FallbackLLM needs at least one LLM")


class RouterLLM(Given, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """One of several models, chosen for each call by a rule.

    `rule` is "multimodal" (the key "primary" for images and for input that is too long for "secondary"), "context" (the
    smallest window that fits), "cost" (the cheapest that fits), "random", or the name of a function that the runtime
    has: `Runtime(routers={"mine": select})` with `select(messages) -> key`.
    """

    llms: dict[str, AnyLLM]
    rule: str = "multimodal"

    def __post_init__(self) -> None:
        if isinstance(self.llms, dict):
            force_setattr(self, "llms", {key: as_llm(llm) for key, llm in self.llms.items()})
        Given.__post_init__(self)
        if not self.llms:
            raise ConfigurationError("a RouterLLM needs at least one LLM")
        if self.rule == "multimodal" and not {"primary", "secondary"} <= self.llms.keys():
            raise ConfigurationError("a RouterLLM by 'multimodal' needs the keys 'primary' and 'secondary'")


AnyLLM: TypeAlias = LLM | FallbackLLM | RouterLLM


INHERIT = "inherit"
"""A model name that stands for the model of the delegating agent, for agents to delegate to."""


def inherits(llm: AnyLLM) -> bool:
    """Return whether a model stands for the model of the delegating agent."""
    return isinstance(llm, LLM) and llm.model == INHERIT


def as_llm(given: Any) -> Any:
    """Convert a model's name to an `LLM`; return other values as they are."""
    return LLM(model=given) if isinstance(given, str) else given


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The known capabilities of a model; prices in USD per token, None if unknown."""

    native_tool_calling: bool = True
    vision: bool = True
    reasoning: bool = False
    responses: bool = False
    """Whether the model works better through OpenAI's Responses API."""
    cache_marks: bool = False
    """Whether its provider needs marks for the parts to cache."""
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    input_cost: float | None = None
    output_cost: float | None = None
    cache_read_cost: float | None = None
    cache_write_cost: float | None = None


def members(llm: AnyLLM) -> tuple[LLM, ...]:
    """Return all models that may answer for `llm`, the first choice first."""
    match llm:
        case LLM():
            return (llm,)
        case FallbackLLM(llms):
            return tuple(member for one in llms for member in members(one))
        case RouterLLM(llms=llms):
            return tuple(member for one in llms.values() for member in members(one))


def window_of(llm: AnyLLM, known: Callable[[LLM], Capabilities]) -> int:
    """Return the context window in tokens, 0 if unknown. For fallbacks it is the smallest, since input that is too long
    is not tried with the next model; for a router it is the largest.
    """
    match llm:
        case LLM():
            return known(llm).max_input_tokens or 0
        case FallbackLLM(llms):
            return min((window for one in llms if (window := window_of(one, known))), default=0)
        case RouterLLM(llms=llms):
            windows = [window_of(one, known) for one in llms.values()]
            return max(windows) if all(windows) else 0


def known_of(llm: AnyLLM, known: Capabilities | None = None) -> Capabilities:
    """Return the known capabilities of a model, with the values of its spec; of several models, the first."""
    one, known = members(llm)[0], known or Capabilities()
    said = {
        "native_tool_calling": one.native_tool_calling,
        "vision": one.vision,
        "responses": None if one.api == "auto" else one.api == "responses",
        "max_input_tokens": one.max_input_tokens,
        "max_output_tokens": one.max_output_tokens,
        "input_cost": one.input_cost_per_token,
        "output_cost": one.output_cost_per_token,
        "cache_read_cost": one.cache_read_cost_per_token,
        "cache_write_cost": one.cache_write_cost_per_token,
    }
    if one.input_cost_per_token is not None:  # custom prices, for all kinds of tokens
        known = replace(known, cache_read_cost=None, cache_write_cost=None)
    return replace(known, **{name: value for name, value in said.items() if value is not None})


def named(llm: AnyLLM) -> str:
    """Return the name of a model, or the names of all models of a combination."""
    return " | ".join(dict.fromkeys(member.model for member in members(llm)))


def named_as(llm: AnyLLM, usage_id: str) -> AnyLLM:
    """Return the same models with another name for their usage."""
    match llm:
        case LLM():
            return replace(llm, usage_id=usage_id)
        case FallbackLLM(llms):
            return FallbackLLM(tuple(named_as(one, usage_id) for one in llms))
        case RouterLLM(llms=llms):
            return replace(llm, llms={key: named_as(one, usage_id) for key, one in llms.items()})

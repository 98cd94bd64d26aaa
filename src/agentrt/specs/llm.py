"""`LLM`: which model answers and how, as frozen configuration; and those that choose among several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import force_setattr, replace

from ..errors import ConfigurationError
from .given import Amount, Count, Given, Price, Seconds, Share, Some

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class LLM(Given, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """A model and the settings of its calls.

    `model` is any name that litellm knows, with its provider: "anthropic/claude-opus-4-5", "openai/gpt-5.5". The key is
    never part of this: it comes from the environment variable `api_key_env`, or from the provider's own one.
    What is None is left to the provider, or to what litellm knows of the model.
    """

    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; None: the provider's usual one."""
    api: Literal["auto", "chat", "responses"] = "auto"
    """Which of the provider's interfaces is called: OpenAI's Responses, or chat completions, which all have."""
    client: Literal["auto", "wire", "litellm"] = "auto"
    """How it is called: directly where agentrt speaks the provider's interface, else through litellm; or always so."""
    temperature: Amount | None = None
    top_p: Share | None = None
    top_k: Count | None = None
    seed: int | None = None
    max_output_tokens: Some | None = None
    max_input_tokens: Some | None = None
    """What fits into its context window, where litellm does not know."""
    reasoning_effort: Effort | None = None
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None
    thinking_budget: Count | None = None
    """Tokens that it may think, for providers that count them; it comes before the effort."""
    encrypted_reasoning: bool = True
    """Have reasoning sent along encrypted, so that the provider need not store it."""
    native_tool_calling: bool | None = None
    """Whether tools are offered through the interface; else they are described in the prompt."""
    vision: bool | None = None
    """Whether it can see images."""
    caching_prompt: bool = True
    """Mark what may be cached, where the provider wants such marks."""
    extra_headers: dict[str, str] = msgspec.field(default_factory=dict)
    extra_body: dict[str, Any] = msgspec.field(default_factory=dict)
    """More headers and members of the request, as they are; no place for a secret, since the log has them."""
    timeout: Seconds = 300.0
    """Seconds for one call, and between two pieces of a streamed answer."""
    num_retries: Count = 5
    """How often a call that failed in a way that may pass is tried again."""
    retry_min_wait: Amount = 1.0
    retry_max_wait: Amount = 64.0
    """Bounds of the wait before a retry, in seconds; it doubles with each, with jitter."""
    stream: bool = True
    input_cost_per_token: Price | None = None
    output_cost_per_token: Price | None = None
    cache_read_cost_per_token: Price | None = None
    cache_write_cost_per_token: Price | None = None
    """Prices in USD, for models that litellm has none for; of cached tokens that of the input when not given."""
    usage_id: str = "default"
    """Under which name usage and cost are summed."""

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        if self.base_url is not None:
            try:
                parts = urlsplit(self.base_url)
            except ValueError:
                parts = urlsplit("")
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigurationError(
                    f"LLM(base_url=...): {self.base_url!r} is no URL: give one like 'http://127.0.0.1:8000/v1'"
                )


class FallbackLLM(Given, frozen=True, tag=True):
    """The first of several that answers: each is tried, with its retries, once those before it have failed."""

    llms: tuple[AnyLLM, ...]

    def __post_init__(self) -> None:
        if isinstance(self.llms, list | tuple):
            force_setattr(self, "llms", tuple(map(as_llm, self.llms)))
        Given.__post_init__(self)
        if not self.llms:
            raise ConfigurationError("a FallbackLLM needs at least one LLM")


class RouterLLM(Given, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """One of several, chosen for each call by a rule.

    `rule` is one of "multimodal" (the key "primary" for images and for what is too long for "secondary"), "context"
    (the smallest window that fits), "cost" (the cheapest that fits), "random", or the name of a function that the
    runtime was given: `Runtime(routers={"mine": select})` with `select(messages) -> key`.
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
"""In the place of a model's name, for an agent that is delegated to: the model of the agent that delegates."""


def inherits(llm: AnyLLM) -> bool:
    """Whether it stands for the model of the agent that delegates."""
    return isinstance(llm, LLM) and llm.model == INHERIT


def as_llm(given: Any) -> Any:
    """A model that was given by its name alone, as an `LLM`; anything else as it is."""
    return LLM(model=given) if isinstance(given, str) else given


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a model; prices in USD a token, None where nobody knows."""

    native_tool_calling: bool = True
    vision: bool = True
    reasoning: bool = False
    responses: bool = False
    """Whether it is better called through OpenAI's Responses."""
    cache_marks: bool = False
    """Whether its provider wants to be told what it may cache."""
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    input_cost: float | None = None
    output_cost: float | None = None
    cache_read_cost: float | None = None
    cache_write_cost: float | None = None


def members(llm: AnyLLM) -> tuple[LLM, ...]:
    """All models that may answer for `llm`, the first choice first."""
    match llm:
        case LLM():
            return (llm,)
        case FallbackLLM(llms):
            return tuple(member for one in llms for member in members(one))
        case RouterLLM(llms=llms):
            return tuple(member for one in llms.values() for member in members(one))


def window_of(llm: AnyLLM, known: Callable[[LLM], Capabilities]) -> int:
    """The tokens that a model can read, 0 where nobody knows: of those that follow on one another the least, since what
    is too long is not tried elsewhere, and of those that are chosen from the most.
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
    """What is known of a model, with what its spec says itself; of several, of the first."""
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
    if one.input_cost_per_token is not None:  # prices of one's own, for all kinds of tokens
        known = replace(known, cache_read_cost=None, cache_write_cost=None)
    return replace(known, **{name: value for name, value in said.items() if value is not None})


def named(llm: AnyLLM) -> str:
    """The name of a model, or those among which is chosen."""
    return " | ".join(dict.fromkeys(member.model for member in members(llm)))


def named_as(llm: AnyLLM, usage_id: str) -> AnyLLM:
    """The same models, whose usage is summed under another name."""
    match llm:
        case LLM():
            return replace(llm, usage_id=usage_id)
        case FallbackLLM(llms):
            return FallbackLLM(tuple(named_as(one, usage_id) for one in llms))
        case RouterLLM(llms=llms):
            return replace(llm, llms={key: named_as(one, usage_id) for key, one in llms.items()})

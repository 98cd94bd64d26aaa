"""Errors of providers, each in the provider's own format."""

from __future__ import annotations

from typing import Literal, TypeAlias

from .turns import Fault

WireName: TypeAlias = Literal["chat", "responses", "anthropic"]


def context_window(wire: WireName) -> Fault:
    """Return the error for a conversation that exceeds the model's context window."""
    match wire:
        case "chat":
            said = (
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 "
                "tokens. Please reduce the length of the messages."
            )
            return _openai(400, said, "context_length_exceeded", "messages")
        case "responses":
            said = "Your input exceeds the context window of this model. Please adjust your input and try again."
            return _openai(400, said, "context_length_exceeded", "input")
        case "anthropic":
            return Fault(400, "prompt is too long: 205431 tokens > 200000 maximum")


def content_policy(wire: WireName) -> Fault:
    """Return the error for a request that the provider refuses to answer."""
    if wire == "anthropic":
        return Fault(400, "Output blocked by content filtering policy")
    said = (
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a "
        "different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting"
    )
    return _openai(400, said, "invalid_prompt")


def overloaded(wire: WireName, after: str | None = None) -> Fault:
    """Return the error of an overloaded provider; `after` some text of a stream, if given."""
    if wire == "anthropic":
        return Fault(529, "Overloaded", after=after)
    said = "Our servers are currently overloaded. Please try again later."
    return Fault(503, said, "server_is_overloaded", type="service_unavailable_error", after=after)


def rate_limit(wire: WireName, seconds: float) -> Fault:
    """Return the error of a key that exceeds its rate limit, with a retry after `seconds`."""
    headers = {"Retry-After": f"{seconds:g}"}
    if wire == "anthropic":
        said = (
            "This request would exceed your organization's rate limit of 30,000 input tokens per minute. For details, "
            "refer to: https://docs.claude.com/en/api/rate-limits."
        )
        return Fault(429, said, headers=headers)
    said = (
        "Rate limit reached for scripted in organization org-scripted on tokens per min (TPM): Limit 30000, Used "
        f"29000, Requested 2000. Please try again in {seconds:g}s. Visit "
        "https://platform.openai.com/account/rate-limits to learn more."
    )
    return Fault(429, said, "rate_limit_exceeded", headers, type="tokens")


def out_of_credit(wire: WireName) -> Fault:
    """Return the error for missing credit; OpenAI's is a 429 for which waiting does not help."""
    if wire == "anthropic":
        said = (
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
            "purchase credits."
        )
        return Fault(400, said)
    said = (
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
    )
    return Fault(429, said, "insufficient_quota", type="insufficient_quota")


def bad_key(wire: WireName) -> Fault:
    """Return the error for an invalid key."""
    if wire == "anthropic":
        return Fault(401, "invalid x-api-key")
    said = (
        "Incorrect API key provided: none. You can find your API key at https://platform.openai.com/account/api-keys."
    )
    return _openai(401, said, "invalid_api_key")


def _openai(status: int, message: str, code: str, param: str | None = None) -> Fault:
    return Fault(status, message, code, type="invalid_request_error", param=param)

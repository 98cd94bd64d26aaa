"""The maximum cost of a model call, and its actual cost. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from ..errors import BudgetExceeded
from ..ledger import Allowance
from ..specs import Capabilities, ImageContent, Limits, TextContent, ToolDefinition
from ..specs.tokens import IMAGE_TOKENS
from ..usage import Usage
from .messages import Message

BYTES_A_TOKEN = 2
"""Fewer than a token has in prose, code or JSON (but not in digits): a reservation must not be too small."""

TOKENS_A_MESSAGE = 12
"""Tokens of a message, or of a call, besides its words."""

TOKENS_A_SECOND = 10
"""Tokens of a second of sound, as OpenAI's models count them; also converts a price per second to one per token."""

ANSWER_TOKENS = 16_384
"""Assumed maximum length of an answer if none is configured or known."""

LEAST_ANSWER = 1024
"""Minimum number of tokens for an answer; with fewer, a call is not worth its prompt."""


class Reservation(msgspec.Struct, frozen=True):
    """The maximum use of a call: `answer` tokens for its answer, `tokens` in total, and `cost` in USD."""

    answer: int
    tokens: int
    cost: float


def estimated_tokens(messages: Iterable[Message], tools: Iterable[ToolDefinition], seconds: float = 0.0) -> int:
    """Return the approximate maximum number of tokens of a prompt, with so many seconds of sound."""
    size = sum(len(tool.description.encode()) + len(bytes(tool.parameters)) for tool in tools)
    images = items = 0
    for message in messages:
        items += 1 + len(message.tool_calls)
        size += sum(len(call.name) + len(call.arguments.encode()) for call in message.tool_calls)
        for block in message.content:
            if isinstance(block, TextContent):
                size += len(block.text.encode())
            elif isinstance(block, ImageContent):
                images += 1
        if message.thinking is not None:
            size += len(bytes(message.thinking.blocks))
    return size // BYTES_A_TOKEN + items * TOKENS_A_MESSAGE + images * IMAGE_TOKENS + heard_tokens(seconds)


def heard_tokens(seconds: float) -> int:
    """Return the tokens of so many seconds of sound."""
    return math.ceil(seconds * TOKENS_A_SECOND)


def afford(left: Allowance, limits: Limits, prompt: int, wanted: int | None, known: Capabilities) -> Reservation:
    """Return what a call with a prompt of `prompt` tokens may use; the budget may shorten its answer.

    Raises `BudgetExceeded` if too little is left, or if there is a cost limit and the model's price is unknown.
    """
    wanted = wanted or known.max_output_tokens or ANSWER_TOKENS
    dear_in = max(known.input_cost or 0.0, known.cache_write_cost or 0.0)
    dear_out = known.output_cost or 0.0
    answer = wanted
    if left.tokens is not None:
        answer = min(answer, left.tokens - prompt)
        if answer < min(LEAST_ANSWER, wanted):
            used = (limits.max_tokens or 0) - left.tokens
            raise BudgetExceeded(
                "max_tokens",
                f"{used:,} of {limits.max_tokens:,} tokens are used, and the next call needs about"
                f" {prompt + min(LEAST_ANSWER, wanted):,}: raise Limits.max_tokens to go on",
            )
    if left.cost is not None:
        if known.input_cost is None or known.output_cost is None:
            raise BudgetExceeded(
                "max_cost",
                "max_cost cannot be enforced, because the price of this model is unknown:"
                " give LLM.input_cost_per_token and output_cost_per_token",
            )
        if dear_out:
            answer = int(max(min(answer, (left.cost - prompt * dear_in) / dear_out), 0))
        if answer < min(LEAST_ANSWER, wanted) or prompt * dear_in > left.cost:
            needed = prompt * dear_in + min(LEAST_ANSWER, wanted) * dear_out
            raise BudgetExceeded(
                "max_cost",
                f"${max(left.cost, 0.0):.4f} of the budget is left, and the next call may cost ${needed:.4f}:"
                " grant more with conversation.grant(), or raise Limits.max_cost",
            )
    return Reservation(answer, prompt + answer, prompt * dear_in + answer * dear_out)


def cost(usage: Usage, known: Capabilities) -> float | None:
    """Return the cost of a call in USD; None if the price is unknown."""
    if known.input_cost is None or known.output_cost is None:
        return None
    fresh = max(usage.prompt_tokens - usage.cache_read_tokens - usage.cache_write_tokens, 0)
    read = known.input_cost if known.cache_read_cost is None else known.cache_read_cost
    write = known.input_cost if known.cache_write_cost is None else known.cache_write_cost
    return (
        fresh * known.input_cost
        + usage.cache_read_tokens * read
        + usage.cache_write_tokens * write
        + usage.completion_tokens * known.output_cost
    )

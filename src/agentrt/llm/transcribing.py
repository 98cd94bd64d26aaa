"""Transcription of speech by a model through litellm: `POST /audio/transcriptions` of OpenAI, and the like."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..context.budget import heard_tokens
from ..context.replies import ModelReply
from ..errors import BadModelRequest
from ..protocols import Speech
from ..specs import LLM
from ..usage import Usage

_NAME = "speech.mp3"
"""The name of the file that is sent: providers detect its format from the name."""


async def complete(litellm: ModuleType, llm: LLM, speech: Speech, given: dict[str, Any]) -> ModelReply:
    """Return the transcript of a recording. Raises what litellm raises; cancelling closes the connection."""
    answer = await litellm.atranscription(file=(_NAME, speech.mp3), response_format="json", **given)
    text = getattr(answer, "text", None)
    if not isinstance(text, str):
        raise BadModelRequest(f"the provider of {llm.model!r} sent no transcript")
    return ModelReply(text=text.strip(), usage=_usage(answer, speech))


def _usage(answer: Any, speech: Speech) -> Usage:
    """Return the reported tokens, or else the tokens that stand for the seconds that were sent."""
    said = getattr(answer, "usage", None)
    heard, written = getattr(said, "input_tokens", None), getattr(said, "output_tokens", None)
    if heard:
        return Usage(heard, written or 0)
    return Usage(heard_tokens(getattr(said, "seconds", None) or speech.seconds))

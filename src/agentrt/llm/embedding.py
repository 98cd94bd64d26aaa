"""Vectors of texts by an embedding model through litellm: `POST /embeddings` of OpenAI, and the like."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..context.messages import Message
from ..context.replies import ModelReply
from ..errors import BadModelRequest
from ..specs import LLM
from ..specs.content import plain
from ..usage import Usage


async def complete(litellm: ModuleType, llm: LLM, messages: Sequence[Message], given: dict[str, Any]) -> ModelReply:
    """Return the vectors of the messages' texts. Raises what litellm raises; cancelling closes the connection."""
    texts = [plain(message.content) for message in messages]
    answer = await litellm.aembedding(input=texts, encoding_format="float", **given, **llm.extra_body)
    try:
        found = sorted((entry["index"], tuple(map(float, entry["embedding"]))) for entry in answer.data)
    except (KeyError, TypeError, ValueError) as error:
        raise BadModelRequest(f"the provider of {llm.model!r} sent no vectors: {error!r}") from error
    vectors = tuple(vector for _, vector in found)
    if len(vectors) != len(texts):
        raise BadModelRequest(f"the provider of {llm.model!r} sent {len(vectors)} vectors for {len(texts)} texts")
    return ModelReply(vectors=vectors, usage=Usage(getattr(answer.usage, "prompt_tokens", 0) or 0))

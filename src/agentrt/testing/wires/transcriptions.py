"""OpenAI's transcriptions: `POST /v1/audio/transcriptions`, a form with a file."""

from __future__ import annotations

from typing import Any

from ...context.replies import ModelReply
from ..turns import Fault

PATH = "/v1/audio/transcriptions"

_FORMATS = (".flac", ".m4a", ".mp3", ".mp4", ".mpeg", ".mpga", ".oga", ".ogg", ".wav", ".webm")


def refusal(form: dict[str, Any], name: str, sound: bytes) -> Fault | None:
    """Why the provider would not take a file. Source: the API reference of OpenAI, "Create transcription"."""
    if not form.get("model"):
        return Fault(400, "you must provide a model parameter", param="model")
    if not name.endswith(_FORMATS):
        return Fault(400, f"Unrecognized file format. Supported formats: {list(_FORMATS)}")
    if len(sound) > 25 * 1024 * 1024:
        return Fault(413, "Maximum content size limit (26214400) exceeded")
    return None


def answer(form: dict[str, Any], reply: ModelReply, seconds: float) -> dict[str, Any]:
    """The body of an answer: whisper bills by the second, the others by the token."""
    used: dict[str, Any] = {"type": "duration", "seconds": seconds}
    if "whisper" not in str(form.get("model")):
        heard, written = reply.usage.prompt_tokens, reply.usage.completion_tokens
        used = {"type": "tokens", "input_tokens": heard, "output_tokens": written, "total_tokens": heard + written}
    return {"text": reply.text, "usage": used}

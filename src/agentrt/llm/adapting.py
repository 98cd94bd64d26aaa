"""Converts the parts of a request that a model cannot read, and parses its reply. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..context import prompted
from ..context.images import after_results, has_images, without_images
from ..context.messages import Message
from ..context.replies import ModelReply
from ..context.thoughts import reasoned
from ..protocols import ModelRequest
from ..specs import Capabilities


def adapted(request: ModelRequest, known: Capabilities) -> ModelRequest:
    """Return the request in a form that this model can read: its images and its tools."""
    messages: Sequence[Message] = request.messages
    if has_images(messages):
        blind = not known.vision
        messages = without_images(messages, request.one.model, request.tools) if blind else after_results(messages)
    if known.native_tool_calling:
        return replace(request, messages=messages)
    return replace(request, messages=prompted.prompted(messages, request.tools), tools=())


def parsed(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """Parse the reply of a model that calls tools in its text; calls in its reasoning do not count."""
    reply = reasoned(reply)
    found = prompted.parse(reply.text, request.tools, cut=reply.finish_reason == "length")
    return replace(reply, text=found.thought, tool_calls=found.calls, complaint=found.complaint)

"""The interfaces of providers that are called directly, each a `Format`."""

from .anthropic import AnthropicMessages
from .chat import ChatCompletions
from .format import Asked, Format, Reader, Sent, WireError, cut, error_in
from .gemini import GeminiContent
from .history import Histories
from .responses import OpenAIResponses
from .sse import ServerSentEvents

__all__ = [
    "AnthropicMessages",
    "Asked",
    "ChatCompletions",
    "Format",
    "GeminiContent",
    "Histories",
    "OpenAIResponses",
    "Reader",
    "Sent",
    "ServerSentEvents",
    "WireError",
    "cut",
    "error_in",
]

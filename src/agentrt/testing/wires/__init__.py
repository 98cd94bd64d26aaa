"""The wire formats that `ScriptedProvider` speaks, one a module, and what each provider refuses."""

from .anthropic import Anthropic
from .chat import Chat
from .gemini import Gemini
from .responses import Responses
from .wire import Answer, Frame, Wire

__all__ = ["Answer", "Anthropic", "Chat", "Frame", "Gemini", "Responses", "Wire"]

"""Model calls, directly or through litellm. Limits, retries and routes are `ModelClient`s that wrap another one."""

from .limits import LimitedClient, ProviderLimits
from .litellm_client import LiteLLMClient
from .models_client import ModelsClient
from .pacing import PacedClient
from .retrying import RetryingClient
from .routing import RoutedClient
from .thinking import ThinkingClient
from .wire_client import WireClient

__all__ = [
    "LimitedClient",
    "LiteLLMClient",
    "ModelsClient",
    "PacedClient",
    "ProviderLimits",
    "RetryingClient",
    "RoutedClient",
    "ThinkingClient",
    "WireClient",
]

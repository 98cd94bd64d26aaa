"""Model calls: litellm behind limits, retries and routes, each a `ModelClient` around another."""

from .limits import LimitedClient, ProviderLimits
from .litellm_client import LiteLLMClient
from .pacing import PacedClient
from .retrying import RetryingClient
from .routing import RoutedClient
from .thinking import ThinkingClient

__all__ = [
    "LimitedClient",
    "LiteLLMClient",
    "PacedClient",
    "ProviderLimits",
    "RetryingClient",
    "RoutedClient",
    "ThinkingClient",
]

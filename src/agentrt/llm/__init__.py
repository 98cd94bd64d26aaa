"""Model calls, directly or through litellm. Limits, retries and routes are `ModelClient`s that wrap another one."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .limits import LimitedClient, ProviderLimits
from .models_client import ModelsClient
from .pacing import PacedClient
from .retrying import RetryingClient
from .routing import RoutedClient
from .thinking import ThinkingClient

if TYPE_CHECKING:
    from .litellm_client import LiteLLMClient
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

if not TYPE_CHECKING:  # else any name would be one
    __getattr__ = lazily(__name__, {"LiteLLMClient": "litellm_client", "WireClient": "wire_client"})

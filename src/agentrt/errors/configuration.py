"""Errors of values that the caller gave."""

from __future__ import annotations

from pathlib import Path

from .base import AgentrtError


class ConfigurationError(AgentrtError, ValueError):
    """Raised for an invalid value given by the caller; also a `ValueError`."""


class UnknownModel(ConfigurationError):
    """Raised when nobody knows the provider of a model, or its name is like that of a known model, `nearest`."""

    def __init__(self, model: str, nearest: str = "") -> None:
        self.model, self.nearest = model, nearest
        if nearest:
            super().__init__(f"unknown model {model!r}: did you mean {nearest!r}?")
        else:
            super().__init__(
                f"unknown model {model!r}: name its provider as in 'openai/gpt-5.5' or 'anthropic/claude-opus-4-5'"
            )


class MissingKey(ConfigurationError):
    """Raised when a model needs a key that neither the program nor the environment has given.

    `variables` are the names of the variables that may have it, or the name that stands for a key given in a program.
    """

    def __init__(self, model: str, variables: tuple[str, ...]) -> None:
        self.model, self.variables = model, variables
        named = " and ".join(variables) or "its API key"
        if named.startswith("key:"):
            super().__init__(
                f"no key for model {model!r}: the program that began the conversation gave it:"
                f" make LLM({model!r}, api_key=...) with it again"
            )
        else:
            super().__init__(f"no key for model {model!r}: set {named} in the environment")


class WorkspaceMissing(ConfigurationError):
    """Raised when a workspace is not an existing directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"workspace {str(path)!r} is not a directory: create it or name another")


class ProfileMissing(ConfigurationError):
    """Raised for an unknown profile name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        super().__init__(
            f"no profile {name!r}: 'agentrt profile save {name} --model ...' makes it"
            f" (known: {', '.join(known) or 'none'})"
        )


class ToolMissing(ConfigurationError):
    """Raised when an agent names a tool that has no implementation here."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known
        super().__init__(f"no implementation of tool {name!r}: pass it as tools=[...] (known: {', '.join(known)})")

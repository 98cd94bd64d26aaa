"""Critics: judges of an agent's work. `CRITICS` are the built-in ones, which an agent can use by name."""

from .builtin import CRITICS, AgentFinishedCritic, EmptyPatchCritic, PassCritic
from .classifier import APIBasedCritic
from .taxonomy import LABELS

__all__ = ["CRITICS", "LABELS", "APIBasedCritic", "AgentFinishedCritic", "EmptyPatchCritic", "PassCritic"]

"""Critics: judges of what an agent has done. `CRITICS` are those that an agent can name without more being given."""

from .builtin import CRITICS, AgentFinishedCritic, EmptyPatchCritic, PassCritic
from .classifier import APIBasedCritic
from .taxonomy import LABELS

__all__ = ["CRITICS", "LABELS", "APIBasedCritic", "AgentFinishedCritic", "EmptyPatchCritic", "PassCritic"]

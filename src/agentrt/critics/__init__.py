"""Critics: judges of an agent's work. `CRITICS` are the built-in ones, which an agent can use by name."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .builtin import CRITICS, AgentFinishedCritic, EmptyPatchCritic, PassCritic

if TYPE_CHECKING:
    from .classifier import APIBasedCritic
    from .taxonomy import LABELS

__all__ = ["CRITICS", "LABELS", "APIBasedCritic", "AgentFinishedCritic", "EmptyPatchCritic", "PassCritic"]

if not TYPE_CHECKING:  # else any name would be one
    __getattr__ = lazily(__name__, {"APIBasedCritic": "classifier", "LABELS": "taxonomy"})

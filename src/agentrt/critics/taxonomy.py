"""The labels of a classifier of an agent's work, those of the models that OpenHands publishes."""

from __future__ import annotations

from collections.abc import Mapping

SUCCESS = "success"
"""The label whose probability is the score."""

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "sentiment": ("sentiment_positive", "sentiment_neutral", "sentiment_negative"),
    "agent_behavioral_issues": (
        "misunderstood_intention",
        "did_not_follow_instruction",
        "insufficient_analysis",
        "insufficient_clarification",
        "improper_tool_use_or_setup",
        "loop_behavior",
        "insufficient_testing",
        "insufficient_debugging",
        "incomplete_implementation",
        "file_management_errors",
        "scope_creep",
        "risky_actions_or_permission",
        "other_agent_issue",
    ),
    "infrastructure_issues": ("infrastructure_external_issue", "infrastructure_agent_caused_issue"),
    "user_followup_patterns": (
        "clarification_or_restatement",
        "correction",
        "direction_change",
        "vcs_update_requests",
        "progress_or_scope_concern",
        "frustration_or_complaint",
        "removal_or_reversion_request",
        "other_user_issue",
    ),
}
"""The other labels: the user's mood, the agent's mistakes, its obstacles, the user's next message."""

LABELS = (SUCCESS, *(label for labels in CATEGORIES.values() for label in labels))
"""All labels, in the order of a classifier's probabilities."""

ISSUES = frozenset(CATEGORIES["agent_behavioral_issues"])
"""The issues that the agent can fix."""


def categorized(probabilities: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the probabilities by category, the highest first; labels without a category are in "other"."""
    category = {label: name for name, labels in CATEGORIES.items() for label in labels}
    found: dict[str, dict[str, float]] = {}
    for label, probability in sorted(probabilities.items(), key=lambda item: -item[1]):
        if label != SUCCESS:
            found.setdefault(category.get(label, "other"), {})[label] = probability
    return found


def in_words(label: str) -> str:
    """Return a label as readable words."""
    return label.replace("_", " ")

"""Detection of prompt injections: text that tries to give a model orders. Pure."""

from __future__ import annotations

import re

from .look_alikes import normalise
from .rating import Rating
from .verdicts import high, medium

MAX_TEXT = 256 * 1024
"""Maximum number of characters that are searched."""

PIECE, OVERLAP = 32 * 1024, 2 * 1024
"""Number of characters that are searched at a time, and of those before them that are searched again."""

_WHOSE = (
    r"(?:all|any|every|the|your|my|our|these|those|of|above|previous|prior|preceding|earlier|former"
    r"|existing|foregoing|system|safety|security|and"
    r"|initial"
    r"|original)"
)
_WHAT = (
    r"(?:instructions?|directions?|orders?|commands?|rules?|prompts?|guidelines?|directives?|guardrails?"
    r"|polic(?:y|ies)|constraints?|restrictions?)"
)
_OVERRIDES = re.compile(
    rf"(?i)\b(?:ignore|disregard|forget|override|bypass|neglect|do\s+not\s+(?:follow|obey)|stop\s+following|discard)\s+(?:{_WHOSE}\s+){{1,5}}{_WHAT}\b"
    r"|\bignore\s+(?:everything|all|anything)\s+(?:above|before|you\s+were\s+told|that\s+came\s+before)"
    r"|\bforget\s+(?:everything|all)\s+(?:above|before|you|that)"
    r"|<\|(?:im_start|im_end|system|endoftext|start_header_id)\|>|\[/?INST\]|<<SYS>>"
    r"|\bnew\s+system\s+(?:prompt|instructions?)\s*:|\bsystem\s+override\b"
)
_MODES = re.compile(
    r"(?i)\b(?:you\s+are\s+now|from\s+now\s+on\s+you\s+are|act\s+as|pretend\s+(?:to\s+be|you\s+are)|switch\s+to|enter|enable|activate)\s+"
    r"(?:an?\s+|the\s+|in\s+|into\s+)*(?:developer|dan|jailbreak|jailbroken|god|root|admin|administrator|unrestricted|unfiltered|debug|evil|maintenance|sudo)\s*(?:mode|assistant|ai|model|user|persona)?\b"
    r"|\b(?:reveal|print|show|repeat|output)\s+(?:me\s+)?(?:your|the)\s+(?:system|hidden|initial)\s+(?:prompt|instructions)"
    r"|\bdo\s+anything\s+now\b|\bwithout\s+(?:telling|informing|asking)\s+the\s+user\b|\bdo\s+not\s+(?:tell|inform|mention\s+(?:this|it)\s+to)\s+the\s+user\b"
)


def rate_text(text: str, written: bool = False) -> Rating | None:
    """Return the rating of text in an action's arguments, or None if it looks harmless.

    Text that is only `written` to a file is MEDIUM at most.
    """
    plain = normalise(text[:MAX_TEXT])
    if _holds(_OVERRIDES, plain):
        return medium("holds orders for a model") if written else high("holds orders for a model")
    if _holds(_MODES, plain):
        return medium("holds a change of a model's role")
    return None


def _holds(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a pattern matches in `text`. Each search is short: no thread runs while one does."""
    if len(text) <= PIECE:
        return pattern.search(text) is not None
    return any(pattern.search(text, max(at - OVERLAP, 0), at + PIECE) for at in range(0, len(text), PIECE))

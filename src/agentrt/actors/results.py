"""What the model sees of a result, and results that clients give."""

from __future__ import annotations

from ..decisions import awaited
from ..events import ActionEvent, ObservationEvent
from ..secrets import SecretRegistry
from ..specs import Content, TextContent
from ..specs.content import sound, without_nul
from ..tools.clipping import clip
from ..tools.shortened import Spill, kept
from .event_log import Log

MAX_RESULT = 40_000
"""Maximum number of characters that the model sees of one result; the built-in tools give less by themselves."""

MAX_BLOCKS = 64
"""Maximum number of content blocks, such as images, that the model sees of one result."""


async def bounded(
    given: tuple[Content, ...], log: Log, secrets: SecretRegistry, spill: Spill | None = None
) -> tuple[Content, ...]:
    """Return what the model sees of a result. Texts that are too long together are cut in the middle, and kept whole
    beside the log, if they can be. A NUL is shown as its symbol.
    """
    if any("\0" in block.text for block in given if isinstance(block, TextContent)):
        given = tuple(
            TextContent(without_nul(block.text)) if isinstance(block, TextContent) else block for block in given
        )
    texts = [block.text for block in given if isinstance(block, TextContent)]
    if sum(map(len, texts)) <= MAX_RESULT and len(given) <= MAX_BLOCKS:
        return given
    clean = secrets.mask.text("\n".join(texts))
    whole = await kept(clean, "full result", log.keep, spill if len(clean) > MAX_RESULT else None)
    others = [block for block in given if not isinstance(block, TextContent)]
    return (TextContent(clip(clean, MAX_RESULT)), whole, *others[:MAX_BLOCKS])


async def result_of(
    action_id: str, content: tuple[Content, ...], is_error: bool, log: Log, secrets: SecretRegistry, by: str | None
) -> ObservationEvent:
    """Return a client's result of an action. Raise `ConfigurationError` if no result is due."""
    action: ActionEvent = awaited(log.state, action_id)
    said = tuple(TextContent(sound(block.text)) if isinstance(block, TextContent) else block for block in content)
    return ObservationEvent(
        source="user",
        by=by,
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        content=await bounded(said, log, secrets),
        is_error=is_error,
        caused_by=action.id,
    )

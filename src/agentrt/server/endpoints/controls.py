"""What a person asks of a conversation: each control is a POST to a path of its name."""

from __future__ import annotations

from typing import Any, get_args

import anyio.lowlevel
from msgspec.structs import replace

from ...controls import Answer, AnyControl, AskAgent, Control, Fork, Forked, GenerateTitle, Reply, SendMessage, tag_of
from ...events import Cursor
from ...ids import new_id
from ..permissions import scope_of
from ..routing import Call, Endpoint

REPLIES: dict[type[Control], Any] = {AskAgent: Answer, GenerateTitle: Answer, Fork: Forked}

EXAMPLES: dict[str, Any] = {
    "message": {"content": "Now the tests, please.", "run": True},
    "reject": {"reason": "Not in this directory."},
    "confirm": {"always": "session"},
    "confirmation_policy": {"policy": {"type": "ConfirmRisky", "threshold": "MEDIUM"}},
    "switch_llm": {"llm": {"type": "LLM", "model": "openai/gpt-5.5"}},
    "rule": {"rule": {"verdict": "allow", "tool": "terminal", "pattern": "git *"}},
    "configure": {"changes": {"limits": {"max_steps": 50}}},
}


async def control(call: Call[AnyControl, None]) -> Reply:
    """Carry out a control."""
    wanted = call.body
    if isinstance(wanted, SendMessage) and wanted.id is None:
        wanted = replace(wanted, id=call.key or new_id())
    reply = await call.services.hosting.do(call.named(), wanted, call.principal)
    await anyio.lowlevel.checkpoint()  # those who follow it first: an answer takes as long to send as ten frames
    return reply


def _endpoint(kind: type[Control]) -> Endpoint:
    tag = tag_of(kind)
    return Endpoint(
        "POST",
        f"/conversations/{{id}}/{tag}",
        control,
        scope_of(kind),
        (kind.__doc__ or "").splitlines()[0],
        body=kind,
        reply=REPLIES.get(kind, Cursor),
        group="controls",
        id=tag,
        headers=("Idempotency-Key",) if kind is SendMessage else (),
        example=EXAMPLES.get(tag),
    )


ENDPOINTS = tuple(_endpoint(kind) for kind in get_args(AnyControl))

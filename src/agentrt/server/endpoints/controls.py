"""REST operations for controls: each control is a POST to a path with its name."""

from __future__ import annotations

from typing import Any, get_args

import anyio.lowlevel
import msgspec
from msgspec.structs import replace

from ...controls import (
    Answer,
    AnyControl,
    AskAgent,
    Control,
    Fork,
    Forked,
    GenerateTitle,
    GiveResult,
    Reply,
    SendMessage,
    tag_of,
)
from ...events import Cursor
from ...ids import new_id
from ...specs import Content
from ..permissions import scope_of
from ..routing import Call, Endpoint

REPLIES: dict[type[Control], Any] = {AskAgent: Answer, GenerateTitle: Answer, Fork: Forked}

EXAMPLES: dict[str, Any] = {
    "message": {"content": "Now the tests, please.", "run": True},
    "tool_result": {"action_id": "0199-7f", "content": "The button was pressed."},
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
    await anyio.lowlevel.checkpoint()  # followers first: a response takes as long to send as ten frames
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


class Result(msgspec.Struct, forbid_unknown_fields=True):
    """The result of a call that a client has executed."""

    content: str | tuple[Content, ...]
    is_error: bool = False


async def result(call: Call[Result, None]) -> Cursor:
    """Give the result of an action that waits for one: a call of a client's tool."""
    given = GiveResult(action_id=call.path("action_id"), content=call.body.content, is_error=call.body.is_error)
    reply = await call.services.hosting.do(call.named(), given, call.principal)
    assert isinstance(reply, Cursor)
    return reply


ENDPOINTS = (
    *(_endpoint(kind) for kind in get_args(AnyControl)),
    Endpoint(
        "POST",
        "/conversations/{id}/actions/{action_id}/result",
        result,
        scope_of(GiveResult),
        "Give the result of an action that waits for one: a call of a client's tool.",
        body=Result,
        reply=Cursor,
        group="controls",
        id="action_result",
        example={"content": "The button was pressed."},
    ),
)

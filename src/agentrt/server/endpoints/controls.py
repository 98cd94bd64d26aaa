"""What a person asks of a conversation: each control is a POST to a path of its name."""

from __future__ import annotations

from typing import Any, get_args

from ...controls import Answer, AnyControl, AskAgent, Control, Fork, Forked, GenerateTitle, Reply, tag_of
from ...conversation.doing import do
from ...events import Cursor
from ..permissions import scope_of
from ..routing import Call, Endpoint

REPLIES: dict[type[Control], Any] = {AskAgent: Answer, GenerateTitle: Answer, Fork: Forked}


async def control(call: Call[AnyControl, None]) -> Reply:
    """Carry out a control."""
    return await do(await call.conversation(), call.body, call.principal.owner)


def _endpoint(kind: type[Control]) -> Endpoint:
    return Endpoint(
        "POST",
        f"/conversations/{{id}}/{tag_of(kind)}",
        control,
        scope_of(kind),
        (kind.__doc__ or "").splitlines()[0],
        body=kind,
        reply=REPLIES.get(kind, Cursor),
        group="controls",
        id=tag_of(kind),
    )


ENDPOINTS = tuple(_endpoint(kind) for kind in get_args(AnyControl))

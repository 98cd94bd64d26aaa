"""The turns of a script for `ScriptedProvider`: an answer, or a failure of a provider."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..context.replies import ModelReply


class Fault(msgspec.Struct, frozen=True):
    """A turn that answers with an error, in the provider's own format.

    With `after`, a streamed answer begins normally, sends that text, and then the error as an event.
    """

    status: int
    message: str = "the provider failed"
    code: str | None = None
    headers: dict[str, str] = {}
    type: str | None = None
    """The provider's name for the kind of error; None: the usual one for the status."""
    param: str | None = None
    after: str | None = None


class Stall(msgspec.Struct, frozen=True):
    """A turn that sends `text` and then nothing, for `seconds` or until the client leaves."""

    text: str = ""
    seconds: float = 60.0


class Cut(msgspec.Struct, frozen=True):
    """A turn that sends `text` and then drops the connection."""

    text: str = ""


class Broken(msgspec.Struct, frozen=True):
    """A turn that sends `text` and then half of a JSON document; with `html`, a gateway's page instead."""

    text: str = ""
    html: bool = False


Turn: TypeAlias = ModelReply | Fault | Stall | Cut | Broken

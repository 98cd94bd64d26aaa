"""A hook's program that stands in the workspace is run only as it was when the hook was configured; for a thread."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..pins import pins_of
from ..specs.hooks import Hook


def pinned(hooks: Sequence[Hook], workspace: str) -> tuple[Hook, ...]:
    """The hooks, each with the files of the workspace that its command names, as they are now.

    One of a project or a plugin keeps what a person agreed to.
    """
    return tuple(
        msgspec.structs.replace(hook, pinned=tuple(pins_of(hook.command, workspace)))
        if hook.command and not hook.root
        else hook
        for hook in hooks
    )

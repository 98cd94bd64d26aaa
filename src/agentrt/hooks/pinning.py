"""Pins of hooks: a program in the workspace is run only as it was when the hook was configured. For a thread."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..pins import pins_of
from ..specs.hooks import Hook


def pinned(hooks: Sequence[Hook], workspace: str) -> tuple[Hook, ...]:
    """Return the hooks, each with pins of the workspace files that its command names, as they are now.

    A hook of a project or a plugin keeps the pins that a person agreed to.
    """
    return tuple(
        msgspec.structs.replace(hook, pinned=tuple(pins_of(hook.command, workspace)))
        if hook.command and not hook.root
        else hook
        for hook in hooks
    )

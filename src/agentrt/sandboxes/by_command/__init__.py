"""Places that a command reaches, such as `ssh` or `kubectl exec`.

`CommandPlace` is the base of such a kind, which only says what the command is. The command runs a program (`_far`) at
the far end, whose source is sent. `_link` speaks with it by frames (`_frames`), and `_console` has a bash there.
"""

from ._place import CommandPlace

__all__ = ["CommandPlace"]

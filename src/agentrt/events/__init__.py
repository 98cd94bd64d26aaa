"""The events of a conversation: what happened, immutable, in the order of the log.

An event is made by its producer with an id and a time; the log gives it its `seq` (from 1, without gaps) and only then
does anyone else see it. On disk each is one flat JSON object whose `type` is the class name.

A type of event is registered by the union at the end of its module, and nowhere else.
"""

from __future__ import annotations

from typing import TypeAlias

from .base import *
from .control import *
from .run import *
from .said import *
from .tree import *
from .unknown import *

KnownEvent: TypeAlias = ControlEvent | RunEvent | SaidEvent | TreeEvent

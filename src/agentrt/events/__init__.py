"""The events of a conversation: immutable facts, in the order of the log.

The producer makes an event with an id and a time. The log gives the event its `seq` (from 1, without gaps), and only
then can others see it. On disk each event is one flat JSON object whose `type` is the class name.

The union at the end of its module registers a type of event, and nothing else does.
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

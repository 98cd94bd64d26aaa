"""Where conversations live in a process: each has one host here, which all who open it share."""

from .guest import Guest
from .host import Host, Opened
from .hosts import Hosts
from .opening import NOTHING, Opening

__all__ = ["NOTHING", "Guest", "Host", "Hosts", "Opened", "Opening"]

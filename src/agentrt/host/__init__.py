"""Conversations in a process: each has one host, which all its openers share."""

from .guest import Guest
from .host import Host, Opened
from .hosts import Hosts
from .opening import NOTHING, Opening

__all__ = ["NOTHING", "Guest", "Host", "Hosts", "Opened", "Opening"]

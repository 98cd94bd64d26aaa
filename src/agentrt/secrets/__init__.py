"""The secrets of a conversation: where they come from, who gets them, and what hides them from everyone else."""

from ..specs.secrets import EnvironmentSecret
from .cipher import Cipher
from .keyfile import KeyFile, StoreKey
from .logs import LogMask
from .mask import HIDDEN, Mask
from .registry import SecretRegistry
from .sources import AnySecret, CallableSecret, LookupSecret, SecretSource, StaticSecret
from .stream import CurrentMask, StreamMask

__all__ = [
    "HIDDEN",
    "AnySecret",
    "CallableSecret",
    "Cipher",
    "CurrentMask",
    "EnvironmentSecret",
    "KeyFile",
    "LogMask",
    "LookupSecret",
    "Mask",
    "SecretRegistry",
    "SecretSource",
    "StaticSecret",
    "StoreKey",
    "StreamMask",
]

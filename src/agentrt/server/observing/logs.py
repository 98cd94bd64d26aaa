"""The log format of a server, for people or for machines."""

from __future__ import annotations

import logging
import sys
from typing import Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

Format = Literal["text", "json"]

_TEXT = "%(asctime)s %(levelname)-7s %(message)s"
_JSON = "{asctime}{levelname}{name}{message}"
_NAMES = {"asctime": "time", "levelname": "level", "name": "logger"}


def handler(kind: Format, stream: TextIO) -> logging.Handler:
    """Return a handler that writes lines of text, or one JSON object per line."""
    made = logging.StreamHandler(stream)
    if kind == "json":
        made.setFormatter(JsonFormatter(_JSON, style="{", rename_fields=_NAMES))
    else:
        made.setFormatter(logging.Formatter(_TEXT, datefmt="%H:%M:%S"))
    return made


def configure(kind: Format, level: str = "INFO", stream: TextIO | None = None) -> None:
    """Configure the process's logging. Call this before the runtime is entered, which adds its mask to all handlers.

    The default `stream` is standard error.
    """
    logging.basicConfig(level=logging.WARNING, handlers=[handler(kind, stream or sys.stderr)], force=True)
    logging.getLogger("agentrt").setLevel(level)

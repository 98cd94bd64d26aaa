"""`LogMask`: masks the secrets of all conversations in the records of `logging`."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from weakref import WeakSet

from .mask import HIDDEN, Mask
from .registry import SecretRegistry

FEW = 64
"""Maximum number of values in the mask of new values, before it is joined to the mask of many."""

MANY = 8
"""The values of registries that are gone are forgotten once one in so many of the watched registries is gone."""

LOGGERS = ("agentrt", "asyncio", "LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "aiohttp", "httpx", "httpx2", "mcp")
"""The loggers whose records are masked, like all records that go to the same handlers."""
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class LogMask(logging.Filter):
    """A filter that masks records: their message, their exception, and attributes that were added to them.

    It watches registries as long as they live. It never raises: a record that cannot be masked is replaced by a note
    that says so. The filter of a logger does not see the records of loggers below it, so `install` adds it to all of
    them and to their handlers. A handler that is added later needs `addFilter`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._registries: WeakSet[SecretRegistry] = WeakSet()
        self._many, self._new = Mask(), Mask()
        """The masks of all values but the newest, and of the newest: making a mask of many values is slow, using it is
        not."""
        self._changed, self._watched = False, 0
        self._lock = threading.Lock()

    def watch(self, registry: SecretRegistry) -> None:
        """Mask the secrets of another conversation."""
        if registry not in self._registries:
            self._registries.add(registry)
            registry.listeners.append(self._note)
        self._note()

    @property
    def watched(self) -> list[SecretRegistry]:
        """The registries that are watched."""
        return list(self._registries)

    def _note(self) -> None:
        self._changed = True

    def install(self, *names: str) -> None:
        """Add the filter to the loggers of these names, those below them, and all their handlers. Once is enough."""
        for name in names or LOGGERS:
            below = [other for other in list(logging.root.manager.loggerDict) if other.startswith(f"{name}.")]
            for logger in map(logging.getLogger, (name, *below)):
                logger.addFilter(self)
                for handler in _handlers(logger):
                    handler.addFilter(self)

    def uninstall(self) -> None:
        """Remove the filter everywhere."""
        if logging.lastResort is not None:
            logging.lastResort.removeFilter(self)
        loggers = [logging.root, *map(logging.getLogger, list(logging.root.manager.loggerDict))]
        for logger in loggers:
            for place in (logger, *logger.handlers):
                place.removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask a record in place; it is always kept."""
        try:
            if self._changed or self._lost(len(self._registries)):
                self._look()
            if masks := [mask for mask in (self._many, self._new) if mask]:
                _mask(record, lambda text: _text(masks, text))
        except Exception as failure:  # logging must not break its caller, or show what was not masked
            record.msg, record.args = f"{HIDDEN}: a record that could not be masked ({type(failure).__name__})", None
            record.exc_info = record.exc_text = record.stack_info = None
        return True

    def _look(self) -> None:
        """Take over the new values of the registries."""
        with self._lock:
            self._changed = False  # first, so that a change meanwhile is not missed
            registries = list(self._registries)
            values = {value for registry in registries for value in registry.mask.values}
            if self._lost(len(registries)):
                self._many, self._new, self._watched = Mask(), Mask(values), len(registries)
            self._watched = max(self._watched, len(registries))
            self._new = self._new.adding(values.difference(self._many.values))
            if len(self._new.values) > FEW:
                self._many, self._new = self._many.adding(self._new.values), Mask()

    def _lost(self, now: int) -> bool:
        """Return whether so many registries are gone that their values are worth forgetting."""
        return (self._watched - now) * MANY >= max(self._watched, 1)


def _handlers(logger: logging.Logger | None) -> Iterator[logging.Handler]:
    """Yield the handlers that get the records of a logger, and the one that gets them if there are none."""
    if logging.lastResort is not None:
        yield logging.lastResort
    while logger is not None:
        yield from logger.handlers
        logger = logger.parent if logger.propagate else None


def _text(masks: list[Mask], text: str) -> str:
    for mask in masks:
        text = mask.text(text)
    return text


def _mask(record: logging.LogRecord, clean: Callable[[str], str]) -> None:
    said = _said(record)
    if (safe := clean(said)) != said or clean(repr(record.args)) != repr(record.args):
        record.msg, record.args = safe, None
    if record.exc_info and not record.exc_text:
        told = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (safe := clean(told)) != told:
            record.exc_info, record.exc_text = None, safe
    if record.exc_text:
        record.exc_text = clean(record.exc_text)
    if record.stack_info:
        record.stack_info = clean(record.stack_info)
    for name, value in list(vars(record).items()):
        if name not in _OWN and value is not None and clean(repr(value)) != repr(value):
            setattr(record, name, clean(str(value)))


def _said(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # the arguments do not fit: logging would print them unmasked
        return f"{record.msg} {record.args!r}"

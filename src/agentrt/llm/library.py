"""litellm itself: imported late, with connections that belong to the process.

Importing it takes seconds, so that is done on first use and in a thread. (Checked against litellm 1.106.)
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
import warnings
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import anyio.to_thread

from ..loading import load_now

_in_use: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
"""Number of users of each event loop. They share the connections: the first one drops the connections of closed loops,
the last one closes its own.
"""

_NO_NETWORK = "LITELLM_LOCAL_MODEL_COST_MAP"
"""Makes litellm use the prices that came with it, instead of downloading today's prices during the import."""

_NO_FILE = {"LITELLM_MODE": "PRODUCTION"}
"""Keeps litellm from reading a `.env` during the import. One in a project could name another host for the keys."""


async def acquire() -> ModuleType:
    """Return litellm, imported off the event loop and without network access; call `release` when done."""
    litellm = await anyio.to_thread.run_sync(_import)
    if _count(+1) == 1:
        litellm.in_memory_llm_clients_cache.flush_cache()
    return litellm


async def release(litellm: ModuleType) -> None:
    """Close litellm's connections if this loop has no other users."""
    if _count(-1) == 0:
        await litellm.close_litellm_async_clients()
        with contextlib.suppress(AttributeError):  # the one for Anthropic's streams, which it forgets
            await litellm.module_level_aclient.client._transport.aclose()
        litellm.in_memory_llm_clients_cache.flush_cache()  # else the next client gets closed ones


def _count(change: int) -> int:
    loop = asyncio.get_running_loop()
    _in_use[loop] = _in_use.get(loop, 0) + change
    return _in_use[loop]


def _import() -> ModuleType:
    """Return litellm with settings for the process; if a program of this process imported it first, it is left
    unchanged.
    """
    if "litellm" in sys.modules:
        return load_now("litellm")
    for said in ("Item '.*' on TypedDict class '.*' is using the `ReadOnly`", "Pydantic serializer warnings"):
        warnings.filterwarnings("ignore", said, UserWarning)  # of litellm's own types, when it uses them
    kept = {name: os.environ.get(name) for name in (_NO_NETWORK, *_NO_FILE)}
    os.environ.setdefault(_NO_NETWORK, "True")
    os.environ.update(_NO_FILE)
    try:
        litellm: Any = load_now("litellm")
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    gc.freeze()  # its 400,000 objects stay: looking through them would stop the loop for 200 ms, now and then
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.ERROR)
    litellm.suppress_debug_info, litellm.modify_params = True, False
    module: ModuleType = litellm
    return module

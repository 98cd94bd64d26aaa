"""interrupt() cuts a model call down to its socket and a command down to its last process, and the log stays valid."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from agentrt import LLM, Agent, Conversation, Delta, Event, ExecutionStatus, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.events import ActionEvent, AgentErrorEvent, InterruptEvent, MessageEvent, ModelCalled, ObservationEvent
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, ScriptedProvider, Stall, call, calls, finish, say

from .evidence import check_numbering, number_of, results
from .waiting import eventually
from .worker import COUNTED, counting_tools, steps_taken

NAME = "interrupted"
SECONDS = 0.2
"""How long an interrupt may take."""

GONE_SECONDS = 2.0
"""How long something of what was cut may live."""

FAMILY = '''\
"""Children that do not go with their process group: of a session of their own, a daemon, and one that is deaf."""
import os, signal, sys, time

if os.fork() == 0:
    os.setsid()
elif os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
elif os.fork() == 0:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
time.sleep(100)
'''
FAMILY_SIZE = 6
"""Four of the program above, and two times `sleep`."""


def family(workspace: Path, mark: str) -> str:
    """A command that starts children of every kind, and sleeps."""
    program = workspace / "family.py"
    program.write_text(FAMILY)
    return f"setsid sleep {mark}1 & {sys.executable} -S {program} {mark}2 & sleep {mark}0"


def unique_mark(chance: random.Random) -> str:
    """A number of seconds over 100 that no other process has for an argument."""
    return f"100.{chance.randrange(10**12):012}"


def marked(mark: str) -> list[int]:
    """The processes that have an argument which begins with `mark`."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        arguments = process.info["cmdline"] or ()
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(given.startswith(mark) for given in arguments):
            found.append(process.pid)
    return found


async def interrupt(conversation: Conversation) -> float:
    """Interrupt, and check that the intent is in the file when the call returns; how long that took."""
    before, begun = conversation.state.seq, time.monotonic()
    await conversation.interrupt()
    took = time.monotonic() - begun
    assert any(isinstance(event, InterruptEvent) for event in read_log(conversation)[before:])
    return took


def read_log(conversation: Conversation) -> list[Event]:
    """The events in the file."""
    return read_conversation(_store(conversation).directory(conversation.id))


async def check_rest(conversation: Conversation) -> list[Event]:
    """Nothing is in flight, and the log is valid: numbered, with one result for every call."""
    await eventually(lambda: not conversation.state.in_flight, "what was cut has ended", GONE_SECONDS)
    events = read_log(conversation)
    check_numbering(events)
    assert set(results(events)) == {event.id for event in events if isinstance(event, ActionEvent)}
    assert events == [event async for event in conversation.events()]
    return events

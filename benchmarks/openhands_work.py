# mypy: disable-error-code="import-not-found, misc"
"""The work of `bench_step` and `bench_concurrency` for the OpenHands SDK; runs under its interpreter, from stdin.

    python - step '{"steps": 1000}' < openhands_work.py
    python - concurrency '{"conversations": 20, "steps": 10, "delay": 0.2}' < openhands_work.py
    python - version '{}' < openhands_work.py

The last line of the output is the result as JSON. What this work does not need is off: visualizer, logs, the detection
of stuck agents. The rest is the SDK's default: its own `Agent` and `TestLLM`, its events and its state on the disk.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no network while it is imported
os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
os.environ["LOG_LEVEL"] = "ERROR"

from openhands.sdk import Action, Agent, Conversation, Observation, TextContent, Tool, ToolDefinition, register_tool
from openhands.sdk.llm import LLMResponse, Message, MessageToolCall
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import ToolExecutor
from pydantic import PrivateAttr

marks: list[float] = []
"""The CPU seconds of the process at each model call."""


class NoopAction(Action):
    """Arguments of a tool that does nothing."""

    n: int


class NoopObservation(Observation):
    """Its result."""


class NoopExecutor(ToolExecutor):
    """Answers at once."""

    def __call__(self, action: NoopAction, conversation: Any = None) -> NoopObservation:
        return NoopObservation.from_text(text="ok")  # type: ignore[no-any-return]


class NoopTool(ToolDefinition[NoopAction, NoopObservation]):
    """A tool that does nothing."""

    @classmethod
    def create(cls, conv_state: Any = None, **params: Any) -> Sequence[NoopTool]:
        """The one tool."""
        executor = NoopExecutor()
        kinds = {"action_type": NoopAction, "observation_type": NoopObservation}
        return [cls(description="Does nothing.", executor=executor, **kinds)]


class Scripted(TestLLM):
    """Reads every message, waits on the loop, then asks for the no-op tool until `steps`, and finishes."""

    _steps: int = PrivateAttr(default=0)
    _delay: float = PrivateAttr(default=0.0)
    _read: int = PrivateAttr(default=0)

    def set_script(self, steps: int, delay: float) -> None:
        """How many calls there will be, and the seconds that each takes."""
        self._steps, self._delay = steps, delay

    def completion(self, messages: list[Message], *args: Any, **kwargs: Any) -> LLMResponse:
        """The next turn."""
        marks.append(time.process_time())
        for message in messages:
            for block in message.content:
                if isinstance(block, TextContent):
                    self._read += len(block.text)
        number = self._call_count + 1
        last = number >= self._steps
        name, given = ("finish", {"message": "done"}) if last else ("noop", {"n": number})
        asked = MessageToolCall(id=f"call_{number}", name=name, arguments=json.dumps(given), origin="completion")
        self._scripted_responses.append(Message(role="assistant", content=[], tool_calls=[asked]))
        return super().completion(messages, *args, **kwargs)

    async def acompletion(self, messages: list[Message], *args: Any, **kwargs: Any) -> LLMResponse:
        """The same, on the event loop: `TestLLM` would take a thread of a small pool for it."""
        if self._delay:
            await asyncio.sleep(self._delay)
        kwargs.pop("on_token", None)
        return self.completion(messages, *args, **kwargs)


def converse(directory: str, steps: int, delay: float, model: type[Scripted] = Scripted) -> Any:
    """A conversation that waits for its run."""
    llm = model(model="scripted", usage_id="scripted")
    llm.set_script(steps, delay)
    conversation = Conversation(
        agent=Agent(llm=llm, tools=[Tool(name="noop")]),
        workspace=directory,
        persistence_dir=os.path.join(directory, "store"),
        visualizer=None,
        stuck_detection=False,
        max_iteration_per_run=steps + 1,
    )
    conversation.send_message("Begin.")
    return conversation


def finished(conversation: Any) -> None:
    """Fail loudly when a run was not the work that was asked for."""
    if conversation.state.execution_status.value != "finished":
        raise SystemExit(f"the run ended {conversation.state.execution_status.value}")


async def step(directory: str, steps: int) -> dict[str, Any]:
    """The CPU seconds at each model call of one run."""
    conversation = converse(directory, steps, 0.0)
    await conversation.arun()
    finished(conversation)
    return {"marks": marks}


def resident() -> int:
    """Resident bytes of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def concurrency(directory: str, conversations: int, steps: int, delay: float) -> dict[str, Any]:
    """Wall and CPU seconds, lags of the loop in seconds, bytes a conversation."""
    before = resident()
    all_of_them = [converse(os.path.join(directory, str(n)), steps, delay) for n in range(conversations)]
    lags: list[float] = []

    async def sample() -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.01)
            lags.append(time.perf_counter() - begun - 0.01)

    sampler = asyncio.create_task(sample())
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(conversation.arun() for conversation in all_of_them))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sampler.cancel()
    for conversation in all_of_them:
        finished(conversation)
    return {"wall": wall, "cpu": cpu, "lags": lags, "bytes": (resident() - before) / conversations}


async def version(directory: str) -> dict[str, Any]:
    """What is measured."""
    return {"version": importlib.metadata.version("openhands-sdk"), "python": sys.version.split()[0]}


def main() -> None:
    """Do what the arguments say."""
    logging.disable(logging.CRITICAL)
    register_tool("noop", NoopTool)
    work = {"step": step, "concurrency": concurrency, "version": version}[sys.argv[1]]
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        result = asyncio.run(work(directory, **json.loads(sys.argv[2])))  # type: ignore[operator]
    sys.stdout.flush()
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()

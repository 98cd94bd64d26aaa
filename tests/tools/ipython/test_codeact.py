"""The preset "codeact" at work: code in a kernel and a shell, and browsing by delegation."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import Agent, Conversation, Runtime
from agentrt.events import ChildStarted, ObservationEvent, SystemPromptEvent
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.testing.scripted import Turn

pytestmark = pytest.mark.real

CELL = """create_file('app.py')
edit_file(1, 1, 'print(sum(range(1, 11)))')
made = open('app.py').read()"""


async def test_it_writes_code_runs_it_and_has_somebody_browse(tmp_path: Path) -> None:
    turns = iter(
        [
            call("ipython", "I write it.", code=CELL),
            call("terminal", "I run it.", command="python3 app.py"),
            call("ipython", "The kernel has stayed.", code="print(len(made.splitlines()))"),
            call("task", "I have it looked up.", prompt="Look up the sum", subagent_type="browsing"),
            finish("Done."),
        ]
    )

    def script(request: ModelRequest) -> Turn:
        browsing = any("Look up the sum" in plain(message.content) for message in request.messages[1:2])
        return finish("It is 55.") if browsing else next(turns)

    store = tmp_path / "store"
    (tmp_path / "w").mkdir()
    async with Runtime(store, client=ScriptedLLM(script)) as runtime:
        agent = Agent.preset("codeact", llm="scripted", demonstration=True)
        async with Conversation(agent, tmp_path / "w", runtime=runtime) as conversation:
            assert await conversation.prompt("Sum up") == "Done."
            events = [event async for event in conversation.events()]
    results = [plain(event.content) for event in events if isinstance(event, ObservationEvent)]
    assert results[1].startswith("55\n")
    assert results[2].strip().startswith("1")
    assert "It is 55." in results[3]
    (child,) = [event for event in events if isinstance(event, ChildStarted)]
    below = read_conversation(store / "conversations" / child.child_id)
    (prompt,) = [event for event in below if isinstance(event, SystemPromptEvent)]
    assert {"browser_navigate", "fetch"} <= {tool.name for tool in prompt.tools}

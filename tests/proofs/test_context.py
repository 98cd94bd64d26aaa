"""A repository's instructions, skills, plugin and agents: worked with, killed, resumed without the files, replayed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import Conversation, ExecutionStatus
from agentrt.context.replies import ModelReply
from agentrt.events import ChildFinished, ContextChanged, SkillActivated
from agentrt.replaying import replay
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedProvider, call, finish, say

from . import context_worker
from .killing import killed_after
from .waiting import eventually

pytestmark = pytest.mark.long

PROJECT = Path(__file__).parent.parent.parent
FILES: Mapping[str, str] = {
    "AGENTS.md": "Use tabs.",
    "web/AGENTS.md": "No jQuery.",
    "web/page.js": "let a;",
    ".agents/skills/style.md": "---\ntriggers: [commit]\n---\nWrite plainly.",
    ".agents/agents/digger.md": "---\nname: digger\ndescription: Digs.\ntools: Bash\n---\nYou dig with care.",
}
PLUGIN: Mapping[str, str] = {
    ".claude-plugin/plugin.json": json.dumps({"name": "helper"}),
    "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies.\n---\nTidy up.",
}


def script(request: dict[str, Any]) -> ModelReply:
    """What the model says, by what it has seen."""
    messages = request["messages"]
    said, calls = json.dumps(messages), [m for m in messages if m.get("tool_calls")]
    if "You dig with care." in json.dumps(messages[0]):
        return finish("Dug.") if calls else call("terminal", command="touch digging; sleep 60")
    turns = (
        call("task", prompt="Dig", subagent_type="digger", run_in_background=True),
        call("file_editor", command="view", path=f"{os.environ['CONTEXT_PLACE']}/web/page.js"),
        call("invoke_skill", name="tidy"),
        call("terminal", command="touch reached; sleep 60"),
    )
    if len(calls) < len(turns):
        return turns[len(calls)]
    return finish("All done.") if "has ended.]" in said else say("I wait for the task.")


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.long
async def test_it_is_resumed_after_a_kill_with_the_files_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, place, plugin = tmp_path / "store", tmp_path / "place", tmp_path / "plugin"
    write(place, FILES)
    write(plugin, PLUGIN)
    monkeypatch.setenv("CONTEXT_PLACE", str(place))
    monkeypatch.setenv("SCRIPTED_KEY", "sk-scripted")
    async with ScriptedProvider(script) as provider:
        program = [sys.executable, "-m", context_worker.__name__, *map(str, (store, place, plugin)), provider.base_url]
        async with await anyio.open_process(program, cwd=PROJECT, stdout=subprocess.PIPE, stderr=None) as process:
            at_work = lambda: (place / "reached").exists() and (place / "digging").exists()  # noqa: E731
            await eventually(at_work, "both are at work", 60)
            await killed_after(process, 0)
        for name in (*FILES, ".agents"):
            path = place / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        shutil.rmtree(plugin)
        async with Conversation(id=context_worker.TOP, store=store) as conversation:
            state = await conversation.run()
            assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "All done.")
            assert not state.background
    last = json.dumps([request for request in provider.requests if "Use tabs." in json.dumps(request)][-1])
    for text in ("Use tabs.", "No jQuery.", "Write plainly.", "Tidy up.", "Dug."):
        assert last.count(text) == 1, text
    assert "Changed since they were read for you" in last
    log = read_conversation(store / "conversations" / context_worker.TOP)
    assert [event.skill for event in log if isinstance(event, SkillActivated)] == ["style", "web/AGENTS.md", "tidy"]
    (changed,) = [event for event in log if isinstance(event, ContextChanged)]
    assert str(place / "AGENTS.md") in changed.paths
    (ended,) = [event for event in log if isinstance(event, ChildFinished)]
    below = read_conversation(store / "conversations" / ended.child_id)
    for events in (log, below):
        played = await replay(events)
        assert played.difference is None, played.difference
        assert played.events == len(events)

"""Published runs on a real bug, made with the tools of each preset: the same change comes of all of them."""

from __future__ import annotations

import difflib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime
from agentrt.context.replies import ModelReply
from agentrt.events import AgentErrorEvent, ObservationEvent
from agentrt.specs.content import plain
from agentrt.specs.presets import PresetName
from agentrt.testing import ScriptedLLM, call, finish

from .test_marshmallow import python
from .test_marshmallow import source as source  # the fixture

pytestmark = pytest.mark.long

FIELDS = "src/marshmallow/fields.py"
RUNS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "published-runs.json").read_text())["runs"]


class Default:
    """The calls of a preset, by what is to be done."""

    preset: ClassVar[PresetName] = "default"

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> ModelReply:
        return call("file_editor", command="create", path=str(self.root / path), file_text=text)

    def find(self, name: str, place: str) -> ModelReply:
        return call("glob", pattern=f"**/{name}", path=str(self.root / place))

    def open(self, path: str, line: int) -> ModelReply:
        return call("file_editor", command="view", path=str(self.root / path), view_range=[line - 20, line + 20])

    def replace(self, path: str, old: str, new: str) -> ModelReply:
        return call("file_editor", command="str_replace", path=str(self.root / path), old_str=old, new_str=new)

    def undo(self, path: str, old: str, new: str) -> ModelReply:
        return call("file_editor", command="undo_edit", path=str(self.root / path))

    def run(self, command: str) -> ModelReply:
        return call("terminal", command=command)


class Gpt5(Default):
    preset = "gpt5"

    def write(self, path: str, text: str) -> ModelReply:
        added = "".join(f"+{line}\n" for line in text.splitlines())
        return call("apply_patch", patch=f"*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch")

    def open(self, path: str, line: int) -> ModelReply:
        return call("grep", pattern="total_seconds", path=path, output_mode="content", context=5)

    def replace(self, path: str, old: str, new: str) -> ModelReply:
        lines = [f"-{line}\n" for line in old.splitlines()] + [f"+{line}\n" for line in new.splitlines()]
        patch = f"*** Begin Patch\n*** Update File: {path}\n{''.join(lines)}*** End Patch"
        return call("apply_patch", patch=patch)

    def undo(self, path: str, old: str, new: str) -> ModelReply:
        return self.replace(path, new, old)


class Gemini(Default):
    preset = "gemini"

    def write(self, path: str, text: str) -> ModelReply:
        return call("write_file", file_path=path, content=text)

    def open(self, path: str, line: int) -> ModelReply:
        return call("read_file", file_path=path, offset=line - 20, limit=40)

    def replace(self, path: str, old: str, new: str) -> ModelReply:
        return call("edit", file_path=path, old_string=old, new_string=new)

    def undo(self, path: str, old: str, new: str) -> ModelReply:
        return self.replace(path, new, old)


def turns(steps: list[list[Any]], tools: Default) -> Iterator[ModelReply]:
    """The run with these tools; what its own editor had refused is done, and taken back."""
    lines = (tools.root / FIELDS).read_text().splitlines()
    yield tools.run(f"export PYTHONPATH={tools.root}/src PATH={Path(sys.executable).parent}:$PATH")
    for kind, *rest in steps:
        match kind:
            case "write":
                yield tools.write("reproduce.py", rest[0])
            case "find":
                yield tools.find(*rest)
            case "open":
                yield tools.open(*rest)
            case "run":
                yield tools.run(rest[0])
            case _:
                text, new, refused = rest
                (old,) = (line for line in lines if text in line)
                new = new if kind == "line" else old.replace(text, new)
                yield tools.replace(FIELDS, old, new)
                if refused:
                    yield tools.undo(FIELDS, old, new)
    yield finish("The fraction is rounded.")


PRESETS: Mapping[PresetName, Callable[[Path], Default]] = {kind.preset: kind for kind in (Default, Gpt5, Gemini)}


@pytest.mark.long
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("run", RUNS, ids=[f"{at}-{run['name']}" for at, run in enumerate(RUNS)])
async def test_the_same_change_comes_of_it(
    run: dict[str, Any], preset: PresetName, source: Path, tmp_path: Path
) -> None:
    root = tmp_path / "marshmallow"
    shutil.copytree(source, root)
    before = (root / FIELDS).read_text()
    model = ScriptedLLM(turns(run["steps"], PRESETS[preset](root)))
    agent = Agent.preset(preset, llm=LLM(model="scripted"))
    async with Runtime(tmp_path / "s", client=model) as runtime:
        async with Conversation(agent, root, runtime=runtime) as conversation:
            await conversation.send_message("TimeDelta serialization precision")
            state = await conversation.run()
            events = [event async for event in conversation.events()]
    assert state.status is ExecutionStatus.FINISHED, state.error
    assert not [event for event in events if isinstance(event, AgentErrorEvent)]
    results = [plain(event.content) for event in events if isinstance(event, ObservationEvent)]
    assert [result[:3] for result in results if result.startswith(("344\n", "345\n"))] == ["344", "345"]
    after = (root / FIELDS).read_text()
    compared = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    assert [line for line in compared if not line.startswith(("---", "+++", "@@"))] == run["changed"]
    assert not (root / "reproduce.py").exists()
    assert python(root, "-c", "import marshmallow.fields").returncode == 0

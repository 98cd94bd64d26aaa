"""`agentrt diff`, and `agentrt fork --files`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest

from agentrt import LLM, Agent, Conversation, Runtime, Tool
from agentrt.testing import ScriptedLLM, call, finish

from .test_main import agentrt

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))


@pytest.fixture
async def seqs(tmp_path: Path) -> tuple[int, int]:
    """A conversation `talk`: the places before its agent changed a file, and after."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    model = ScriptedLLM([call("terminal", command="echo two > a.txt; mkdir d; echo new > d/b.txt"), finish("Done.")])
    async with Runtime(tmp_path / "home", client=model) as runtime:
        async with Conversation(AGENT, work, id="talk", runtime=runtime) as talk:
            began = await talk.send_message("go")
            await talk.run()
            return began.seq, talk.cursor.seq


async def test_what_changed_is_shown(tmp_path: Path, seqs: tuple[int, int]) -> None:
    def asked() -> None:
        whole = agentrt(tmp_path / "home", "diff")
        assert whole.returncode == 0, whole.stderr
        assert "-one\n+two\n" in whole.stdout
        assert "+new" in whole.stdout
        between = agentrt(tmp_path / "home", "diff", "talk", "d", "--at", str(seqs[0]), str(seqs[1]))
        assert "+new" in between.stdout
        assert "two" not in between.stdout
        back = agentrt(tmp_path / "home", "diff", "talk", "--at", str(seqs[1]), str(seqs[0]), "--names")
        assert back.stdout.splitlines() == ["M a.txt  agent", "D d/b.txt  agent"]
        found = json.loads(agentrt(tmp_path / "home", "diff", "--json").stdout)
        assert [(one["path"], one["status"], one["by"]) for one in found] == [
            ("a.txt", "modified", ["agent"]),
            ("d/b.txt", "added", ["agent"]),
        ]
        refused = agentrt(tmp_path / "home", "diff", "talk", "--at", "3", "9999")
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)

    await anyio.to_thread.run_sync(asked)


async def test_a_fork_has_a_copy_of_the_files(tmp_path: Path, seqs: tuple[int, int]) -> None:
    def asked() -> None:
        made = agentrt(tmp_path / "home", "fork", "talk", "--at", str(seqs[0]), "--to", str(tmp_path / "other"))
        assert made.returncode == 0, made.stderr
        assert (tmp_path / "other/a.txt").read_text() == "one\n"
        assert agentrt(tmp_path / "home", "show", made.stdout.strip()).returncode == 0
        beside = agentrt(tmp_path / "home", "fork", "talk", "--files").stdout.strip()
        assert (tmp_path / f"work-{beside[-8:]}/d/b.txt").read_text() == "new\n"
        taken = agentrt(tmp_path / "home", "fork", "talk", "--to", str(tmp_path / "other"))
        assert (taken.returncode, len(taken.stderr.splitlines())) == (2, 1)
        assert "exists already" in taken.stderr

    await anyio.to_thread.run_sync(asked)


async def test_files_that_were_not_kept_are_told_in_a_line(tmp_path: Path) -> None:
    agent = Agent(llm=LLM(model="scripted"), tools=(), checkpoints=False)
    (tmp_path / "work").mkdir()
    async with (
        Runtime(tmp_path / "home", client=ScriptedLLM([])) as runtime,
        Conversation(agent, tmp_path / "work", id="talk", runtime=runtime) as talk,
    ):
        await talk.send_message("go")
    for words in (("diff",), ("fork", "--at", "2", "--files")):
        ran = await anyio.to_thread.run_sync(partial(agentrt, tmp_path / "home", *words))
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
        assert "the files were not kept" in ran.stderr

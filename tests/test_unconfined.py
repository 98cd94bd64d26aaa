"""A command leaves what confines the others only if a person agrees to it, each time, or has allowed it in advance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentrt import LLM, Agent, ConfirmRisky, Conversation, LocalWorkspace, NeverConfirm, PermissionRule, Tool
from agentrt.events import ConfirmationRequested, ObservationEvent
from agentrt.specs.content import plain
from agentrt.specs.policies import ConfirmationPolicy
from agentrt.testing import ScriptedLLM, call, finish

pytestmark = pytest.mark.real


def agent(confirmation: ConfirmationPolicy) -> Agent:
    rules = (PermissionRule("allow", "terminal", "*"),)
    return Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), confirmation=confirmation, rules=rules)


def place(tmp_path: Path, **more: Any) -> LocalWorkspace:
    (tmp_path / "work").mkdir()
    return LocalWorkspace(str(tmp_path / "work"), confine="require", **more)


def outside(tmp_path: Path, **more: Any) -> Any:
    given = {"unconfined": True, "reason": "the file is outside"} | more
    return call("terminal", command=f"touch {tmp_path}/canary; echo in $PWD; false", **given)


async def results(talk: Conversation) -> list[str]:
    return [plain(event.content) async for event in talk.events() if isinstance(event, ObservationEvent)]


async def test_a_person_is_asked_whatever_a_rule_allows(tmp_path: Path) -> None:
    workspace, model = (
        place(tmp_path),
        ScriptedLLM([outside(tmp_path), outside(tmp_path, unconfined="1"), finish("Done.")]),
    )
    async with Conversation(agent(ConfirmRisky()), workspace, store="memory://", client=model) as talk:
        await talk.send_message("go")
        await talk.run()
        (waiting,) = talk.pending_confirmation
        assert not (tmp_path / "canary").exists()
        await talk.confirm(waiting.action.id, always="session")
        await talk.run()
        assert (tmp_path / "canary").exists()
        assert talk.pending_confirmation, "always does not cover it"
        await talk.reject()
        await talk.run()
        (said, *_) = await results(talk)
        assert said == f"in {workspace.path}\n[exit code 1, in {workspace.path}]"
        asked = [event.reasons async for event in talk.events() if isinstance(event, ConfirmationRequested)]
        assert asked == [("unconfined",), ("unconfined",)]


async def test_what_the_confined_shell_has_changed_does_not_reach_it(tmp_path: Path) -> None:
    changed = call(
        "terminal",
        command="mkdir bin; printf '#!/bin/sh\\necho mine' > bin/touch; chmod +x bin/touch;"
        " export PATH=$PWD/bin:$PATH; touch() { echo mine; }; alias touch='echo mine'; touch x",
    )
    model = ScriptedLLM([changed, outside(tmp_path), call("terminal", command="touch y"), finish("Done.")])
    async with Conversation(
        agent(NeverConfirm()), place(tmp_path, allow_unconfined=True), store="memory://", client=model
    ) as talk:
        await talk.prompt("go")
        said = await results(talk)
    assert (tmp_path / "canary").exists()
    assert said[0].startswith("mine")
    assert "mine" not in said[1]
    assert said[2].startswith("mine")


@pytest.mark.parametrize("unconfined", [True, "true", "yes", 1, "False"])
async def test_where_nobody_is_asked_it_does_not_run(tmp_path: Path, unconfined: Any) -> None:
    model = ScriptedLLM([outside(tmp_path, unconfined=unconfined), call("terminal", command="echo x"), finish("Done.")])
    async with Conversation(agent(NeverConfirm()), place(tmp_path), store="memory://", client=model) as talk:
        await talk.prompt("go")
        said = await results(talk)
    assert not (tmp_path / "canary").exists()
    assert said[-2].startswith("x")


async def test_it_goes_with_a_reason_and_one_command_alone(tmp_path: Path) -> None:
    turns = [outside(tmp_path, reason=" "), outside(tmp_path, session="a"), outside(tmp_path, is_input=True)]
    workspace = place(tmp_path, allow_unconfined=True)
    async with Conversation(
        agent(NeverConfirm()), workspace, store="memory://", client=ScriptedLLM([*turns, finish("Done.")])
    ) as talk:
        await talk.prompt("go")
        said = await results(talk)
    assert "needs a `reason`" in said[0]
    assert all("goes with one `command`" in one for one in said[1:3])
    assert not (tmp_path / "canary").exists()


async def test_at_its_time_limit_it_is_ended(tmp_path: Path) -> None:
    turn = call("terminal", command="echo begun; flock held sleep 300", unconfined=True, reason="slow", timeout=1)
    workspace = place(tmp_path, allow_unconfined=True)
    async with Conversation(
        agent(NeverConfirm()), workspace, store="memory://", client=ScriptedLLM([turn, finish("Done.")])
    ) as talk:
        await talk.prompt("go")
        (said, *_) = await results(talk)
    assert said.startswith("begun")
    assert "at its time limit" in said

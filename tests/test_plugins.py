"""Plugins and hooks of files: what they bring, and that nothing of it runs before a person has agreed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentrt import (
    Agent,
    AgentContext,
    AlwaysConfirm,
    ConfigurationError,
    Conversation,
    ExecutionStatus,
    Hook,
    HookEvent,
    PluginSource,
    Runtime,
)
from agentrt.context.replies import ModelReply
from agentrt.events import ChildFinished, ConsentGiven, ContextResolved, HookExecutionEvent, UserRejectObservation
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.specs.llm import members
from agentrt.testing import ScriptedLLM, ScriptedProvider, call, finish, say

from .condensing import SUMMARY, is_question
from .test_skills import MODEL, write

pytestmark = pytest.mark.real

TOUCH = "touch $CLAUDE_PROJECT_DIR/ran"


def hooks(command: str, event: str = "PreToolUse", matcher: str = "Bash|Edit", **more: Any) -> str:
    return json.dumps(
        {"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}]}}
    )


def plugin(root: Path, name: str = "helper", command: str = "", matcher: str = "Bash|Edit") -> Path:
    write(root / ".claude-plugin/plugin.json", json.dumps({"name": name, "version": "1.0", "description": "Helps."}))
    write(root / "skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies.\n---\nTidy up.\n")
    write(root / "commands/deploy.md", "---\ndescription: Deploys.\n---\nDeploy to $ARGUMENTS.\n")
    write(root / "agents/sweeper.md", "---\nname: sweeper\ndescription: Sweeps.\n---\nYou sweep.\n")
    write(root / ".mcp.json", json.dumps({"mcpServers": {"files": {"command": "x"}}}))
    if command:
        write(root / "hooks/hooks.json", hooks(command, matcher=matcher))
    return root


def with_plugins(*sources: PluginSource) -> Agent:
    return Agent(llm=MODEL, context=AgentContext(plugins=sources))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


def on(request: ModelRequest) -> str:
    return plain(request.messages[-1].content)


async def test_a_plugin_brings_skills_commands_and_agents(place: Path, tmp_path: Path) -> None:
    made = plugin(tmp_path / "helper")
    model = ScriptedLLM([call("invoke_skill", name="tidy"), say("Done."), say("Deployed.")])
    agent = with_plugins(PluginSource(str(made)))
    async with Conversation(agent, place, store="memory://", client=model) as conversation:
        await conversation.prompt("Go")
        await conversation.prompt("/deploy staging now")
        state = conversation.state
        assert state.context is not None
        kinds = {(source.kind, source.name): source for source in state.context.sources}
        assert set(state.spec.agents) == {"sweeper"}
        assert kinds["plugin", "helper"].when == "Helps. 1.0"
        assert {"tidy", "deploy"} == {name for kind, name in kinds if kind == "skill"}
        assert [list(offer.servers) for offer in state.unagreed] == [["files"]]
    assert "Tidy up." in on(model.requests[1])
    assert "Deploy to staging now." in on(model.requests[2])


async def test_hooks_of_a_project_run_once_a_person_has_agreed(place: Path, tmp_path: Path) -> None:
    write(place / ".agents/hooks.json", hooks(TOUCH))
    store = tmp_path / "store"
    turns = [call("terminal", command="true"), say("Done."), call("terminal", command="true"), say("Done.")]
    async with Conversation(Agent(llm=MODEL), place, store=store, client=ScriptedLLM(turns)) as conversation:
        await conversation.prompt("Go")
        assert not (place / "ran").exists()
        (offer,) = conversation.state.unagreed
        with pytest.raises(ConfigurationError, match="nothing with the digest"):
            await conversation.agree("0" * 64)
        await conversation.agree(offer.digest)
        assert not conversation.state.unagreed
        await conversation.prompt("Again")
        assert (place / "ran").exists()
    (place / "ran").unlink()
    async with Conversation(Agent(llm=MODEL), place, store=store, client=ScriptedLLM(turns[:2])) as conversation:
        await conversation.prompt("Go")
        assert (place / "ran").exists(), "it was agreed to before"
    (place / "ran").unlink()
    write(place / ".agents/hooks.json", hooks(f"{TOUCH}; true"))
    async with Conversation(Agent(llm=MODEL), place, store=store, client=ScriptedLLM(turns[:2])) as conversation:
        await conversation.prompt("Go")
        assert not (place / "ran").exists(), "a change asks again"


async def test_a_plugin_whose_programs_have_changed_since_runs_none(place: Path, tmp_path: Path) -> None:
    made = plugin(tmp_path / "helper", command='"$CLAUDE_PLUGIN_ROOT"/hooks/check.sh')
    script = write(made / "hooks/check.sh", f"#!/bin/sh\n{TOUCH}\n")
    script.chmod(0o755)
    turns = [call("terminal", command="true"), say("Done.")] * 2
    agent = with_plugins(PluginSource(str(made)))
    async with Conversation(agent, place, store="memory://", client=ScriptedLLM(turns)) as conversation:
        await conversation.agree(conversation.state.unagreed[0].digest)
        await conversation.prompt("Go")
        assert (place / "ran").exists()
        (place / "ran").unlink()
        script.write_text("#!/bin/sh\ntouch ran-other\n")
        await conversation.prompt("Again")
        (refused,) = [e async for e in conversation.events() if isinstance(e, UserRejectObservation)]
        assert "is not as it was" in refused.rejection_reason
    assert not list(place.glob("ran*"))


async def test_a_plugin_is_loaded_meanwhile(place: Path, tmp_path: Path) -> None:
    made = plugin(tmp_path / "helper", command=TOUCH, matcher="*")
    write(place / ".agents/skills/own/SKILL.md", "---\nname: own\ndescription: Own.\n---\nMine.\n")
    model = ScriptedLLM(
        [say("Yes."), call("invoke_skill", name="tidy"), call("invoke_skill", name="own"), say("Done.")]
    )
    async with Conversation(Agent(llm=MODEL), place, store="memory://", client=model) as conversation:
        await conversation.prompt("Go")
        with pytest.raises(ConfigurationError, match="is not a plugin"):
            await conversation.load_plugin(str(place))
        await conversation.load_plugin(str(made))
        assert set(conversation.state.spec.agents) == {"sweeper"}
        (offer,) = conversation.state.unagreed
        await conversation.agree(offer.digest)
        await conversation.prompt("Use it")
        assert (place / "ran").exists()
        resolved = [event async for event in conversation.events() if isinstance(event, ContextResolved)]
        assert len(resolved[-1].texts) == 2
    assert "- tidy: Tidies." in str(model.requests[1].messages)
    assert "Tidy up." in on(model.requests[2])
    assert "Mine." in on(model.requests[3])


async def test_from_a_git_address_at_a_revision_and_from_a_marketplace(place: Path, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    plugin(shop / "plugins/helper")
    listed = {"name": "shop", "plugins": [{"name": "helper", "source": "./plugins/helper"}]}
    write(shop / ".claude-plugin/marketplace.json", json.dumps(listed))

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(shop), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    first = git("rev-parse", "HEAD")
    write(shop / "plugins/helper/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Newer.\n---\nNew.\n")
    git("commit", "-qam", "second")
    address = f"file://{shop}"
    for source, told in (
        (PluginSource(address, first, "plugins/helper"), "Tidies."),
        (PluginSource(address, repo_path="plugins/helper"), "Newer."),
        (PluginSource(f"helper@{address}"), "Newer."),
        (PluginSource(f"helper@{shop}"), "Newer."),
    ):
        client = ScriptedLLM([say("Done.")])
        async with Conversation(with_plugins(source), place, store=tmp_path / "store", client=client) as conversation:
            assert conversation.state.context is not None
            assert conversation.state.context.problems == ()
            (skill,) = [skill for skill in conversation.state.context.skills if skill.name == "tidy"]
            assert skill.description == told, source


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (PluginSource("./nowhere"), "no directory"),
        (PluginSource("./empty"), "is not a plugin"),
        (PluginSource("file:///nowhere/at/all.git"), "cannot be fetched"),
        (PluginSource("http://127.0.0.1:9/x.git"), "cannot be fetched"),
        (PluginSource("x@./empty"), "is not a marketplace"),
        (PluginSource("file:///tmp", ref="--upload-pack=x"), "is not a revision"),
    ],
)
async def test_one_that_cannot_be_had_is_told_and_the_run_goes_on(place: Path, source: PluginSource, said: str) -> None:
    (place / "empty").mkdir()
    model = ScriptedLLM([say("Done.")])
    async with Conversation(with_plugins(source), place, store="memory://", client=model) as conversation:
        await conversation.prompt("Go")
        assert conversation.state.context is not None
        (problem,) = conversation.state.context.problems
        assert said in problem.what


def judge(verdict: str) -> ModelReply:
    return say(f'I say: {{"decision": "{verdict}", "reason": "because"}}')


@pytest.mark.parametrize(("answer", "runs"), [(judge("allow"), True), (judge("deny"), False), (say("Hm."), False)])
async def test_a_hook_asks_a_model(place: Path, answer: ModelReply, runs: bool) -> None:
    hook = Hook(event=HookEvent.BEFORE_TOOL, prompt="May this run? $ARGUMENTS", matcher="terminal")

    def script(request: ModelRequest) -> ModelReply:
        if len(request.messages) == 1:
            assert '"command":"touch ran"' in on(request)
            return answer
        return say("Done.") if request.messages[-1].role == "tool" else call("terminal", command="touch ran")

    agent = Agent(llm=MODEL, hooks=(hook,))
    async with Conversation(agent, place, store="memory://", client=ScriptedLLM(script)) as conversation:
        await conversation.prompt("Go")
        assert conversation.state.ledger.spending["hooks"].calls == 1
    assert (place / "ran").exists() is runs


@pytest.mark.parametrize(("verdict", "named"), [("allow", None), ("deny", "scripted-small")])
async def test_a_hook_has_an_agent_look(place: Path, verdict: str, named: str | None) -> None:
    hook = Hook(event=HookEvent.BEFORE_TOOL, agent="Is there a file named ok?", matcher="terminal", model=named)
    write(place / "ok", "")

    def script(request: ModelRequest) -> ModelReply:
        first = plain(request.messages[1].content)
        asked = "Is there a file named ok?" in first
        assert members(request.llm)[0].model == (named or MODEL.model if asked else MODEL.model)
        if asked:
            looked = any(message.role == "tool" for message in request.messages)
            view = call("file_editor", command="view", path=str(place))
            return finish(f'{{"decision": "{verdict}", "reason": "seen"}}') if looked else view
        return say("Done.") if request.messages[-1].role == "tool" else call("terminal", command="touch ran")

    agent = Agent(llm=MODEL, hooks=(hook,))
    async with Conversation(agent, place, store="memory://", client=ScriptedLLM(script)) as conversation:
        await conversation.send_message("Go")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        events = [event async for event in conversation.events()]
        (ended,) = [event for event in events if isinstance(event, ChildFinished)]
        assert (ended.status, ended.steps) == (ExecutionStatus.FINISHED, 2)
        (ran,) = [event for event in events if isinstance(event, HookExecutionEvent)]
        assert ran.verdict == verdict
        assert not any(child.open for child in conversation.state.ledger.children.values())
    assert (place / "ran").exists() is (verdict == "allow")


async def test_an_agent_of_a_hook_whose_model_there_is_not_denies(place: Path) -> None:
    hook = Hook(event=HookEvent.BEFORE_TOOL, agent="Look.", matcher="terminal", model="nobody/knows-it")
    async with (
        ScriptedProvider([call("terminal", command="touch ran"), say("Done.")]) as provider,
        Conversation(Agent(llm=provider.llm(), hooks=(hook,)), place, store="memory://") as conversation,
    ):
        await conversation.send_message("Go")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        (ran,) = [event async for event in conversation.events() if isinstance(event, HookExecutionEvent)]
        assert (ran.verdict, "nobody/knows-it" in str(ran)) == ("deny", True), ran
    assert not (place / "ran").exists()


@pytest.mark.simulated
async def test_agreeing_is_logged_first(place: Path, tmp_path: Path) -> None:
    write(place / ".openhands/hooks.json", hooks(TOUCH, "pre_tool_use"))
    async with Runtime(tmp_path / "store", client=ScriptedLLM([say("Done.")])) as runtime:
        async with Conversation(Agent(llm=MODEL), place, runtime=runtime) as conversation:
            (offer,) = conversation.state.unagreed
            await conversation.agree(offer.digest)
            (given,) = [event async for event in conversation.events() if isinstance(event, ConsentGiven)]
            assert given.digest == offer.digest
        assert await runtime.store.shelf.names("consents") == [offer.digest]


@pytest.mark.parametrize(
    "command",
    [
        '"$CLAUDE_PROJECT_DIR"/.agents/check.sh',
        "${OPENHANDS_PROJECT_DIR}/.agents/check.sh",
        "sh .agents/check.sh",
        "cd .agents && ./check.sh",
    ],
)
async def test_a_program_of_a_projects_hook_is_held_to_what_was_agreed(place: Path, command: str) -> None:
    script = write(place / ".agents/check.sh", f"#!/bin/sh\n{TOUCH}\n")
    script.chmod(0o755)
    write(place / ".agents/hooks.json", hooks(command))
    turns = [call("terminal", command="true"), say("Done.")] * 2
    async with Conversation(Agent(llm=MODEL), place, store="memory://", client=ScriptedLLM(turns)) as conversation:
        await conversation.agree(conversation.state.unagreed[0].digest)
        await conversation.prompt("Go")
        assert (place / "ran").exists()
        (place / "ran").unlink()
        script.write_text("#!/bin/sh\ntouch changed\n")
        await conversation.prompt("Again")
    assert not (place / "ran").exists()
    assert not list(place.rglob("changed"))


@pytest.mark.simulated
async def test_a_plugin_with_a_link_that_leads_out_brings_no_programs(place: Path, tmp_path: Path) -> None:
    made = plugin(tmp_path / "helper", command="sh hooks/check.sh")
    (made / "hooks/check.sh").symlink_to(write(tmp_path / "elsewhere.sh", "true"))
    agent = with_plugins(PluginSource(str(made)))
    async with Conversation(agent, place, store="memory://", client=ScriptedLLM([])) as conversation:
        assert conversation.state.unagreed == ()
        assert conversation.state.context is not None
        assert "its programs are left out" in conversation.state.context.problems[0].what


async def test_git_reaches_no_repository_of_the_environment(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = tmp_path / "mine", plugin(tmp_path / "other")
    for root in (mine, other):
        root.mkdir(exist_ok=True)
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "x"]):
            identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run(["git", "-C", str(root), *identity, *words], check=True)
    monkeypatch.setenv("GIT_DIR", str(mine / ".git"))
    agent = with_plugins(PluginSource(f"file://{other}"))
    store = tmp_path / "store"
    async with Conversation(agent, place, store=store, client=ScriptedLLM([])) as conversation:
        assert conversation.state.context is not None
        assert any(skill.name == "tidy" for skill in conversation.state.context.skills)
    assert (mine / ".git/HEAD").read_text() == "ref: refs/heads/main\n"


@pytest.mark.parametrize("answer", ["{}", '{"reason": "dangerous"}', '{"ok": false}', '{"decision": "maybe"}'])
async def test_an_answer_without_a_decision_denies(place: Path, answer: str) -> None:
    hook = Hook(event=HookEvent.BEFORE_TOOL, prompt="May this run?", matcher="terminal")

    def script(request: ModelRequest) -> ModelReply:
        if len(request.messages) == 1:
            return say(answer)
        return say("Done.") if request.messages[-1].role == "tool" else call("terminal", command="touch ran")

    agent = Agent(llm=MODEL, hooks=(hook,))
    async with Conversation(agent, place, store="memory://", client=ScriptedLLM(script)) as conversation:
        await conversation.prompt("Go")
    assert not (place / "ran").exists()


async def test_permissions_of_a_project_count_once_a_person_has_agreed(place: Path) -> None:
    hook = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": TOUCH}]}]}
    settings = {"permissions": {"allow": ["Bash(echo:*)"], "deny": ["Bash(date)"]}, "hooks": hook}
    write(place / ".claude/settings.json", json.dumps(settings))
    turns = [
        call("terminal", command="date"),
        call("terminal", command="echo a"),
        say("Done."),
    ]
    agent = Agent(llm=MODEL, confirmation=AlwaysConfirm())
    async with Conversation(agent, place, store="memory://", client=ScriptedLLM(turns)) as conversation:
        assert not conversation.state.spec.rules
        programs, offer = conversation.state.unagreed
        assert [hook.command for hook in programs.hooks] == [TOUCH]
        assert [(rule.verdict, rule.pattern) for rule in offer.rules] == [
            ("allow", "echo"),
            ("allow", "echo *"),
            ("deny", "date"),
        ]
        await conversation.agree(offer.digest)
        assert await conversation.prompt("Go") == "Done."
        refused = [e async for e in conversation.events() if isinstance(e, UserRejectObservation)]
    assert len(refused) == 1


async def test_where_repositories_of_other_programs_keep_their_files(place: Path) -> None:
    write(place / ".claude/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies.\n---\nTidy up.\n")
    write(place / ".claude/agents/sweeper.md", "---\nname: sweeper\ndescription: Sweeps.\n---\nYou sweep.\n")
    write(place / ".claude/commands/git/ship.md", "---\ndescription: Ships.\n---\nShip $ARGUMENTS.\n")
    write(place / ".github/copilot-instructions.md", "Use tabs.")
    write(place / ".cursor/rules/web.mdc", "---\nglobs: web/**\n---\nNo jQuery.\n")
    write(place / "web/a.js", "x")
    model = ScriptedLLM([call("terminal", command="cat web/a.js"), say("Done."), say("Shipped.")])
    async with Conversation(Agent(llm=MODEL), place, store="memory://", client=model) as conversation:
        await conversation.prompt("Go")
        await conversation.prompt("/git:ship it now")
        assert set(conversation.state.spec.agents) == {"sweeper"}
        assert not conversation.state.unagreed
    first = str(model.requests[0].messages)
    assert "Use tabs." in first
    assert "- tidy: Tidies." in first
    assert "No jQuery." not in first
    assert "No jQuery." in on(model.requests[1])
    assert "Ship it now." in on(model.requests[2])


DIGGER = """---
name: digger
description: Digs.
hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - command: touch $CLAUDE_PROJECT_DIR/ran
condenser:
  llm: spy
  max_size: 10
---
You dig.
"""


def digging() -> tuple[ScriptedLLM, list[str]]:
    """A model that has an agent dig ten times, and the models that were called for a summary."""
    summing: list[str] = []
    steps = 0

    def script(request: ModelRequest) -> ModelReply:
        nonlocal steps
        if is_question(request):
            summing.append(request.one.model)
            return say(SUMMARY)
        if "You dig." in plain(request.messages[0].content):
            steps += 1
            return call("terminal", command=f"seq {400 + steps}") if steps % 10 else finish("Dug.")
        last = request.messages[-1]
        return say("Done.") if last.role == "tool" else call("task", prompt="Dig", subagent_type="digger")

    return ScriptedLLM(script), summing


async def test_hooks_and_a_model_of_an_agents_file_wait_for_consent(place: Path, tmp_path: Path) -> None:
    write(place / ".agents/agents/digger.md", DIGGER)
    model, summing = digging()
    store = tmp_path / "store"
    async with Conversation(Agent(llm=MODEL), place, store=store, client=model) as conversation:
        await conversation.prompt("Go")
        assert not (place / "ran").exists()
        assert set(summing) == {MODEL.model} or not summing
        (offer,) = conversation.state.unagreed
        assert (offer.name, offer.agent) == ("hooks and condenser of the agent digger", "digger")
        await conversation.agree(offer.digest)
        summing.clear()
        await conversation.prompt("Go on")
        assert (place / "ran").exists()
        assert set(summing) == {"spy"}
    (place / "ran").unlink()
    write(place / ".agents/agents/digger.md", DIGGER.replace("llm: spy", "llm: another"))
    async with Conversation(Agent(llm=MODEL), place, store=store, client=model) as conversation:
        await conversation.prompt("Go")
        assert not (place / "ran").exists(), "a change asks again"


async def test_hooks_and_a_model_of_the_users_own_agents_file_work(place: Path, tmp_path: Path) -> None:
    write(tmp_path / "home/.agents/agents/digger.md", DIGGER)
    model, summing = digging()
    async with Runtime("memory://", client=model, home=tmp_path / "home") as runtime:
        async with Conversation(Agent(llm=MODEL), place, runtime=runtime) as conversation:
            await conversation.prompt("Go")
            assert not conversation.state.unagreed
    assert (place / "ran").exists()
    assert set(summing) == {"spy"}

"""An action is rated by what it does, whatever its tool is called: built-in, a user's, or one that says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentrt import (
    LLM,
    Agent,
    ConfirmRisky,
    Conversation,
    Effects,
    ExecutionStatus,
    InformationFlow,
    Runtime,
    SecurityRisk,
    tool,
)
from agentrt.context.replies import BadCall
from agentrt.errors import ConfigurationError
from agentrt.events import ActionEvent, ConfirmationRequested, RiskAssessed
from agentrt.security.found import found_effects
from agentrt.security.rating import Scene
from agentrt.security.rules import rate_action, wanted, written
from agentrt.specs import FileText, LocalWorkspace, Same, Source, Tool, ToolAnnotations, WorkspaceSpec
from agentrt.testing import ScriptedLLM, call, say
from agentrt.tools import Tools, ToolType
from agentrt.tools.files.file_editor import file_editor
from agentrt.tools.web import fetch, web_search

pytestmark = pytest.mark.pure

ONLY_READS = ToolAnnotations(read_only=True, open_world=False)
HOME = LocalWorkspace("/home/me/project")
SCENE = Scene(HOME, HOME.path)


def searched(action: Any, workspace: WorkspaceSpec) -> Effects:
    return Effects(reads=(action.path,))


@tool(annotations=ONLY_READS, effects=searched)
async def grep(pattern: str, path: str = ".") -> str:
    """Search."""
    return Path(path).read_text()


@tool(name="quiet", annotations=ONLY_READS)
async def quiet(pattern: str, path: str = ".") -> str:
    """Search, and say nothing of what it reads."""
    return Path(path).read_text()


@pytest.mark.real
@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (grep, {"pattern": "root", "path": "/etc/shadow"}),
        (quiet, {"pattern": "root", "path": "/etc/shadow"}),
        (file_editor, {"command": "view", "path": "/etc/shadow"}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
async def test_what_reads_passwords_is_asked_about(tmp_path: Path, given: ToolType, arguments: dict[str, str]) -> None:
    """The program that showed that path rules held for two names only."""
    llm = ScriptedLLM([call(given.name, **arguments), say("done")])
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool(given.name),), confirmation=ConfirmRisky())
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=llm, tools=[given]) as conversation:
        await conversation.send_message("look")
        events = [event async for event in conversation.run()]
        assert conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        (rated,) = [event for event in events if isinstance(event, RiskAssessed)]
        assert (rated.risk, rated.reason) == (SecurityRisk.HIGH, "reads keys or passwords")
        assert (rated.sinks, rated.labels) == (("secrets",), ("outside",))
        assert any(isinstance(event, ConfirmationRequested) for event in events)
        await conversation.interrupt()


@pytest.mark.real
async def test_what_a_tool_reads_outside_may_cause_nothing_unasked(tmp_path: Path) -> None:
    """Labels of what it read, and sinks of what is done then, are those of the effects."""

    @tool(effects=lambda action, workspace: Effects(reaches=(action.url,)))
    async def post(url: str) -> str:
        """Send."""
        return "sent"

    work = tmp_path / "work"
    work.mkdir()
    llm = ScriptedLLM([call("grep", pattern="x", path="/srv/notes"), call("post", url="https://x.test/")])
    agent = Agent(llm=LLM(model="scripted"), confirmation=ConfirmRisky(SecurityRisk.HIGH), flow=InformationFlow())
    async with Conversation(agent, work, store=tmp_path / "s", client=llm, tools=[grep, post]) as conversation:
        await conversation.send_message("look")
        async for _ in conversation.run():
            pass
        assert [p.action.tool_name for p in conversation.state.branch.pending] == ["post"]
        assert conversation.state.branch.pending[0].held == "flow:outside>network"
        await conversation.interrupt()


def action(**arguments: object) -> ActionEvent:
    raw = msgspec.Raw(msgspec.json.encode(arguments))
    return ActionEvent(tool_name="mine", tool_call_id="1", arguments_json=raw, llm_response_id="1")


def rate(effects: Effects | None, *, only_reads: bool = False, **arguments: Any) -> tuple[SecurityRisk, str]:
    rating = rate_action(action(**arguments), replace(SCENE, effects=effects, only_reads=only_reads))
    return rating.risk, rating.reason


LOW, MEDIUM, UNKNOWN, HIGH = SecurityRisk.LOW, SecurityRisk.MEDIUM, SecurityRisk.UNKNOWN, SecurityRisk.HIGH


@pytest.mark.parametrize(
    ("effects", "risk"),
    [
        (Effects(), LOW),
        (Effects(reads=("src/a.py", "/home/me/project")), LOW),
        (Effects(reads=("../../../etc/shadow",)), HIGH),
        (Effects(reads=("~/.ssh/id_rsa",)), HIGH),
        (Effects(reads=("src/a.py",), writes=("/etc/passwd",)), HIGH),
        (Effects(writes=("notes.md",)), LOW),
        (Effects(writes=("/home/me/other/x",)), MEDIUM),
        (Effects(runs=("ls",)), LOW),
        (Effects(runs=("ls", "rm -rf ~")), HIGH),
        (Effects(runs=(Source("import shutil; shutil.rmtree('/home/me')", "python"),)), HIGH),
        (Effects(runs=(Source("C-c", typed=True),)), LOW),
        (Effects(reaches=("http://localhost:1/",)), LOW),
        (Effects(reaches=("https://example.com/x",)), MEDIUM),
        (Effects(reaches=("example.com",)), MEDIUM),
        (Effects(reaches=("http://169.254.169.254/latest",)), HIGH),
        (Effects(reaches=("file:///etc/shadow",)), HIGH),
        (Effects(reaches=("file:///etc/%73hadow",)), HIGH),
        (Effects(reaches=("file:///etc/shadow#x",)), HIGH),
        (Effects(reaches=(" <URL:file://localhost/etc/shadow>",)), HIGH),
        (Effects(reaches=("http://127.0.0.1:1/",)), LOW),
        (Effects(reaches=("http://127.0.0.1.nip.io/",)), MEDIUM),
        (Effects(reaches=("http://127.example.com/",)), MEDIUM),
        (Effects(reads=("/etc",)), MEDIUM),
        (Effects(reads=("~",)), MEDIUM),
        (Effects(reads=("/home/me/.config",)), MEDIUM),
        (Effects(reads=("/",)), MEDIUM),
        (Effects(reads=(".",)), LOW),
        (Effects(writes=("~",)), HIGH),
        (Effects(writes=("/home/me/.config",)), HIGH),
        (Effects(writes=("/home/me/project",)), LOW),
    ],
)
def test_a_rating_is_that_of_the_worst_effect(effects: Effects, risk: SecurityRisk) -> None:
    assert rate(effects)[0] is risk


@pytest.mark.parametrize(
    ("arguments", "risk"),
    [
        ({}, UNKNOWN),
        ({"note": "hello"}, UNKNOWN),
        ({"path": "src/a.py"}, UNKNOWN),
        ({"paths": ["a", "/etc/passwd"]}, HIGH),
        ({"deep": [{"target": "~/.ssh/id_rsa"}]}, HIGH),
        ({"command": "rm -rf ~"}, HIGH),
        ({"code": "import os; os.system('rm -rf ~')"}, HIGH),
        ({"url": "http://169.254.169.254/"}, HIGH),
        ({"filePath": "../../.bashrc"}, HIGH),
        ({"source": "file:///etc/shadow"}, HIGH),
        ({"path": " /etc/shadow\n"}, HIGH),
        ({"files": {"/etc/shadow": "x"}}, HIGH),
        ({"path": "/" + "./" * 3000 + "etc/shadow"}, HIGH),
        ({"target": ".ssh/id_rsa"}, HIGH),
        ({"shellCommand": "rm -rf ~"}, HIGH),
        ({"baseDir": ".ssh"}, HIGH),
        ({"command": ["rm", "-rf", "/home/me"]}, HIGH),
        ({"cmd": "rm", "args": ["-rf", "/home/me"]}, HIGH),
        ({"first": "one\n/etc/shadow"}, HIGH),
    ],
)
def test_what_a_tool_does_not_say_is_found_in_its_arguments(arguments: dict[str, Any], risk: SecurityRisk) -> None:
    assert rate(None, **arguments)[0] is risk


def test_a_tool_that_declares_that_it_only_reads_writes_nothing() -> None:
    assert rate(None, only_reads=True, path="/etc/hostname", query="x") == (LOW, "the tool says that it only reads")
    assert rate(None, only_reads=True, path="/etc/shadow")[0] is HIGH
    assert rate(None, path="/etc/hostname")[0] is HIGH


def test_found_effects_are_what_the_arguments_name() -> None:
    raw = action(path="a", list_of=["/x", "https://h/"], text="see /etc", cmd="ls", n=5).arguments_json
    writes = (FileText("a"), FileText("/x"))
    assert found_effects(raw, only_reads=False) == Effects(("a", "/x"), writes, (Source("ls"),), ("https://h/",))
    argv = action(run={"cmd": "a b", "args": ["c d"]}, deep={"command": ["e f", "g"]}).arguments_json
    assert found_effects(argv, only_reads=True).runs == (Source("a b 'c d'"), Source("'e f' g"))
    assert found_effects(raw, only_reads=True).writes == ()


@pytest.mark.parametrize(
    ("url", "risk"),
    [
        ("https://example.com/x", MEDIUM),
        ("http://localhost:1/", LOW),
        ("http://169.254.169.254/latest", HIGH),
        ("file:///etc/shadow", HIGH),
    ],
)
def test_a_fetch_is_rated_by_where_it_leads(url: str, risk: SecurityRisk) -> None:
    tools = Tools([Tool("fetch"), Tool("web_search")], {"fetch": fetch, "web_search": web_search}, HOME)
    assert rate(tools.effects("fetch", action(url=url).arguments_json))[0] is risk
    assert rate(tools.effects("web_search", action(query=url).arguments_json))[0] is MEDIUM


def test_an_edit_shows_what_is_around_it() -> None:
    def done(command: str) -> Effects | None:
        raw = msgspec.Raw(msgspec.json.encode({"command": command, "path": "/home/me/project/.env", "file_text": ""}))
        return Tools([Tool("file_editor")], {"file_editor": file_editor}, HOME).effects("file_editor", raw)

    assert {command: rate(done(command))[0] for command in ("view", "insert", "str_replace", "create")} == {
        **dict.fromkeys(("view", "insert", "str_replace"), MEDIUM),
        "create": LOW,
    }


def test_a_script_that_any_tool_wrote_is_known_when_it_runs() -> None:
    scene = replace(SCENE, effects=Effects(writes=(FileText("run.sh", "rm -rf ~"), "other")))
    found = written(action(), scene)
    assert found["/home/me/project/run.sh"] == "rm -rf ~"
    assert set(found) == {"/home/me/project/run.sh", "/home/me/project/other"}
    runs = replace(SCENE, effects=Effects(runs=("bash run.sh",)))
    assert wanted(action(), runs) == (frozenset({"/home/me/project/run.sh"}), frozenset())
    assert rate_action(action(), replace(runs, files={"/home/me/project/run.sh": "rm -rf ~"})).risk is HIGH


@pytest.mark.real
async def test_what_belongs_to_the_runtime_is_known_to_the_rating(tmp_path: Path) -> None:
    store, work = tmp_path / "kept", tmp_path / "work"
    work.mkdir()
    looks = [call("terminal", command=f"cat {store}/keys.json"), call("terminal", command="curl localhost:8123/x")]
    runtime = Runtime(store, client=ScriptedLLM([*looks, say("done")]))
    runtime.ports.add(8123)
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), confirmation=ConfirmRisky())
    async with runtime, Conversation(agent, work, runtime=runtime) as conversation:
        await conversation.send_message("go")
        for reason in ("reads or changes what agentrt keeps", "asks the server that runs this conversation"):
            rated = [event async for event in conversation.run() if isinstance(event, RiskAssessed)]
            assert rated[-1].risk is HIGH
            assert reason in rated[-1].reason
            assert conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
            await conversation.reject("No.")


@pytest.mark.real
async def test_effects_that_fail_rate_high(tmp_path: Path) -> None:
    def broken(action: Any, workspace: WorkspaceSpec) -> Effects:
        raise KeyError(action.x)

    @tool(effects=broken)
    def odd(x: str) -> str:
        """Do."""
        return x

    llm = ScriptedLLM([call("odd", x="1"), say("done")])
    agent = Agent(llm=LLM(model="scripted"), confirmation=ConfirmRisky())
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=llm, tools=[odd]) as conversation:
        await conversation.send_message("go")
        events = [event async for event in conversation.run()]
        (rated,) = [event for event in events if isinstance(event, RiskAssessed)]
        assert rated.risk is HIGH
        assert "odd cannot say what it does: KeyError: '1'" in rated.reason
        await conversation.interrupt()


def test_effects_are_effects() -> None:
    kind = ToolType("odd", "", type(action()), executor=lambda params: None, effects=lambda a, w: 5)  # type: ignore
    tools = Tools([Tool("odd")], {"odd": kind}, HOME)
    with pytest.raises(BadCall, match="odd cannot say what it does"):
        tools.effects("odd", msgspec.Raw(msgspec.json.encode(action())))
    with pytest.raises(ConfigurationError, match="effects"):
        ToolType("odd", "", type(action()), executor=lambda params: None, effects=5)  # type: ignore
    assert tools.effects("other", msgspec.Raw(b"{}")) is None


@pytest.mark.real
async def test_always_remembers_what_the_tool_says_is_the_same(tmp_path: Path) -> None:
    @tool(same=Same("table", {"drop": True}), headline="{table}", name="query")
    async def query(table: str, drop: bool = False, path: str = "") -> str:
        """Ask the database."""
        return "rows"

    calls = [
        call("query", table="users", path="a"),
        call("query", table="users", path="b"),
        call("query", table="users", drop=True),
        say("done"),
    ]
    agent = Agent(llm=LLM(model="scripted"), confirmation=ConfirmRisky())
    store = tmp_path / "s"
    async with Conversation(agent, tmp_path, store=store, client=ScriptedLLM(calls), tools=[query]) as conversation:
        await conversation.send_message("go")
        async for _ in conversation.run():
            pass
        await conversation.confirm(always="session")
        async for _ in conversation.run():
            pass
        (waits,) = conversation.pending_confirmation
        assert msgspec.json.decode(waits.action.arguments_json) == {"table": "users", "drop": True}
        await conversation.interrupt()

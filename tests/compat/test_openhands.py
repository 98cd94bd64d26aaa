"""Programs for the OpenHands SDK run with only the imports changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec
import pytest

from agentrt.compat import openhands
from agentrt.context.replies import ModelReply
from agentrt.errors import ConfigurationError
from agentrt.testing import ScriptedProvider, call, finish, say

pytestmark = pytest.mark.real

PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 60


def run(program: str, directory: Path, base_url: str) -> str:
    """Run a program in a directory, and return what it prints. Raises if it fails or complains."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=directory,
        env={
            **os.environ,
            "AGENTRT_HOME": str(directory.parent / "home"),
            "LLM_MODEL": "openai/scripted",
            "LLM_API_KEY": "a-key-of-the-program",
            "LLM_BASE_URL": base_url,
            "MCP_PYTHON": sys.executable,
            "MCP_SERVER": str(PROGRAMS / "sums.py"),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The workspace of a program."""
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


async def ran(name: str, directory: Path, script: Any) -> tuple[str, ScriptedProvider]:
    """Run one of the programs with a scripted model; return what it prints, and the model."""
    return await ran_code((PROGRAMS / f"{name}.py").read_text(), directory, script)


async def ran_code(code: str, directory: Path, script: Any) -> tuple[str, ScriptedProvider]:
    """Run a program with a scripted model; return what it prints, and the model."""
    async with ScriptedProvider(script) as provider:
        printed = await anyio.to_thread.run_sync(run, code, directory, provider.base_url)
    assert not provider.refused
    assert set(provider.keys) <= {"Bearer a-key-of-the-program"}
    return printed, provider


async def test_hello(directory: Path) -> None:
    turns = [
        call("task_tracker", command="plan", task_list=[{"title": "Write", "status": "todo"}]),
        call("terminal", command="echo one > FACTS.txt; ls"),
        call("file_editor", command="view", path=str(directory / "FACTS.txt")),
        finish("There are facts."),
    ]
    printed, _ = await ran("hello", directory, turns)
    assert (directory / "FACTS.txt").read_text() == "one\n"
    assert "● terminal" in printed
    assert printed.splitlines()[-1] == "All done! finished"


async def test_a_tool_of_the_program_shares_its_shell(directory: Path) -> None:
    (directory / "a.py").write_text("class A:\n    pass\n")
    (directory / "below").mkdir()
    (directory / "below" / "b.py").write_text("class B:\n    pass\n")
    turns = [
        call("terminal", command="cd below; mine=of-this-shell"),
        call("count", word="class"),
        call("terminal", command="echo $mine > ../COUNT.txt"),
        finish("One."),
        call("terminal", command="rm ../COUNT.txt"),
        say("It is gone."),
    ]
    printed, provider = await ran("tools", directory, turns)
    results = [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "tool"]
    assert any("1 lines: ./b.py:1:class B:" in str(result) for result in results)
    assert not (directory / "COUNT.txt").exists()
    assert printed.splitlines()[-1] == "cost False"
    roles = [line.split()[0] for line in printed.splitlines() if line.split()[:1] and line.split()[0] in ROLES]
    assert roles[:2] == ["system", "user"]
    assert roles.count("user") == 2
    assert roles.count("tool") == 5


ROLES = ("system", "user", "assistant", "tool")


async def test_skills_are_there_always_or_by_a_word(directory: Path) -> None:
    printed, provider = await ran("skills", directory, [say("I know. yay!"), say("I praise you. yay!")])
    first, second = (msgspec.json.encode(request["messages"]).decode() for request in provider.requests)
    assert "need Python 3.11" in first
    assert "praise the user" not in first
    assert "praise the user" in second
    assert "Always finish your response with the word 'yay!'" in first
    assert second.count("The first character of your response should be 'I'") == 2
    assert printed.splitlines()[-1] == "turns 4"


async def test_a_program_that_asks_before_each_action(directory: Path) -> None:
    turns = [
        call("terminal", command="touch one"),
        call("terminal", command="touch two"),
        finish("One of them."),
        call("terminal", command="touch three"),
        finish("And the third."),
    ]
    printed, _ = await ran("confirming", directory, turns)
    assert sorted(path.name for path in directory.iterdir()) == ["one", "three"]
    assert [line for line in printed.splitlines() if line.startswith("asked")] == [
        "asked terminal command='touch one'",
        "asked terminal command='touch two'",
    ]
    assert printed.splitlines()[-1] == "done finished"


async def test_the_tools_of_an_mcp_server(directory: Path) -> None:
    printed, provider = await ran("mcp_servers", directory, [call("add", one=20, other=22), finish("42.")])
    names = [tool["function"]["name"] for tool in provider.requests[0]["tools"]]
    assert "add" in names
    assert "forget" not in names
    assert "42" in str(provider.requests[-1]["messages"][-1])
    assert printed.splitlines()[-1] == "done finished"


async def test_agents_that_delegate(directory: Path) -> None:
    def script(request: dict[str, Any]) -> ModelReply:
        messages = request["messages"]
        if "Think of lodging only." in str(messages[0]):
            assert "You find places to stay in London." in str(messages[0])
            return finish("A boat on the canal.")
        if "You plan journeys" not in str(messages[0]):
            raise AssertionError(messages)
        if not any(message["role"] == "tool" for message in messages):
            return call("task", subagent_type="lodging_planner", prompt="Find a place for two nights.")
        return finish(f"Stay here: {'boat' in str(messages[-1])}")

    printed, provider = await ran("delegating", directory, script)
    assert "[Delegator]" in printed
    assert "Stay here: True" in printed
    assert printed.splitlines()[-1].startswith("cost ")
    assert len(provider.requests) == 3


BEGIN = """
import os, sys, threading
from agentrt.compat.openhands import *

llm = LLM(model=os.environ["LLM_MODEL"], api_key=os.environ["LLM_API_KEY"], base_url=os.environ["LLM_BASE_URL"])
agent = Agent(llm=llm, tools=[Tool(name="terminal")])
"""


async def test_a_conversation_is_reopened_by_its_id(directory: Path) -> None:
    code = f"""{BEGIN}
name = "12345678-1234-5678-1234-567812345678"
first = Conversation(agent=agent, workspace=".", conversation_id=name, persistence_dir="kept", visualizer=None)
first.send_message("Begin.")
first.run()
first.close()
first.close()
again = Conversation(agent=agent, workspace=".", conversation_id=name, persistence_dir="kept", visualizer=None)
again.send_message("Go on.")
again.run()
print(again.id, sum(isinstance(event, MessageEvent) for event in again.state.events), os.listdir("kept/conversations"))
"""
    printed, _ = await ran_code(code, directory, [say("One."), say("Two.")])
    name = "12345678-1234-5678-1234-567812345678"
    assert printed == f"{name} 4 {[name]}\n"


TOOL = """
class AddAction(Action):
    one: int
    other: int

class AddObservation(Observation):
    total: int = 0

class Add(ToolExecutor):
    def __call__(self, action, conversation=None):
        return AddObservation.from_text("added", total=action.one + action.other)

class AddTool(ToolDefinition):
    @classmethod
    def create(cls, conv_state):
        return [cls(description="Adds.", action_type=AddAction, observation_type=AddObservation, executor=Add())]

register_tool("Sums", AddTool)
agent = Agent(llm=llm, tools=[Tool(name="Sums")])
"""


async def test_a_conversation_with_a_tool_of_the_program_is_reopened(directory: Path) -> None:
    code = f"""{BEGIN}{TOOL}
def show(event):
    if isinstance(event, ObservationEvent) and event.tool_name == "add":
        print(event.observation.total, event.observation.text)

for _ in range(2):
    conversation = Conversation(
        agent=agent, workspace=".", conversation_id="1" * 32, persistence_dir="kept", visualizer=None, callbacks=[show]
    )
    conversation.send_message("Add.")
    conversation.run()
    conversation.close()
"""
    add = call("add", one=20, other=22)
    printed, _ = await ran_code(code, directory, [add, say("One."), add, say("Two.")])
    assert printed == "42 added\n42 added\n"


async def test_each_event_is_told_once_whatever_threads_use_the_conversation(directory: Path) -> None:
    code = f"""{BEGIN}
seen = []
conversation = Conversation(agent=agent, workspace=".", callbacks=[lambda event: seen.append(event.native.seq)],
                            visualizer=None)
conversation.send_message("Begin.")
runs = threading.Thread(target=conversation.run)
runs.start()
for number in range(20):
    conversation.send_message(f"And {{number}}.")
runs.join()
conversation.run()
print(seen == list(range(1, len(seen) + 1)), len(seen) > 20)
"""
    printed, _ = await ran_code(code, directory, lambda body: say("Yes."))
    assert printed == "True True\n"


async def test_agents_that_may_delegate_to_one_another(directory: Path) -> None:
    code = f"""{BEGIN}
for name in ("lead", "other"):
    register_agent(name, lambda llm: Agent(llm=llm, tools=[Tool(name="DelegateTool")]), "Delegates.")
agent = Agent(llm=llm, tools=[Tool(name="DelegateTool")])
conversation = Conversation(agent=agent, workspace=".", visualizer=None)
print(sorted(conversation.native_state.agent.agents), sorted(conversation.native_state.agent.agents["lead"].agents))
"""
    printed, _ = await ran_code(code, directory, [])
    assert printed == "['lead', 'other'] ['other']\n"


async def test_callbacks_run_in_the_thread_that_runs_and_may_use_the_conversation(directory: Path) -> None:
    code = f"""{BEGIN}
seen = []

def on_event(event):
    seen.append(event.native.seq)
    assert threading.current_thread() is threading.main_thread()
    if isinstance(event, ObservationEvent):
        print(event.observation.exit_code, event.observation.text.splitlines()[0])
        conversation.pause()

conversation = Conversation(agent=agent, workspace=".", callbacks=[on_event], visualizer=None)
conversation.send_message("Begin.")
conversation.run()
print(conversation.state.execution_status.value, seen == list(range(1, len(seen) + 1)))
"""
    printed, _ = await ran_code(code, directory, [call("terminal", command="echo there"), say("Two.")])
    assert printed in ("0 there\npaused True\n", "0 there\nfinished True\n")


async def test_a_callback_that_fails_ends_the_run(directory: Path) -> None:
    code = f"""{BEGIN}
def on_event(event):
    if isinstance(event, ActionEvent):
        raise ZeroDivisionError("of the callback")

conversation = Conversation(agent=agent, workspace=".", callbacks=[on_event], visualizer=None)
conversation.send_message("Begin.")
try:
    conversation.run()
except ZeroDivisionError as error:
    print(error)
"""
    printed, _ = await ran_code(code, directory, [call("terminal", command="sleep 300"), say("Two.")])
    assert printed == "of the callback\n"


async def test_a_run_that_ends_with_an_error_raises_it(directory: Path) -> None:
    code = f"""{BEGIN}
conversation = Conversation(agent=agent, workspace=".", max_iteration_per_run=1, visualizer=None)
conversation.send_message("Begin.")
try:
    conversation.run()
except ConversationRunError as error:
    print(error.conversation_id == str(conversation.id), error)
"""
    printed, _ = await ran_code(code, directory, [call("terminal", command="true"), say("Two.")])
    assert printed.startswith("True ")
    assert "max_steps" in printed


async def test_secrets_are_variables_of_commands_and_in_no_event(directory: Path) -> None:
    code = f"""{BEGIN}
context = AgentContext(secrets={{"FIRST": "of-the-context"}})
agent = Agent(llm=llm, tools=[Tool(name="terminal")], agent_context=context)
conversation = Conversation(agent=agent, workspace=".", secrets={{"SECOND": lambda: "of-the-program"}}, visualizer=None)
conversation.send_message("Begin.")
conversation.run()
"""
    command = "echo $FIRST $SECOND > seen; cat seen"
    _, provider = await ran_code(code, directory, [call("terminal", command=command), say("Two.")])
    assert (directory / "seen").read_text() == "of-the-context of-the-program\n"
    assert "of-the-" not in str(provider.requests)


def test_the_face_has_all_that_it_names() -> None:
    assert [name for name in openhands.__all__ if not hasattr(openhands, name)] == []


@pytest.mark.pure
def test_constructors_take_the_arguments_of_the_page() -> None:
    given: dict[str, Any] = {"base_url": "http://127.0.0.1:1", "temperature": 0.5, "top_p": 0.9, "top_k": 5}
    more: dict[str, Any] = {"max_output_tokens": 100, "num_retries": 2, "timeout": 30.0, "seed": 1}
    llm = openhands.LLM("openai/x", usage_id="main", **given, **more)
    assert llm.usage_id == "main"
    assert {name: getattr(llm.native, name) for name in (*given, *more)} == {**given, **more}
    old = openhands.LLM(
        "openai/x",
        service_id="s",
        extended_thinking_budget=5,
        disable_vision=True,
        drop_params=True,
        modify_params=True,
    )
    assert (old.usage_id, old.native.thinking_budget, old.native.vision) == ("s", 5, False)
    skill = openhands.Skill(
        name="a", content="A.", trigger=openhands.KeywordTrigger(keywords=["b"]), source="/s", description="d"
    )
    context = openhands.AgentContext(
        skills=[skill],
        system_message_suffix="before",
        user_message_suffix="after",
        load_user_skills=True,
        secrets={"TOKEN": "t"},
        current_datetime=None,
    )
    native = context.native
    assert (native.system_message_suffix, native.user_message_suffix) == ("before", "after")
    assert (native.load_user_skills, native.current_datetime, context.secrets) == (True, False, {"TOKEN": "t"})
    (made,) = native.skills
    assert (made.name, made.body, made.triggers, made.path, made.description) == ("a", "A.", ("b",), "/s", "d")
    agent = openhands.Agent(
        llm=llm,
        tools=[openhands.Tool(name="terminal", params={})],
        agent_context=context,
        mcp_config={"mcpServers": {"x": {"command": "y"}}},
        filter_tools_regex="z.*",
        condenser=openhands.LLMSummarizingCondenser(llm=old, max_size=50),
        system_prompt="Be brief.",
        tool_concurrency_limit=3,
        include_default_tools=["FinishTool"],
    )
    assert agent.models == (llm, old)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: openhands.Agent(llm=openhands.LLM("openai/x"), tols=[]), "no argument 'tols': did you mean 'tools'"),  # type: ignore[call-arg]
        (lambda: openhands.AgentContext(skils=[]), "no argument 'skils': did you mean 'skills'"),  # type: ignore[call-arg]
        (lambda: openhands.Skill(name="a", contents=""), "no argument 'contents': did you mean 'content'"),  # type: ignore[call-arg]
        (lambda: openhands.Tool(nam="x"), "no argument 'nam': did you mean 'name'"),  # type: ignore[call-arg]
        (lambda: openhands.LLM("openai/x", temprature=1), "no argument 'temprature': did you mean 'temperature'"),
        (lambda: openhands.Conversation(workspc="x"), "no argument 'workspc': did you mean 'workspace'"),  # type: ignore[call-arg]
        (lambda: openhands.Agent(), "needs 'llm'"),  # type: ignore[call-arg]
    ],
)
def test_an_argument_that_there_is_not_is_one_clear_error(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        make()


CONTROLS = """
import os, threading, time
from agentrt.compat.openhands import *

llm = LLM(os.environ["LLM_MODEL"], api_key=os.environ["LLM_API_KEY"], base_url=os.environ["LLM_BASE_URL"])
agent = Agent(llm=llm, tools=[Tool(name="terminal")])
conversation = Conversation(agent=agent, workspace=".", visualizer=None, secrets={"FIRST": "value-one"})
conversation.set_confirmation_policy(AlwaysConfirm())
conversation.set_security_analyzer(LLMSecurityAnalyzer())
conversation.update_secrets({"SECOND": "value-two"})
conversation.send_message("Go")
conversation.run()
print(conversation.state.execution_status.value)
conversation.reject_pending_actions("not now")
while len(conversation.state.get_unmatched_actions(conversation.state.events)) == 0:
    time.sleep(0.01)
conversation.run()
print(os.path.exists("made"), conversation.state.execution_status.value)
conversation.set_confirmation_policy(NeverConfirm())
conversation.run()
print(conversation.ask_agent("How far are you?"))
print(conversation.generate_title())
conversation.condense()
conversation.send_message("Rest")
resting = threading.Thread(target=conversation.run)
resting.start()
while resting.is_alive() and not os.path.exists("began"):
    time.sleep(0.01)
conversation.interrupt()
resting.join()
conversation.pause()
print(conversation.state.execution_status.value)
conversation.close()
"""


async def test_the_controls_of_the_page_block(directory: Path) -> None:
    def script(body: dict[str, Any]) -> ModelReply:
        words = str(body["messages"][-1]["content"])
        if "question besides the task" in words:
            return say("Half way.")
        if not body.get("tools"):
            return say("A title")
        if "Rest" in words:
            return call("terminal", command="touch began; sleep 60")
        if "rejected" in words:
            return call("terminal", command="echo $SECOND > made")
        return finish("Made.") if "exit code 0" in words else call("terminal", command="touch refused")

    printed, provider = await ran_code(CONTROLS, directory, script)
    assert sorted(path.name for path in directory.iterdir()) == ["began", "made"]
    assert (directory / "made").read_text() == "value-two\n"
    waits = "waiting_for_confirmation"
    assert printed.split("\n")[:5] == [waits, f"False {waits}", "Half way.", "A title", "paused"]
    assert any("not now" in str(request["messages"]) for request in provider.requests)

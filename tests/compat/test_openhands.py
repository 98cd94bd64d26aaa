"""Programs for the OpenHands SDK run with only the imports changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec
import pytest

from agentrt.compat import openhands
from agentrt.context.replies import ModelReply
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

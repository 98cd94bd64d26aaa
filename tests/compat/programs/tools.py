"""After the peer's example 02: a tool of the program's own, which shares a shell with the terminal."""

import os
import shlex
from collections.abc import Sequence
from typing import Any

from agentrt.compat.openhands import (
    LLM,
    Action,
    Agent,
    Conversation,
    Event,
    Field,
    FileEditorTool,
    ImageContent,
    LLMConvertibleEvent,
    Observation,
    SecretStr,
    TerminalAction,
    TerminalExecutor,
    TerminalTool,
    TextContent,
    Tool,
    ToolDefinition,
    ToolExecutor,
    register_tool,
)


class CountAction(Action):
    word: str = Field(description="The word to count.")
    path: str = Field(default=".", description="Where to look.")


class CountObservation(Observation):
    lines: list[str] = Field(default_factory=list)
    total: int = 0

    @property
    def to_llm_content(self) -> Sequence[TextContent | ImageContent]:
        return [TextContent(text=f"{self.total} lines: " + "; ".join(self.lines))]


class CountExecutor(ToolExecutor[CountAction, CountObservation]):
    def __init__(self, terminal: TerminalExecutor):
        self.terminal = terminal

    def __call__(self, action: CountAction, conversation: Any = None) -> CountObservation:
        command = f"grep -rn {shlex.quote(action.word)} {shlex.quote(action.path)} --include='*.py'"
        result = self.terminal(TerminalAction(command=command))
        lines = sorted(line for line in result.text.splitlines() if action.word in line)
        return CountObservation(lines=lines, total=len(lines))


class CountTool(ToolDefinition[CountAction, CountObservation]):
    @classmethod
    def create(cls, conv_state: Any, terminal_executor: TerminalExecutor) -> Sequence[ToolDefinition[Any, Any]]:
        return [
            cls(
                description="Counts the lines with a word in Python files.",
                action_type=CountAction,
                observation_type=CountObservation,
                executor=CountExecutor(terminal_executor),
            )
        ]


class TerminalAndCountToolSet(ToolDefinition[CountAction, CountObservation]):
    @classmethod
    def create(cls, conv_state: Any) -> Sequence[ToolDefinition[Any, Any]]:
        terminal_executor = TerminalExecutor(working_dir=conv_state.workspace.working_dir)
        terminal = TerminalTool.create(conv_state, executor=terminal_executor)[0]
        return [terminal, CountTool.create(conv_state, terminal_executor=terminal_executor)[0]]


register_tool("TerminalAndCount", TerminalAndCountToolSet)

llm = LLM(
    usage_id="agent",
    model=os.environ["LLM_MODEL"],
    base_url=os.environ.get("LLM_BASE_URL"),
    api_key=SecretStr(os.environ["LLM_API_KEY"]),
)
agent = Agent(llm=llm, tools=[Tool(name=FileEditorTool.name), Tool(name="TerminalAndCount")])
messages: list[Any] = []


def on_event(event: Event) -> None:
    if isinstance(event, LLMConvertibleEvent):
        messages.append(event.to_llm_message())


conversation = Conversation(agent=agent, callbacks=[on_event], workspace=os.getcwd())
conversation.send_message("Count the lines with 'class' in Python files, and note the number in COUNT.txt.")
conversation.run()
conversation.send_message("Now delete that file.")
conversation.run()
for message in messages:
    print(message.role, str(message)[:200].replace("\n", " "))
print("cost", llm.metrics.accumulated_cost > 0)

"""After the peer's example 01: an agent with a shell, an editor and a plan writes a file."""

import os

from agentrt.compat.openhands import LLM, Agent, Conversation, FileEditorTool, TaskTrackerTool, TerminalTool, Tool

llm = LLM(model=os.environ["LLM_MODEL"], api_key=os.environ["LLM_API_KEY"], base_url=os.environ.get("LLM_BASE_URL"))
agent = Agent(
    llm=llm,
    tools=[Tool(name=TerminalTool.name), Tool(name=FileEditorTool.name), Tool(name=TaskTrackerTool.name)],
)
conversation = Conversation(agent=agent, workspace=os.getcwd())
conversation.send_message("Write three facts about this directory into FACTS.txt.")
conversation.run()
print("All done!", conversation.state.execution_status.value)

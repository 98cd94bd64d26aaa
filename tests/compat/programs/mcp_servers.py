"""After the peer's example 07: the tools of an MCP server, filtered by a pattern."""

import os

from agentrt.compat.openhands import LLM, Agent, Conversation, TerminalTool, Tool

llm = LLM(model=os.environ["LLM_MODEL"], api_key=os.environ["LLM_API_KEY"], base_url=os.environ.get("LLM_BASE_URL"))
mcp_config = {"sums": {"command": os.environ["MCP_PYTHON"], "args": [os.environ["MCP_SERVER"]]}}
agent = Agent(
    llm=llm,
    tools=[Tool(name=TerminalTool.name)],
    mcp_config=mcp_config,
    filter_tools_regex="^(?!.*forget)(.*)$",
)
conversation = Conversation(agent=agent, workspace=os.getcwd(), callbacks=[lambda event: None])
conversation.send_message("What are 20 and 22 together? Ask the server.")
conversation.run()
print("done", conversation.state.execution_status.value)

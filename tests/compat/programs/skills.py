"""After the peer's example 03: instructions that are always there, and some that a word activates."""

import os

from agentrt.compat.openhands import LLM, Agent, AgentContext, Conversation, KeywordTrigger, Skill, get_default_tools

llm = LLM(model=os.environ["LLM_MODEL"], api_key=os.environ["LLM_API_KEY"], base_url=os.environ.get("LLM_BASE_URL"))
agent_context = AgentContext(
    skills=[
        Skill(name="AGENTS.md", content="Tests of this repository need Python 3.11.", source=None, trigger=None),
        Skill(
            name="flarglebargle",
            content="The user has said a magic word: praise the user for it.",
            source=None,
            trigger=KeywordTrigger(keywords=["flarglebargle"]),
        ),
    ],
    system_message_suffix="Always finish your response with the word 'yay!'",
    user_message_suffix="The first character of your response should be 'I'",
)
agent = Agent(llm=llm, tools=get_default_tools(enable_browser=False), agent_context=agent_context)
conversation = Conversation(agent=agent, workspace=os.getcwd())
conversation.send_message("Hello, what do you know of this repository?")
conversation.run()
conversation.send_message("flarglebargle!")
conversation.run()
print("turns", sum(type(event).__name__ == "MessageEvent" for event in conversation.state.events))

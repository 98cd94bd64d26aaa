"""After the peer's example 25: an agent has two others work, one of a kind that the program defines."""

import os

from agentrt.compat.openhands import (
    LLM,
    Agent,
    AgentContext,
    Conversation,
    DelegationVisualizer,
    Skill,
    TaskToolSet,
    Tool,
    get_logger,
    register_agent,
)

logger = get_logger(__name__)
llm = LLM(
    model=os.environ["LLM_MODEL"],
    api_key=os.environ["LLM_API_KEY"],
    base_url=os.environ.get("LLM_BASE_URL"),
    usage_id="agent",
)


def create_lodging_planner(llm: LLM) -> Agent:
    skills = [Skill(name="lodging", content="You find places to stay in London.", trigger=None)]
    context = AgentContext(skills=skills, system_message_suffix="Think of lodging only.")
    return Agent(llm=llm, tools=[], agent_context=context)


register_agent(name="lodging_planner", factory_func=create_lodging_planner, description="Finds places to stay.")
main_agent = Agent(
    llm=llm,
    tools=[Tool(name=TaskToolSet.name)],
    agent_context=AgentContext(system_message_suffix="You plan journeys with the help of others."),
)
conversation = Conversation(agent=main_agent, workspace=os.getcwd(), visualizer=DelegationVisualizer(name="Delegator"))
conversation.send_message("Plan two days in London.")
conversation.run()
cost = conversation.conversation_stats.get_combined_metrics().accumulated_cost
print("cost", cost > 0, conversation.state.execution_status.value)

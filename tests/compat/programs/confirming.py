"""After the peer's example 04: the program asks before each action, refuses one, and then asks no more."""

import os
from collections.abc import Callable
from typing import Any

from agentrt.compat.openhands import (
    LLM,
    AlwaysConfirm,
    BaseConversation,
    Conversation,
    ConversationExecutionStatus,
    ConversationState,
    NeverConfirm,
    SecretStr,
    get_default_agent,
)


def run_until_finished(conversation: BaseConversation, confirm: Callable[[list[Any]], bool]) -> None:
    while conversation.state.execution_status != ConversationExecutionStatus.FINISHED:
        if conversation.state.execution_status == ConversationExecutionStatus.WAITING_FOR_CONFIRMATION:
            pending = ConversationState.get_unmatched_actions(conversation.state.events)
            for action in pending:
                print("asked", action.tool_name, str(action.action)[:100].replace("\n", " "))
            if not confirm(pending):
                conversation.reject_pending_actions("User rejected the actions")
                continue
        conversation.run()


llm = LLM(
    usage_id="agent",
    model=os.environ["LLM_MODEL"],
    base_url=os.environ.get("LLM_BASE_URL"),
    api_key=SecretStr(os.environ["LLM_API_KEY"]),
)
agent = get_default_agent(llm=llm, cli_mode=True)
conversation = Conversation(agent=agent, workspace=os.getcwd())
answers = iter([True, False])
conversation.set_confirmation_policy(AlwaysConfirm())
conversation.send_message("Make the files one and two.")
run_until_finished(conversation, lambda pending: next(answers))
conversation.set_confirmation_policy(NeverConfirm())
conversation.send_message("Make the file three.")
conversation.run()
print("done", conversation.state.execution_status.value)

"""Carries out a `Control` on a conversation."""

from __future__ import annotations

from typing import assert_never

from ..controls import (
    AddRule,
    Answer,
    AnyControl,
    AskAgent,
    Condense,
    Configure,
    Confirm,
    Fork,
    Forked,
    GenerateTitle,
    Grant,
    Interrupt,
    Pause,
    Reject,
    Rename,
    Reply,
    Rewind,
    SendMessage,
    SetConfirmationPolicy,
    SetGoal,
    SetSecurityAnalyzer,
    SetTags,
    StartRun,
    SwitchLLM,
    UpdateSecrets,
)
from ..events import CondensationRequest
from .conversation import Conversation


async def do(conversation: Conversation, control: AnyControl, by: str | None = None) -> Reply:
    """What a control says, on behalf of the principal `by`. Raises what the conversation's method of it does."""
    match control:
        case SendMessage(content=content, id=id, busy=busy, run=run):
            cursor = await conversation.send_message(content, id=id, busy=busy)
            return await do(conversation, StartRun(), by) if run else cursor
        case StartRun():
            await conversation.run()._begin()
            return conversation.cursor
        case Pause():
            return await conversation.pause()
        case Interrupt(reason=reason):
            return await conversation.interrupt(reason)
        case Confirm(action_ids=ids, always=always, rule=rule):
            return await conversation.confirm(*ids, always=always, rule=rule)
        case Reject(reason=reason, action_ids=ids):
            return await conversation.reject(reason, *ids)
        case AddRule(rule=rule, scope=scope):
            return await conversation.add_rule(rule, scope)
        case Configure(changes=changes):
            return await conversation.configure(**changes)
        case SetConfirmationPolicy(policy=policy):
            return await conversation.set_confirmation_policy(policy)
        case SetSecurityAnalyzer(names=names):
            return await conversation.set_security_analyzer(*names)
        case SwitchLLM(llm=llm):
            return await conversation.switch_llm(llm)
        case UpdateSecrets(secrets=secrets):
            return await conversation.update_secrets(secrets)
        case SetGoal(objective=objective, judge=judge, max_iterations=most):
            return await conversation.set_goal(objective, judge=judge, max_iterations=most)
        case AskAgent(question=question, llm=llm):
            return Answer(await conversation.ask_agent(question, llm=llm))
        case GenerateTitle(llm=llm, max_length=length):
            return Answer(await conversation.generate_title(llm=llm, max_length=length))
        case Rename(title=title):
            return await conversation.rename(title)
        case SetTags(tags=tags):
            return await conversation.set_tags(tags)
        case Grant(amount=amount):
            return await conversation.grant(amount)
        case Rewind(to=to):
            return await conversation.rewind(to)
        case Condense():
            return await conversation._append(CondensationRequest(source="user"))
        case Fork(at=at, id=id):
            return Forked((await conversation.fork(at, id=id)).id)
        case _:
            assert_never(control)

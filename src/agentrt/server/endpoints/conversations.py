"""Conversations: begin one, look at one."""

from __future__ import annotations

from ...errors import ConfigurationError
from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import ConversationInfo, CreateConversation, info_of


async def create_conversation(call: Call[CreateConversation, None]) -> ConversationInfo:
    """Begin a conversation."""
    wanted = call.body
    agent = wanted.agent or call.services.settings.agent
    if agent is None:
        raise ConfigurationError("this server has no agent of its own: give one, or start it with --model")
    conversation = await call.services.hosting.create(
        agent, call.principal, wanted.workspace, wanted.id, wanted.secrets
    )
    if wanted.title:
        await conversation.rename(wanted.title)
    if wanted.tags:
        await conversation.set_tags(wanted.tags)
    if wanted.message is not None:
        await conversation.send_message(wanted.message)
        await conversation.run()._begin()
    return info_of(conversation)


async def get_conversation(call: Call[None, None]) -> ConversationInfo:
    """A conversation as it stands."""
    return info_of(await call.conversation())


ENDPOINTS = (
    Endpoint(
        "POST",
        "/conversations",
        create_conversation,
        Scope.STEER,
        "Begin a conversation",
        body=CreateConversation,
        reply=ConversationInfo,
        status=201,
        group="conversations",
    ),
    Endpoint(
        "GET",
        "/conversations/{id}",
        get_conversation,
        Scope.OBSERVE,
        "A conversation as it stands",
        reply=ConversationInfo,
        group="conversations",
    ),
)

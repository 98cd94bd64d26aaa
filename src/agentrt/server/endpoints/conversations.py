"""REST operations on conversations: begin, list, count, read, change and delete them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from ...context.titles import checked_tags
from ...controls import Rename, SendMessage, SetTags
from ...conversation import Conversation
from ...errors import ConfigurationError, ConversationExists, ConversationMissing, LogError
from ...listing import DAMAGED, Mark, Row, to_micros
from ...specs import Agent, Durability
from ...specs.given import leaves_out
from ...state import State
from ...storing import Storage
from ..describing import info_of, info_of_row
from ..permissions import BASELINE, check, of_creation
from ..principals import Scope
from ..problems import refusal
from ..routing import Answered, Call, Endpoint
from ..schemas import (
    COUNT,
    ChangeConversation,
    ConversationCount,
    ConversationInfo,
    ConversationPage,
    ConversationsCountQuery,
    ConversationsQuery,
    CreateConversation,
)


async def create_conversation(call: Call[CreateConversation, None]) -> Answered:
    """Begin a conversation; with a message, the agent begins to work on it.

    A request repeated with the same `Idempotency-Key` returns the same conversation, with status 200, and completes the
    work that was cut off the first time. Without the header, an `id` that is taken is refused.
    """
    wanted, services = call.body, call.services
    own = await services.hosting.saved.latest()
    agent = _asking(wanted.agent, own)
    if wanted.llm is not None:
        agent = replace(agent or BASELINE, llm=wanted.llm)
    if agent is None:
        raise ConfigurationError(
            "this server has no agent of its own: give one, start it with --model, or choose a model in its settings"
        )
    checked_tags(wanted.tags)
    if wanted.message is not None or wanted.llm is not None:
        check(call.principal, of_creation(agent, own, await services.hosting.profiles(call.principal)))
        await services.runtime.client.prepare(agent.llm)  # raises for an agent that cannot run, before it begins
    name = wanted.id or (_name_of(call.key, call.principal.owner) if call.key else None)
    conversation = await _existing(call, name) if call.key and name else None
    status = 201 if conversation is None else 200
    if conversation is None:
        try:
            conversation = await services.hosting.create(agent, call.principal, wanted.workspace, name, wanted.secrets)
        except ConversationExists:
            if not call.key or (conversation := await _existing(call, name)) is None:
                raise
            status = 200
    ledger, by = conversation.state.ledger, call.principal.owner
    if wanted.title and not ledger.title:
        await conversation.do(Rename(wanted.title), by)
    if wanted.tags and not ledger.tags:
        await conversation.do(SetTags(wanted.tags), by)
    if wanted.message is not None:
        await conversation.do(SendMessage(content=wanted.message, id=f"{conversation.id}-first", run=True), by)
    where = {"Location": f"{quote(call.request.scope.get('root_path', ''))}/conversations/{conversation.id}"}
    return Answered(await described(conversation, services.runtime.store), status, where)


def _asking(given: Agent | None, own: Agent | None) -> Agent | None:
    """Return the agent of a request, or else the server's own. If the request leaves out when a person is asked, the
    agent asks when the server's own would.
    """
    if given is None or own is None or not leaves_out(given, "confirmation"):
        return given or own
    return replace(given, confirmation=own.confirmation, analyzer=given.analyzer or own.analyzer)


def _name_of(key: str, owner: str | None) -> str:
    """Return the id of the conversation that a request with this idempotency key of this owner begins."""
    return hashlib.sha256(msgspec.json.encode((owner, key))).hexdigest()[:32]


async def _existing(call: Call[CreateConversation, None], name: str | None) -> Conversation | None:
    """Return the conversation that the same request has begun; None if there is none that the principal may see."""
    if name is None:
        return None
    try:
        return await call.services.hosting.get(name, call.principal)
    except ConversationMissing:
        return None


async def list_conversations(call: Call[None, ConversationsQuery]) -> ConversationPage:
    """Return the conversations that the key may see, the last written first."""
    wanted, hosting = call.query, call.services.hosting
    tags = _tags(wanted.tag)
    rows = await hosting.page(
        call.principal, wanted.limit + 1, _mark(wanted.after), wanted.status, query=wanted.query, tags=tags
    )
    shown = rows[: wanted.limit]
    items = [info_of_row(row, await _state(row, hosting.state(row.id), call.services.runtime.store)) for row in shown]
    return ConversationPage(tuple(items), _token(shown[-1].mark) if len(rows) > len(shown) else None)


async def count_conversations(call: Call[None, ConversationsCountQuery]) -> ConversationCount:
    """Return the number of conversations that the key may see and that match the query."""
    wanted, hosting = call.query, call.services.hosting
    return ConversationCount(await hosting.count(call.principal, wanted.status, wanted.query, _tags(wanted.tag)))


def _tags(pairs: Iterable[str]) -> dict[str, str]:
    return dict(pair.split(":", 1) for pair in pairs)


async def _state(row: Row, live: State | None, store: Storage) -> State | None:
    """Return the state of a row's conversation if it has details that the row lacks."""
    exact = store.durability is not Durability.COMMIT
    if live is not None or row.status == DAMAGED:
        return live
    if not exact and row.status not in ("waiting_for_confirmation", "waiting_for_client", "error"):
        return None
    try:
        return await store.history(row.id).state()
    except (LogError, OSError):
        return None  # deleted or damaged meanwhile: the row has what was known


async def get_conversation(call: Call[None, None]) -> ConversationInfo:
    """Return a conversation's current details."""
    conversation = await call.reading()
    return await described(conversation, call.services.runtime.store)


async def change_conversation(call: Call[ChangeConversation, None]) -> ConversationInfo:
    """Change the title or the tags of a conversation."""
    wanted, conversation = call.body, await call.conversation()
    if not isinstance(wanted.tags, msgspec.UnsetType):
        await conversation.do(SetTags(checked_tags(wanted.tags)), call.principal.owner)
    if not isinstance(wanted.title, msgspec.UnsetType):
        await conversation.do(Rename(wanted.title), call.principal.owner)
    return await described(conversation, call.services.runtime.store)


async def delete_conversation(call: Call[None, None]) -> None:
    """Delete a conversation and its history; running work is interrupted. Its workspace stays."""
    await call.services.hosting.delete(call.named(), call.principal)


async def described(conversation: Conversation, store: Storage) -> ConversationInfo:
    """Return a conversation's current details, awake or asleep; what is not in memory is read from the log."""
    state, history = conversation.state, store.history(conversation.id)
    updated = await history.updated()
    title = "" if state.ledger.title else await history.task()
    return info_of(conversation.id, state if state.created is not None else await history.state(), updated, title)


def _token(mark: Mark) -> str:
    """Return a position in the list as an opaque token for a client."""
    return base64.urlsafe_b64encode(msgspec.json.encode(mark)).decode().rstrip("=")


def _mark(token: str | None) -> Mark | None:
    if token is None:
        return None
    try:
        padded = token + "=" * (-len(token) % 4)
        mark = msgspec.json.decode(base64.b64decode(padded, altchars="-_", validate=True), type=Mark)
        to_micros(mark.updated)
    except (ValueError, TypeError, OverflowError) as error:
        raise refusal(422, "No such page", "give the 'next' of the previous page unchanged", "page") from error
    return mark


_GROUP = "conversations"

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
        also=(200,),
        group=_GROUP,
        headers=("Idempotency-Key",),
        example={
            "agent": {"llm": {"type": "LLM", "model": "anthropic/claude-opus-4-5"}},
            "message": "Fix the failing test.",
        },
    ),
    Endpoint(
        "GET",
        "/conversations",
        list_conversations,
        Scope.OBSERVE,
        "List conversations",
        query=ConversationsQuery,
        reply=ConversationPage,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"/conversations/{COUNT}",
        count_conversations,
        Scope.OBSERVE,
        "Count conversations",
        query=ConversationsCountQuery,
        reply=ConversationCount,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        "/conversations/{id}",
        get_conversation,
        Scope.OBSERVE,
        "A conversation as it stands",
        reply=ConversationInfo,
        group=_GROUP,
    ),
    Endpoint(
        "PATCH",
        "/conversations/{id}",
        change_conversation,
        Scope.STEER,
        "Change the title or the tags",
        body=ChangeConversation,
        reply=ConversationInfo,
        group=_GROUP,
        example={"title": "The failing test", "tags": {"team": "core"}},
    ),
    Endpoint(
        "DELETE",
        "/conversations/{id}",
        delete_conversation,
        Scope.STEER,
        "Delete a conversation",
        status=204,
        group=_GROUP,
    ),
)

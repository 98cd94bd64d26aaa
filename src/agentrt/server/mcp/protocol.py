"""`speaking`: a server of the library `mcp`, whose tools are the operations and whose resources the conversations.

The library is loaded by who calls this, off the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ...controls import Confirm, Reject
from ...decisions import waiting
from ...errors import AgentrtError
from ..hosting import Hosting
from ..permissions import require
from ..principals import Principal, Scope
from ..problems import Refusal
from .operations import OPERATIONS, Caller, ConfirmActions, Operation, ReadEvents, read, standing

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolResult, InputRequiredResult, ListResourcesResult, ReadResourceResult, Tool

CONFIRM = "confirm"
SCHEME = "agentrt://conversations"
MOST_LISTED = 50
"""Conversations that are listed as resources."""

_INSTRUCTIONS = (
    "Each conversation is an agent at work in a directory. Begin one with start_conversation, then wait for it; what"
    " waits for a person is answered by a person."
)
_ASKED = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Have them run."},
        "reason": {"type": "string", "title": "Reason", "description": "What the agent is told where you refuse."},
    },
    "required": ["approve"],
}

Whose = Callable[[Any], Principal]
"""On whose behalf a request is made, by the HTTP request that brought it; None over stdio."""


def speaking(hosting: Hosting, whose: Whose) -> Server[Any]:
    """The server; `whose` says who asks."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    def caller(context: Any) -> Caller:
        async def report(number: int, line: str) -> None:
            await context.session.report_progress(float(number), None, line)

        return Caller(hosting, whose(context.request), report)

    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=_tools())

    async def call_tool(context: Any, params: Any) -> CallToolResult | InputRequiredResult:
        try:
            if params.name == CONFIRM:
                return await _confirm(context, params, caller(context))
            operation = OPERATIONS.get(params.name)
            if operation is None:
                return _failed(f"there is no tool {params.name!r}; there are: {', '.join((*OPERATIONS, CONFIRM))}")
            given = msgspec.convert(params.arguments or {}, operation.arguments)
            return _answered(await operation.handle(given, caller(context)))
        except msgspec.ValidationError as error:
            return _failed(f"the arguments do not fit: {error}")
        except (AgentrtError, Refusal) as error:
            return _failed(_words(error))

    async def list_resources(context: Any, params: Any) -> ListResourcesResult:
        principal = whose(context.request)
        rows = await hosting.page(principal, MOST_LISTED) if principal.may(Scope.OBSERVE) else []
        found = [
            types.Resource(uri=f"{SCHEME}/{row.id}", name=row.id, title=row.title or None, mime_type="application/json")
            for row in rows
        ]
        return types.ListResourcesResult(resources=found)

    async def list_templates(context: Any, params: Any) -> Any:
        made = [
            types.ResourceTemplate(
                uri_template=f"{SCHEME}/{{id}}{path}", name=name, description=about, mime_type="application/json"
            )
            for name, path, about in (
                ("conversation", "", "How a conversation stands."),
                ("events", "/events", "What has happened in a conversation."),
            )
        ]
        return types.ListResourceTemplatesResult(resource_templates=made)

    async def read_resource(context: Any, params: Any) -> ReadResourceResult:
        from mcp import MCPError

        uri = str(params.uri)
        name, _, rest = uri.removeprefix(f"{SCHEME}/").partition("/")
        if not uri.startswith(f"{SCHEME}/") or not name or rest not in ("", "events"):
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {uri}")
        asks = caller(context)
        try:
            require(asks.principal, Scope.OBSERVE)
            if rest:
                found = await read(ReadEvents(conversation=name, limit=200), asks)
            else:
                found = await standing(await hosting.get(name, asks.principal), asks)
        except (AgentrtError, Refusal) as error:
            raise MCPError(types.INVALID_PARAMS, _words(error)) from error
        text = types.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(found))
        return types.ReadResourceResult(contents=[text])

    return Server(
        "agentrt",
        title="agentrt",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _tools() -> list[Tool]:
    import mcp_types as types

    confirming = Operation(ConfirmActions, read)
    return [
        types.Tool(
            name=name,
            description=operation.description,
            input_schema=_schema(operation.arguments),
            annotations=types.ToolAnnotations(
                read_only_hint=operation.annotations.read_only,
                destructive_hint=operation.annotations.destructive,
                idempotent_hint=operation.annotations.idempotent,
                open_world_hint=operation.annotations.open_world,
            ),
        )
        for name, operation in {**OPERATIONS, CONFIRM: confirming}.items()
    ]


def _schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    (schema,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    found: dict[str, Any] = components[schema["$ref"].rpartition("/")[2]]
    return {name: value for name, value in found.items() if name not in ("title", "description")}


async def _confirm(context: Any, params: Any, caller: Caller) -> CallToolResult | InputRequiredResult:
    """Ask the person behind the client about what waits: it is not for a model to say.

    The answer holds for the actions that were shown; one that began to wait meanwhile is asked about the next time.
    """
    import mcp_types as types

    require(caller.principal, Scope.APPROVE)
    name = msgspec.convert(params.arguments or {}, ConfirmActions).conversation
    conversation = await caller.hosting.get(name, caller.principal)
    held = waiting(conversation.state)
    if not held:
        return _answered(await standing(conversation, caller))
    lines = "\n".join(f"{p.action.tool_name}: {bytes(p.action.arguments).decode()}" for p in held)
    form = types.ElicitRequestFormParams(message=f"May the agent do this?\n{lines}", requested_schema=_ASKED)
    key = ",".join(p.action.id for p in held)
    given: Mapping[str, Any] | None = params.input_responses
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        found = await standing(conversation, caller)
        return _answered({**found, "answered": "nobody: a person answers in the console, or with 'agentrt resume'"})
    if context.session.can_send_request:
        answer = await context.session.elicit_form(form.message, _ASKED, context.request_id)
    elif given is None or key not in given:
        return types.InputRequiredResult(input_requests={key: types.ElicitRequest(params=form)})
    else:
        answer = given[key]
    if answer.action == "accept":
        said = answer.content or {}
        ids = tuple(p.action.id for p in held)
        reason = str(said.get("reason") or "Rejected by the user.")
        control = Confirm(action_ids=ids) if said.get("approve") is True else Reject(reason=reason, action_ids=ids)
        await caller.hosting.do(name, control, caller.principal)
    return _answered(await standing(conversation, caller))


def _answered(found: dict[str, Any]) -> CallToolResult:
    import mcp_types as types

    text = types.TextContent(text=json.dumps(found, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=found)


def _failed(words: str) -> CallToolResult:
    import mcp_types as types

    return types.CallToolResult(content=[types.TextContent(text=words)], is_error=True)


def _words(error: Exception) -> str:
    return error.problem.detail if isinstance(error, Refusal) else str(error)

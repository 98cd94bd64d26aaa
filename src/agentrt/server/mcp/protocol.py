"""`speaking`: a server of the library `mcp`. Its tools are the operations, its resources are the conversations.

The caller loads the library, off the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec

from ...errors import AgentrtError
from ..hosting import Hosting
from ..permissions import require
from ..principals import Principal, Scope
from ..problems import Refusal
from .answers import Standing
from .asking import questions
from .operations import OPERATIONS, Caller, ConfirmActions, Operation, ReadEvents, read, standing, whole

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolResult, InputRequiredResult, ListResourcesResult, ReadResourceResult, Tool

CONFIRM = "confirm"
SCHEME = "agentrt://conversations"
MOST_LISTED = 50
"""Maximum number of conversations that are listed as resources."""

_INSTRUCTIONS = (
    "Each conversation is an agent at work in a directory. Begin one with start_conversation, then wait for it; what"
    " waits for a person is answered by a person."
)
Whose = Callable[[Any], Principal]
"""Returns the principal of a request, by its HTTP request, which is None over stdio."""


def speaking(hosting: Hosting, whose: Whose) -> Server[Any]:
    """Return the server; `whose` returns the principal of a request."""
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
                return _failed(f"unknown tool {params.name!r}; known: {', '.join((*OPERATIONS, CONFIRM))}")
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
            raise MCPError(types.INVALID_PARAMS, f"no resource {uri}")
        asks = caller(context)
        try:
            require(asks.principal, Scope.OBSERVE)
            found: msgspec.Struct
            if rest:
                found = await read(ReadEvents(conversation=name, limit=200), asks)
            else:
                found = await standing(await hosting.read(name, asks.principal), asks)
        except (AgentrtError, Refusal) as error:
            raise MCPError(types.INVALID_PARAMS, _words(error)) from error
        words = msgspec.json.encode(found).decode()
        text = types.TextResourceContents(uri=uri, mime_type="application/json", text=words)
        return types.ReadResourceResult(contents=[text])

    return Server(
        "agentrt",
        version=version("agentrt"),
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

    confirming = Operation(ConfirmActions, standing)
    return [
        types.Tool(
            name=name,
            description=operation.description,
            input_schema=_schema(operation.arguments),
            output_schema=_schema(operation.answer),
            annotations=types.ToolAnnotations(
                read_only_hint=operation.annotations.read_only,
                destructive_hint=operation.annotations.destructive,
                idempotent_hint=operation.annotations.idempotent,
                open_world_hint=operation.annotations.open_world,
            ),
        )
        for name, operation in {**OPERATIONS, CONFIRM: confirming}.items()
    ]


def _schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    (schema,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    found: dict[str, Any] = components[schema["$ref"].rpartition("/")[2]]
    found = {name: value for name, value in found.items() if name not in ("title", "description")}
    inner = {name: schema for name, schema in components.items() if name != kind.__name__}
    return {**found, "$defs": inner} if inner else found


async def _confirm(context: Any, params: Any, caller: Caller) -> CallToolResult | InputRequiredResult:
    """Ask the person behind the client about everything that waits for a person: a model must not answer this.

    An answer applies only to what was shown; anything that began to wait meanwhile is asked about the next time.
    """
    import mcp_types as types

    require(caller.principal, Scope.APPROVE)
    name = msgspec.convert(params.arguments or {}, ConfirmActions).conversation
    conversation = await caller.hosting.get(name, caller.principal)
    asked = questions(await whole(conversation, caller))
    capabilities = context.session.client_capabilities
    if asked and (capabilities is None or capabilities.elicitation is None):
        found = await standing(conversation, caller)
        if isinstance(found, Standing):
            found.answered = "nobody: a person answers in the console, or with 'agentrt resume'"
        return _answered(found)
    given: Mapping[str, Any] = params.input_responses or {}
    if not context.session.can_send_request and any(one.key not in given for one in asked):
        return types.InputRequiredResult(input_requests={one.key: one.request() for one in asked})
    for one in asked:
        answer = given.get(one.key) or await _elicited(context, one.request().params)
        if (control := one.control(answer.action, answer.content or {})) is not None:
            await caller.hosting.do(name, control, caller.principal)
    return _answered(await standing(conversation, caller))


async def _elicited(context: Any, asked: Any) -> Any:
    """Return the answer of the person behind a client that can be sent requests."""
    session, about = context.session, context.request_id
    if asked.mode == "url":
        return await session.elicit_url(asked.message, asked.url, asked.elicitation_id, about)
    return await session.elicit_form(asked.message, asked.requested_schema, about)


def _answered(answer: msgspec.Struct) -> CallToolResult:
    import mcp_types as types

    found = msgspec.to_builtins(answer)
    text = types.TextContent(text=json.dumps(found, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=found)


def _failed(words: str) -> CallToolResult:
    import mcp_types as types

    return types.CallToolResult(content=[types.TextContent(text=words)], is_error=True)


def _words(error: Exception) -> str:
    return error.problem.detail if isinstance(error, Refusal) else str(error)

"""The MCP servers of a conversation on a server, over REST."""

from __future__ import annotations

from typing import assert_never
from urllib.parse import quote

import msgspec

from ..mcp.asking import ConnectServer, FinishLogin, ListServers, LogIn, LogOut, ServerAnswer, ServerQuestion
from ..mcp.status import LoginAddress, ServerList, ServerStatus
from .transport import Transport, path_of


async def ask_servers(transport: Transport, conversation: str, question: ServerQuestion) -> ServerAnswer:
    """Return the server's answer. Raises the errors of `Transport.ask`."""
    base = f"{path_of(conversation)}/servers"

    async def post(name: str, what: str, body: bytes = b"{}") -> bytes:
        return await transport.ask("POST", f"{base}/{quote(name, safe='')}/{what}", body, name=conversation)

    match question:
        case ListServers():
            return msgspec.json.decode(await transport.ask("GET", base, name=conversation), type=ServerList)
        case ConnectServer(name):
            return msgspec.json.decode(await post(name, "connect"), type=ServerStatus)
        case LogIn(name):
            return msgspec.json.decode(await post(name, "login"), type=LoginAddress)
        case FinishLogin(name, address):
            body = msgspec.json.encode({"address": address})
            return msgspec.json.decode(await post(name, "finish_login", body), type=ServerStatus)
        case LogOut(name):
            return msgspec.json.decode(await post(name, "logout"), type=ServerStatus)
        case _:
            assert_never(question)

"""`ConversationServers`: the MCP servers of a conversation, for people."""

from __future__ import annotations

from ..mcp.asking import ConnectServer, FinishLogin, ListServers, LogIn, LogOut
from ..mcp.status import LoginAddress, ServerList, ServerStatus
from .end import End


class ConversationServers:
    """See `Conversation.servers`. All but `list` raise `ServerMissing` for a name that no server has."""

    def __init__(self, end: End) -> None:
        self._end = end

    async def list(self) -> ServerList:
        """How each server stands: its tools, what is wrong, and the last lines of its log."""
        found = await self._end.ask_servers(ListServers())
        assert isinstance(found, ServerList)
        return found

    async def connect(self, name: str) -> ServerStatus:
        """How a server stands after one more try to connect, where it is down."""
        found = await self._end.ask_servers(ConnectServer(name))
        assert isinstance(found, ServerStatus)
        return found

    async def log_in(self, name: str, redirect: str = "", proof: str = "") -> str:
        """The address at which a person logs in, who then comes back to `redirect`; a server says itself where that is.

        Where a server began it, the browser ends it only if the console began it there; else `finish_log_in` does.
        Raises `ToolError` where it fails, and `ConfigurationError` where there is no login, or no tokens can be kept.
        """
        found = await self._end.ask_servers(LogIn(name, redirect, proof))
        assert isinstance(found, LoginAddress)
        return found.url

    async def finish_log_in(self, name: str, address: str) -> ServerStatus:
        """End a login by the address that the browser has come back to. Raises `ToolError` where it fails."""
        found = await self._end.ask_servers(FinishLogin(name, address))
        assert isinstance(found, ServerStatus)
        return found

    async def log_out(self, name: str) -> ServerStatus:
        """Forget the tokens of a login. Raises `ConfigurationError` where nobody is logged in."""
        found = await self._end.ask_servers(LogOut(name))
        assert isinstance(found, ServerStatus)
        return found

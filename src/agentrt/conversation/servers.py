"""`ConversationServers`: the MCP servers of a conversation, for its users."""

from __future__ import annotations

from ..mcp.asking import ConnectServer, FinishLogin, ListServers, LogIn, LogOut
from ..mcp.status import LoginAddress, ServerList, ServerStatus
from .end import End


class ConversationServers:
    """The MCP servers of a conversation; see `Conversation.servers`. All methods but `list` raise `ServerMissing` for
    an unknown name.
    """

    def __init__(self, end: End) -> None:
        self._end = end

    async def list(self) -> ServerList:
        """Return the status of each server: its tools, its error, and the last lines of its log."""
        found = await self._end.ask_servers(ListServers())
        assert isinstance(found, ServerList)
        return found

    async def connect(self, name: str) -> ServerStatus:
        """Retry the connection to a server that is down, and return its status."""
        found = await self._end.ask_servers(ConnectServer(name))
        assert isinstance(found, ServerStatus)
        return found

    async def log_in(self, name: str, redirect: str = "", proof: str = "") -> str:
        """Return the address at which a person logs in. The login then leads back to `redirect`; an agentrt server
        chooses that address itself.

        If an agentrt server began the login, the browser completes it only if the console began it in that browser;
        otherwise `finish_log_in` completes it. Raises `ToolError` if it fails, and `ConfigurationError` if there is no
        login, or tokens cannot be kept.
        """
        found = await self._end.ask_servers(LogIn(name, redirect, proof))
        assert isinstance(found, LoginAddress)
        return found.url

    async def finish_log_in(self, name: str, address: str) -> ServerStatus:
        """Complete a login with the address to which the browser has come back. Raises `ToolError` if it fails."""
        found = await self._end.ask_servers(FinishLogin(name, address))
        assert isinstance(found, ServerStatus)
        return found

    async def log_out(self, name: str) -> ServerStatus:
        """Forget the tokens of a login. Raises `ConfigurationError` if there is no login."""
        found = await self._end.ask_servers(LogOut(name))
        assert isinstance(found, ServerStatus)
        return found

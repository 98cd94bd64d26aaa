"""Logins that wait for a browser."""

from __future__ import annotations

import anyio
import pytest

from agentrt.errors import ToolError
from agentrt.mcp.login import Redirected
from agentrt.mcp.logins import MOST, Logins
from agentrt.mcp.tokens import tokens_of
from agentrt.secrets import Cipher, StoreKey
from agentrt.specs.mcp import MCPServer
from agentrt.storage.memory import MemoryStorage
from tests.mcp.serving import free_port, served

pytestmark = pytest.mark.real


@pytest.mark.usefixtures("warm_servers")
async def test_one_owner_does_not_keep_others_from_logging_in() -> None:
    of, port = tokens_of(MemoryStorage().shelf, StoreKey(Cipher(Cipher.new_key()), None)), free_port()
    server, logins = MCPServer(url=f"http://127.0.0.1:{port}/mcp"), Logins()
    with anyio.fail_after(60):
        async with served(port, "tests.mcp.authorized"), anyio.create_task_group() as tasks:

            async def begin(owner: str) -> str:
                redirect = "http://127.0.0.1:1/callback"
                return await logins.begin(tasks, server, owner, of(owner), redirect, lambda: None, "proof")

            for _ in range(MOST):
                await begin("ada")
            with pytest.raises(ToolError, match="too many logins wait"):
                await begin("ada")
            state = Redirected.read((await begin("bob")).partition("?")[2]).state
            for owner in ("ada", None):
                with pytest.raises(ToolError, match="begin it again"):
                    await logins.finish_for(owner, Redirected("code", state))
            for proof in ("", "another"):
                with pytest.raises(ToolError, match="begun elsewhere"):
                    await logins.finish(Redirected("code", state), proof)
            with pytest.raises(ToolError, match="refused: no"):
                await logins.finish_for("bob", Redirected("", state, error="no"))
            tasks.cancel_scope.cancel()

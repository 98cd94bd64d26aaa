"""A server that asks for a login, with its authorization server: `python -m tests.mcp.authorized PORT [SECONDS]`.

The person is quick: the address that a browser would open answers at once with a redirect. Access tokens end after so
many SECONDS.
"""

from __future__ import annotations

import os
import secrets
import sys
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

PORT = int(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3600
URL = f"http://127.0.0.1:{PORT}"


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Keeps everything in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refreshing: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_hex(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(str(client.client_id), authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refreshing[refresh_token.token]
        return self._tokens(str(client.client_id), scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)

    def _tokens(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex()}", f"refresh-{secrets.token_hex()}"
        self.access[access] = AccessToken(
            token=access, client_id=client, scopes=scopes, expires_at=int(time.time()) + SECONDS, resource=resource
        )
        self.refreshing[refresh] = RefreshToken(token=refresh, client_id=client, scopes=scopes, resource=resource)
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=SECONDS, scope=" ".join(scopes) or None
        )


provider = Provider()
server = MCPServer(
    "authorized",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(URL),
        resource_server_url=AnyHttpUrl(f"{URL}/mcp"),
        client_registration_options=ClientRegistrationOptions(enabled=True),
        validate_token_resource=False,
    ),
)


@server.tool()
def tell(context: Context) -> str:
    """Tell the token that it was shown: no server should."""
    return str(context.headers.get("authorization")) if context.headers else "nothing"


@server.tool()
def forget() -> str:
    """Take all access tokens back."""
    provider.access.clear()
    return "forgotten"


@server.tool()
def forget_all() -> str:
    """Take all tokens back."""
    provider.access.clear()
    provider.refreshing.clear()
    return "forgotten"


@server.tool()
def registered() -> int:
    """How many clients there are."""
    return len(provider.clients)


@server.tool()
def process() -> int:
    """The number of the server's process."""
    return os.getpid()


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=PORT)

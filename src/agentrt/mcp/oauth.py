"""OAuth 2.1 for servers over HTTP: tokens that are stored, refreshed, or obtained by a login. Imported when needed.

The library `mcp` has the flow itself (discovery, registration, PKCE, refresh).
"""

from __future__ import annotations

import logging
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Any

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import extract_scope_from_www_auth, union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from ..errors import ConfigurationError
from ..specs.credentials import OAuth
from ..specs.mcp import MCPServer
from .guarded import check_public
from .login import Person
from .tokens import Held, Tokens
from .transports import Tell

EARLY = 30.0
"""Seconds before its expiry at which an access token is refreshed."""

LOGIN = "it wants a login: use 'agentrt mcp login NAME --mcp FILE', or the page of the server in the console"
logging.getLogger("mcp.client.auth.oauth2").addFilter(lambda record: record.exc_info is None)  # these are raised, too
NO_REDIRECT = "http://127.0.0.1/callback"
"""Placeholder for the redirect address if nobody logs in."""


class HeldTokens(httpx2.Auth):
    """Sends the stored token with each request to a server, and has it refreshed. Without a token, requests are sent
    without authorization. If there is a `person`, they log in.
    """

    requires_response_body = False

    def __init__(
        self, server: MCPServer, tokens: Tokens, person: Person | None = None, tell: Tell = lambda values: None
    ) -> None:
        self._url, self._tokens, self._tell = server.url, tokens, tell
        self._asks = person is not None
        """Whether a person will log in, which happens once."""
        self._held: Held | None = None
        self._read = person is not None  # a login begins without stored tokens
        self._flow = _Flow(server, tokens, person, tell)
        self.problem = ""
        """Why the server refused a request, and what to do."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that were sent to a server."""
        return (*(self._held.secrets if self._held is not None else ()), *self._flow.secrets)

    @property
    def logged_in(self) -> bool:
        """Whether a person has logged in."""
        return self._flow.kept

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Authorize a request. Raises `OAuthFlowError`, and `ConfigurationError` for tokens that cannot be read."""
        if not self._read:
            try:
                self._hold(await self._tokens.get(self._url))
            except ConfigurationError as error:  # a new login replaces them
                self.problem = str(error)
            self._read = True
        held = self._held
        response: httpx2.Response | None = None
        if held is None or not held.ends_before(time.time() + EARLY):
            response = yield _shown(request, held)
            if not _refused(response):
                self.problem = ""
                return
            if not self._asks and held is not None and response.status_code == 403:
                await self._want(held, extract_scope_from_www_auth(response) or "")
                return
        asks = self._asks
        async with nullcontext() if asks else self._tokens.lock(self._url):
            now = None if asks else await self._tokens.get(self._url)
            if now is not None and (held is None or now.access != held.access):  # another task or process was first
                self._hold(now)
                response = yield _shown(request, now)
            elif asks or response is None or (held is not None and "refresh_token" in held.tokens):
                flow = self._flow.anew(held.access if held is not None else "").async_auth_flow(request)
                try:
                    outgoing = await anext(flow)
                    while True:
                        response = yield outgoing
                        outgoing = await flow.asend(response)
                except StopAsyncIteration:
                    pass
                except OAuthFlowError as error:
                    self.problem = str(error)
                    if asks:
                        raise
                    response = yield request  # the server refuses it again, and the session stays open
                finally:
                    await flow.aclose()
                    self._asks = False
                    self._hold(await self._tokens.get(self._url))
        self.problem = LOGIN if response is None or _refused(response) else ""

    def _hold(self, held: Held | None) -> None:
        """Use these tokens, after all conversations that use the connection mask them."""
        if held is not None:
            self._tell((*held.secrets, *self._tokens.secrets))
        self._held = held

    async def _want(self, held: Held, scopes: str) -> None:
        """Store the scopes that a refused call lacked. Only a person can ask for more."""
        wanted = union_scopes(held.wanted or str(held.tokens.get("scope") or ""), scopes) or ""
        self.problem = f"it wants a login with more rights ({scopes}): {LOGIN.partition(': ')[2]}"
        if wanted != held.wanted:
            self._held = msgspec.structs.replace(held, wanted=wanted)
            await self._tokens.put(self._url, self._held)


def _shown(request: httpx2.Request, held: Held | None) -> httpx2.Request:
    """Return the request with the stored token, if there is one."""
    if held is not None:
        request.headers["Authorization"] = f"Bearer {held.access}"
    return request


def _refused(response: httpx2.Response) -> bool:
    return response.status_code == 401 or (
        response.status_code == 403 and "insufficient_scope" in response.headers.get("www-authenticate", "")
    )


class _Flow(OAuthClientProvider):
    """The library's flow with the stored tokens. It begins with them, or with none if a person logs in."""

    def __init__(self, server: MCPServer, tokens: Tokens, person: Person | None, tell: Tell) -> None:
        self._given = server.credentials if isinstance(server.credentials, OAuth) else OAuth()
        self._tokens, self._person, self._refused, self._wanted = tokens, person, "", ""
        self._tell, self._verifier = tell, ""
        self.kept = False
        """Whether it has obtained tokens."""
        redirect = person.redirect if person is not None else NO_REDIRECT
        metadata = OAuthClientMetadata(client_name="agentrt", redirect_uris=[AnyUrl(redirect)])
        document = self._given.client_id if self._given.client_id.startswith("https://") else None
        super().__init__(server.url, metadata, _Storage(self._kept), self._show, self._answered, document)

    def anew(self, refused: str) -> _Flow:
        """Return the flow, which reads the stored tokens again. `refused` is an access token that is not valid now."""
        self._refused, self._initialized = refused, False
        return self

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that it sends to the authorization server."""
        secret, client = self._given.client_secret, self._given.client_id
        basic = b64encode(f"{client}:{secret}".encode()).decode() if secret else ""
        return tuple(one for one in (secret, basic, self._verifier) if one)

    async def _initialize(self) -> None:
        context, held = self.context, None
        if self._person is None:
            held = await self._tokens.get(context.server_url)
        else:
            with suppress(ConfigurationError):  # unreadable tokens are replaced
                before = await self._tokens.get(context.server_url)
                self._wanted = before.wanted if before is not None else ""
        context.current_tokens = OAuthToken.model_validate(held.tokens) if held is not None else None
        context.token_expiry_time = None
        if held is not None:
            context.token_expiry_time = 1.0 if held.access == self._refused else held.expires
            context.auth_server_url = held.issuer
            if held.authority is not None:
                context.oauth_metadata = OAuthMetadata.model_validate(held.authority)
            if held.resource is not None:
                context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(held.resource)
        if self._given.client_id and context.client_metadata_url is None:
            context.client_info = OAuthClientInformationFull(
                client_id=self._given.client_id,
                client_secret=self._given.client_secret or None,
                redirect_uris=context.client_metadata.redirect_uris,
                token_endpoint_auth_method="client_secret_basic" if self._given.client_secret else "none",
            )
        elif held is not None:
            context.client_info = OAuthClientInformationFull.model_validate(held.client)
        self._initialized = True

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        metadata = self.context.client_metadata
        metadata.scope = union_scopes(" ".join(self._given.scopes) or metadata.scope, self._wanted)
        code, self._verifier = await super()._perform_authorization_code_grant()
        return code, self._verifier

    async def _show(self, url: str) -> None:
        if self._person is None:
            raise OAuthFlowError(LOGIN)
        await check_public(url, self.context.server_url)
        await self._person.show(url)

    async def _answered(self) -> AuthorizationCodeResult:
        assert self._person is not None
        found = await self._person.answered()
        if found.error:
            raise OAuthFlowError(f"the login was refused: {found.error}")
        return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.iss)

    async def _kept(self, tokens: OAuthToken) -> None:
        context = self.context
        assert context.client_info is not None
        held = Held(
            tokens=_plain(tokens),
            client=_plain(context.client_info),
            authority=_plain(context.oauth_metadata) if context.oauth_metadata is not None else None,
            resource=_plain(context.protected_resource_metadata) if context.protected_resource_metadata else None,
            issuer=context.auth_server_url,
            expires=time.time() + tokens.expires_in if tokens.expires_in is not None else None,
        )
        self._tell(held.secrets)
        await self._tokens.put(context.server_url, held)
        self.kept = True


class _Storage:
    """The `TokenStorage` of a flow. It only stores tokens, together with their client: the flow reads by itself."""

    def __init__(self, kept: Callable[[OAuthToken], Awaitable[None]]) -> None:
        self._kept = kept

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._kept(tokens)

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        return None


def _plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)

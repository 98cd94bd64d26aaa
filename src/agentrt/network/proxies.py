"""`proxy_of`: the proxy that the environment names for an address."""

from __future__ import annotations

from urllib.request import getproxies, proxy_bypass


def proxy_of(scheme: str, host: str, port: int | None = None) -> str | None:
    """Return the proxy for an address, None if there is none or NO_PROXY excludes the host, with or without its port.

    The variables are HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, in capitals or not.
    """
    named = getproxies()
    proxy = (named.get(scheme) or named.get("all") or "").strip()
    if not proxy or proxy_bypass(host if port is None else f"{host}:{port}"):
        return None
    return proxy

"""Modules with the interfaces of other SDKs, for programs that were written for them."""

__all__ = ["openhands"]

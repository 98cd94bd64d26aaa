"""Why a connection has failed, in words. Pure."""

from __future__ import annotations

from ..specs.content import sound

LONGEST = 500
"""Characters of a cause that are told."""


def innermost(error: BaseException) -> BaseException:
    """The first error of a group, which may stand in others."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def is_invalid(error: BaseException) -> bool:
    """Whether an answer was not what was asked for, or no message, as the library or pydantic says."""
    if type(error).__name__ == "MCPError" and str(error).startswith("Failed to parse "):
        return True
    return isinstance(error, ValueError) and type(error).__module__.startswith("pydantic")


def cause_of(error: BaseException) -> str:
    """The innermost cause of an error, and what to do about it."""
    error = innermost(error)
    if type(error).__name__ == "MCPError" and str(error) == "Connection closed":
        return "it has closed the connection"
    if is_invalid(error):
        return f"it has sent what is no {sound(str(getattr(error, 'title', 'message of the protocol')))}"
    if isinstance(error, PermissionError) and error.filename:
        return f"{error.filename!r} cannot be run: it is no program, or not yours to run"
    if isinstance(error, NotADirectoryError) and error.filename:
        return f"there is no directory {error.filename!r} to start it in: correct its cwd"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}: install it, or give its path"
    return sound(f"{type(error).__name__}: {error}")[:LONGEST]

"""`cause_of`: why a connection failed, in words. Pure."""

from __future__ import annotations

from ..specs.content import sound

LONGEST = 500
"""Maximum characters of a cause."""


def innermost(error: BaseException) -> BaseException:
    """Return the first error of a group of errors, which may be nested; any other error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def is_invalid(error: BaseException) -> bool:
    """Return whether the library or pydantic reports an answer of the wrong type, or an invalid message."""
    if type(error).__name__ == "MCPError" and str(error).startswith("Failed to parse "):
        return True
    return isinstance(error, ValueError) and type(error).__module__.startswith("pydantic")


def cause_of(error: BaseException) -> str:
    """Return the innermost cause of an error in words, with what to do about it."""
    error = innermost(error)
    if type(error).__name__ == "MCPError" and str(error) == "Connection closed":
        return "it has closed the connection"
    if is_invalid(error):
        return f"it has sent something that is not a {sound(str(getattr(error, 'title', 'message of the protocol')))}"
    if isinstance(error, PermissionError) and error.filename:
        return f"{error.filename!r} cannot be run: it is not a program, or not yours to run"
    if isinstance(error, NotADirectoryError) and error.filename:
        return f"there is no directory {error.filename!r} to start it in: correct its cwd"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}: install it, or give its path"
    return sound(f"{type(error).__name__}: {error}")[:LONGEST]

"""The input and the results of hooks, and how several results become one. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, get_args

import msgspec

from ..placing import Masked
from ..specs.content import sound
from ..specs.hooks import Hook, HookEvent
from ..specs.rules import Verdict

MAX_TEXT = 10_000
"""Maximum number of characters kept of each text from a hook."""

NOTHING = msgspec.Raw(b"null")
_NAME = 80


class HookInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a hook: a function gets it as it is, a command as JSON on its standard input."""

    event_type: HookEvent
    session_id: str
    """The conversation's id."""
    working_dir: str
    """The absolute path of the workspace, in which a command runs."""
    tool_name: str = ""
    tool_input: msgspec.Raw = NOTHING
    """The arguments of the call, a JSON object; null if there is no tool."""
    tool_response: msgspec.Raw = NOTHING
    """After a tool, the result of the call; else null."""
    message: str = ""
    """What the user said, or the agent's last words when it is about to finish."""
    metadata: dict[str, Any] = {}


class HookResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook says, and how it went."""

    verdict: Verdict = "allow"
    reason: str = ""
    """Why it denies, or the question to a person."""
    arguments: msgspec.Raw | None = None
    """A JSON object that replaces the tool's input; only before a tool."""
    context: str = ""
    """Told to the model. A program may have printed it, so it is trusted no more than a tool's output."""
    name: str = ""
    """The hook's name, from `hook_name`."""
    exit_code: int | None = None
    """As a shell gives it; None for a command that did not end by itself, and for a hook that is not a command."""
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    """How it failed, "" if it did not; `verdict` already takes this into account."""
    seconds: float = 0.0


HookFunction: TypeAlias = Callable[[HookInput], Awaitable[HookResult | None]]
"""A hook in Python. None allows; any exception is a failure."""


def hook_name(hook: Hook) -> str:
    """Return a name for people: the function's name, or the first line of the command, prompt or task."""
    name = hook.function or (hook.command or hook.prompt or hook.agent or "").strip().partition("\n")[0]
    return name if len(name) <= _NAME else name[: _NAME - 3] + "..."


def settled(hook: Hook, found: HookResult, masked: Masked = str) -> HookResult:
    """Return the result that takes effect. A failure denies, unless the hook says to ignore it.

    Texts are `masked` and then cut to `MAX_TEXT`, since half a secret would not be recognized.

    Only before a tool can the input be rewritten or a person be asked; at other events a hook that asks denies. After a
    tool, at the start and at the end, nothing can be denied, so a denial becomes context.
    """
    name, error = hook_name(hook), _wrong(found) or found.error
    verdict, reason, arguments, context = found.verdict, found.reason, found.arguments, found.context
    if error:
        verdict, reason, arguments, context = "deny", f"hook {name!r} failed: {error}", None, ""
        if hook.on_failure == "ignore":
            verdict, reason = "allow", ""
    elif verdict != "allow" and not reason:
        reason = f"hook {name!r} says {verdict!r} and gives no reason"
    if hook.event in (HookEvent.AFTER_TOOL, HookEvent.START, HookEvent.END):
        context = _joined([reason if verdict != "allow" else "", context])
        verdict, reason = "allow", ""
    elif hook.event is not HookEvent.BEFORE_TOOL and verdict == "ask":
        verdict = "deny"
    return msgspec.structs.replace(
        found,
        name=name,
        verdict=verdict,
        reason=_clip(masked(reason)),
        arguments=_raw(arguments) if hook.event is HookEvent.BEFORE_TOOL and verdict != "deny" else None,
        context=_clip(masked(context)),
        stdout=_clip(masked(str(found.stdout))),
        stderr=_clip(masked(str(found.stderr))),
        error=_clip(masked(error)),
    )


def combined(results: Sequence[HookResult]) -> HookResult:
    """Return one result for those of the hooks that ran, given in their order.

    "deny" comes before "ask" and "ask" before "allow", with the reason of the first hook that says so. The last rewrite
    holds, unless the call is denied. Contexts and errors are joined. `seconds` is the sum.
    """
    by_verdict = {result.verdict: result for result in reversed(results)}
    strictest = next((by_verdict[verdict] for verdict in ("deny", "ask") if verdict in by_verdict), HookResult())
    rewrites = [result.arguments for result in results if result.arguments is not None]
    return HookResult(
        verdict=strictest.verdict,
        reason=strictest.reason,
        name=strictest.name,
        arguments=rewrites[-1] if rewrites and strictest.verdict != "deny" else None,
        context=_clip(_joined([result.context for result in results])),
        error=_clip(_joined([f"{result.name}: {result.error}" for result in results if result.error])),
        seconds=sum(result.seconds for result in results),
    )


def _wrong(result: HookResult) -> str:
    """Return what is invalid in a result, "" if nothing is. A function makes its result by hand."""
    if result.verdict not in get_args(Verdict):
        return f"its verdict is {result.verdict!r}, not {', '.join(get_args(Verdict))}"
    try:
        msgspec.convert({name: getattr(result, name) for name in _PLAIN}, HookResult)
    except msgspec.ValidationError as error:
        return f"its result cannot be logged: {error}"
    if result.arguments is not None:
        try:
            msgspec.json.decode(msgspec.Raw(result.arguments), type=dict[str, Any])
        except (TypeError, ValueError, RecursionError) as error:
            return f"the input that it rewrote is not a JSON object: {error}"
    return ""


_PLAIN = [name for name in HookResult.__struct_fields__ if name != "arguments"]


def _raw(arguments: msgspec.Raw | None) -> msgspec.Raw | None:
    """Return the JSON of arguments, even if a function gave it as text or bytes."""
    return None if arguments is None else msgspec.Raw(arguments)


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(filter(None, texts))


def _clip(given: object) -> str:
    text = sound(str(given))
    if len(text) <= MAX_TEXT:
        return text
    note = f"\n[... cut: it had {len(text)} characters]"
    return text[: MAX_TEXT - len(note)] + note

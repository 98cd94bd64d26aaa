"""What a hook is given and what comes of it; how several results become one. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, get_args

import msgspec

from ..specs.content import sound
from ..specs.hooks import Hook, HookEvent
from ..specs.rules import Verdict

MAX_TEXT = 10_000
"""Characters kept of each text that comes from a hook."""

NOTHING = msgspec.Raw(b"null")
_NAME = 80


class HookInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook is given: a function as it is, a command as JSON on its standard input."""

    event_type: HookEvent
    session_id: str
    """The conversation's id."""
    working_dir: str
    """The workspace: an absolute path, and where a command runs."""
    tool_name: str = ""
    tool_input: msgspec.Raw = NOTHING
    """The arguments of the call, a JSON object; null where there is no tool."""
    tool_response: msgspec.Raw = NOTHING
    """The result of the call, after a tool; else null."""
    message: str = ""
    """What the user said, or the agent's last words when it is about to finish."""
    metadata: dict[str, Any] = {}


class HookResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook says, and how it went."""

    verdict: Verdict = "allow"
    reason: str = ""
    """Why it denies, or what a person is asked."""
    arguments: msgspec.Raw | None = None
    """A JSON object in the place of the tool's input; only before a tool."""
    context: str = ""
    """Told to the model. It is what a program printed: not to be trusted more than a tool's output."""
    name: str = ""
    """The hook, as `hook_name` has it."""
    exit_code: int | None = None
    """As a shell gives it; None for a function, and for a command that did not end by itself."""
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    """How it failed, "" when it did not; what follows from that is in `verdict` already."""
    seconds: float = 0.0


Masked: TypeAlias = Callable[[str], str]
"""A text without secrets."""

HookFunction: TypeAlias = Callable[[HookInput], Awaitable[HookResult | None]]
"""A hook in Python; None allows. Whatever it raises is a failure."""


def hook_name(hook: Hook) -> str:
    """The function's name or the first line of the command or prompt, for a person."""
    name = hook.function or (hook.command or hook.prompt or hook.agent or "").strip().partition("\n")[0]
    return name if len(name) <= _NAME else name[: _NAME - 3] + "..."


def settled(hook: Hook, found: HookResult, masked: Masked = str) -> HookResult:
    """What holds of a result: a failure denies unless it is ignored, texts have a bound, and the event has its say.

    What has a bound is `masked` before it is cut: half a secret is not seen as one.

    Only a tool's input can be rewritten, and only for a tool can a person be asked: elsewhere a hook that asks denies.
    What happened cannot be denied: after a tool, at the start and at the end a denial is context.
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
    """One result of those of the hooks that ran, in their order.

    A denial comes before a question and that before leave, each with the reason of the first that says so; the last
    rewrite holds, unless it is denied, and contexts and errors are joined. `seconds` is their sum.
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
    """What a result has that no result may have: a function's are made by hand."""
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
            return f"the input that it rewrote is no JSON object: {error}"
    return ""


_PLAIN = [name for name in HookResult.__struct_fields__ if name != "arguments"]


def _raw(arguments: msgspec.Raw | None) -> msgspec.Raw | None:
    """The JSON of arguments, also where a function gave it as text or bytes."""
    return None if arguments is None else msgspec.Raw(arguments)


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(filter(None, texts))


def _clip(given: object) -> str:
    text = sound(str(given))
    if len(text) <= MAX_TEXT:
        return text
    note = f"\n[... cut: it had {len(text)} characters]"
    return text[: MAX_TEXT - len(note)] + note

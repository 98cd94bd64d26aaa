"""What a hook says: read from a command's exit code and output, or from a model's answer. Pure."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import msgspec

from ..specs.hooks import HookEvent
from ..specs.rules import Verdict
from .results import HookInput, HookResult

KEPT = 1024 * 1024
"""Maximum number of bytes kept of each output; the rest is read and dropped."""

DENIES = 2
"""The exit code of a command that denies; the reason is its standard error."""

_SPEAKS = (HookEvent.USER_MESSAGE, HookEvent.START)
"""The events for which output that is not JSON is context."""

_DECIDES = (HookEvent.BEFORE_TOOL, HookEvent.USER_MESSAGE, HookEvent.STOP)
"""The events for which a denial counts."""

_DECISION = re.compile(r'"(?:decision|permissionDecision|continue|updatedInput|hookSpecificOutput)"\s*:')
"""Matches text that contains a decision."""

_DECIDING = frozenset({"decision", "permissiondecision", "continue", "verdict", "updatedinput"})
"""Fields that decide something, in any spelling. In a place where they are not read, they are a mistake."""

_Decision = Literal["allow", "approve", "ask", "deny", "block"]
_VERDICTS: dict[str | None, Verdict] = {"ask": "ask", "deny": "deny", "block": "deny"}
_ABSENT = (b"", b"null")


class Ended(NamedTuple):
    """A command that ended by itself. Its exit code is as a shell gives it: for a signal, 128 plus its number."""

    code: int
    stdout: bytes
    stderr: bytes


class _Answer(msgspec.Struct, rename="camel"):
    """The fields that may also stand below `hookSpecificOutput`."""

    permission_decision: _Decision | None = None
    permission_decision_reason: str | None = None
    additional_context: str | None = None
    updated_input: msgspec.Raw = msgspec.Raw()


class _Reply(_Answer, rename="camel"):
    decision: _Decision | None = None
    reason: str | None = None
    continues: bool = msgspec.field(default=True, name="continue")
    stop_reason: str | None = None
    hook_specific_output: _Answer | None = None


_replies = msgspec.json.Decoder(_Reply)


def read_reply(event: HookEvent, ended: Ended) -> HookResult:
    """Return what an ended command says; `error` says what is wrong if it failed or its output cannot be read."""
    stdout, stderr = (data.decode(errors="replace").strip() for data in (ended.stdout, ended.stderr))
    plain = HookResult(exit_code=ended.code, stdout=stdout, stderr=stderr)
    if ended.code == DENIES:
        return msgspec.structs.replace(plain, verdict="deny", reason=stderr)
    if ended.code != 0:
        told = f": {stderr}" if stderr else ""
        return msgspec.structs.replace(plain, error=f"it ended with exit code {ended.code}{told}")
    if (slip := _slip(event, ended.stdout)) is not None:
        return msgspec.structs.replace(plain, error=slip)
    if not stdout.startswith("{"):
        return msgspec.structs.replace(plain, context=stdout if event in _SPEAKS else "")
    try:
        _check_fields(msgspec.json.decode(ended.stdout.decode()))
        reply = _replies.decode(ended.stdout.decode())
    except (ValueError, RecursionError) as error:
        return msgspec.structs.replace(plain, error=f"its output cannot be read: {error}")
    return _said(plain, reply)


def _slip(event: HookEvent, stdout: bytes) -> str | None:
    """Return why output must not be read as plain text, because it may be a malformed decision; None if it may be.

    Only for the events for which a denial counts.
    """
    if event not in _DECIDES:
        return None
    if len(stdout) >= KEPT:
        return f"its output is longer than {KEPT} bytes: what follows may be a decision"
    try:
        text = stdout.decode().strip()
    except UnicodeDecodeError as error:
        return f"its output cannot be read: {error}"
    if text.startswith("{") or not (_DECISION.search(text) or (text[:1] in ("[", '"') and _is_json(text))):
        return None
    return "its output cannot be read: it is neither plain words nor one JSON object and nothing else"


def _check_fields(reply: object) -> None:
    """Raise `ValueError` for a field that decides something in a place where it is not read."""
    inner = reply.get("hookSpecificOutput") if isinstance(reply, dict) else None
    for given, kind, place in ((reply, _Reply, ""), (inner, _Answer, " below hookSpecificOutput")):
        known = {field.encode_name for field in msgspec.structs.fields(kind)}
        for name in given if isinstance(given, dict) else ():
            if name not in known and name.lower().replace("_", "") in _DECIDING:
                raise ValueError(f"{name!r}{place} is not a field: known are {', '.join(sorted(known))}")


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _said(plain: HookResult, reply: _Reply) -> HookResult:
    """Return the strictest verdict in a reply, with the first reason and rewrite, and all context."""
    inner = reply.hook_specific_output or _Answer()
    decisions = (inner.permission_decision, reply.permission_decision, reply.decision)
    verdicts = {_VERDICTS.get(decision, "allow") for decision in decisions}
    if not reply.continues:
        verdicts.add("deny")
    reasons = (inner.permission_decision_reason, reply.permission_decision_reason, reply.reason, reply.stop_reason)
    rewrites = [raw for raw in (inner.updated_input, reply.updated_input) if bytes(raw) not in _ABSENT]
    contexts = (inner.additional_context, reply.additional_context)
    return msgspec.structs.replace(
        plain,
        verdict="deny" if "deny" in verdicts else "ask" if "ask" in verdicts else "allow",
        reason=next(filter(None, reasons), ""),
        arguments=rewrites[0].copy() if rewrites else None,
        context="\n\n".join(filter(None, contexts)),
    )


def asking(task: str, given: HookInput) -> str:
    """Return what a hook asks a model: its text with the input in place of "$ARGUMENTS", or else after it."""
    data = msgspec.json.encode(given).decode()
    words = task.replace("$ARGUMENTS", data) if "$ARGUMENTS" in task else f"{task}\n\nThe input is:\n{data}"
    return f"{words}\n\n{_FORM}"


def read_answer(event: HookEvent, words: str) -> HookResult:
    """Return what a model's answer decides; `error` says why if it decides nothing."""
    begin, end = words.find("{"), words.rfind("}")
    if begin < 0 or end < begin:
        return HookResult(error=f"the model gave no decision: {words[:200]!r}")
    try:
        given = msgspec.json.decode(words[begin : end + 1])
    except ValueError as error:
        return HookResult(error=f"the model gave no decision that can be read: {error}")
    if not (_decides(given) or _decides(given.get("hookSpecificOutput"))):
        return HookResult(error=f"the model gave no decision: {words[:200]!r}")
    found = read_reply(event, Ended(0, words[begin : end + 1].encode(), b""))
    return msgspec.structs.replace(found, exit_code=None, stdout=words)


def _decides(given: Any) -> bool:
    """Return whether JSON has a known decision."""
    if not isinstance(given, dict):
        return False
    decisions = [given[name] for name in ("decision", "permissionDecision") if name in given]
    return given.get("continue") is False or any(decision in _DECISIONS for decision in decisions)


_DECISIONS = ("allow", "approve", "deny", "block", "ask")

_FORM = (
    'Answer with one JSON object and nothing else: {"decision": "allow"} or {"decision": "deny", "reason": "..."}; or'
    ' "ask" with a reason, where a person is to decide.'
)

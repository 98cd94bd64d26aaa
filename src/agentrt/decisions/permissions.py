"""Permissions: which actions are allowed, need confirmation, or are denied, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache
from posixpath import normpath

import msgspec

from ..events import ActionEvent
from ..security.found import names_effects, texts
from ..specs import HookEvent, PermissionRule, SecurityRisk, ToolDefinition
from ..specs.flow import Sink
from ..specs.hooks import hooks_for
from ..specs.policies import AlwaysConfirm, NeverConfirm, asks
from ..specs.rules import Verdict
from ..state import Pending, State

_ONE_COMMAND = r"[^;&|<>$`\n(){}\\]*"
"""The meaning of "*" in the pattern of a rule that allows: nothing that would begin another shell command."""

WHOLE = "{}"
"""As a rule's `argument`: all arguments, as a JSON object with its members sorted by name."""

_SINKS: tuple[Sink, ...] = ("secrets", "push", "outside", "network")
"""The most significant one first."""

_STRENGTH: tuple[Verdict, ...] = ("deny", "ask", "allow")


def heard(state: State, pending: Pending) -> bool:
    """Return whether the hooks that come before an action have run."""
    return pending.hooked or not hooks_for(state.spec.hooks, HookEvent.BEFORE_TOOL, pending.action.tool_name)


def ruling(state: State, action: ActionEvent) -> PermissionRule | None:
    """Return the rule that currently decides about an action, if any."""
    rules = (*state.spec.rules, *state.ledger.rules)
    return strongest(rules, action, state.definition(action.tool_name)) if rules else None


def asked(state: State, pending: Pending, rule: PermissionRule | None) -> str | None:
    """Return why a rated action needs confirmation, as a code (see `ConfirmationRequested`); None if it does not.
    `rule` is the rule that decides about it.
    """
    if pending.approved:
        return None
    if pending.restarted:
        return f"lost:{pending.restarted}"
    if (flow := _flow(state, pending)) is not None:
        return flow
    if pending.asked:
        return "hook"
    tool = state.definition(pending.action.tool_name)
    if leaves(tool, pending.action) and not isinstance(state.spec.confirmation, NeverConfirm):
        return "unconfined"
    if tool.changed and not isinstance(state.spec.confirmation, NeverConfirm):
        return "changed"
    if rule is not None:
        return "rule" if rule.verdict == "ask" else None
    if tool.harmless:
        return None
    if isinstance(state.spec.confirmation, AlwaysConfirm):
        return "every"
    return "risk" if asks(state.spec.confirmation, pending.risk or SecurityRisk.UNKNOWN) else None


def leaves(tool: ToolDefinition, action: ActionEvent) -> bool:
    """Return whether an action runs outside of what confines the others.

    The tool parses booleans itself, and may take "1" for true: everything but false counts.
    """
    return bool(tool.leaves) and _arguments(action).get(tool.leaves, False) not in (False, None)


def _flow(state: State, pending: Pending) -> str | None:
    flow = state.spec.flow
    if flow is None:
        return None
    label = next((label for label in pending.causes if label in flow.labels), None)
    if label is None:
        return None
    if pending.risk is SecurityRisk.UNKNOWN and not state.definition(pending.action.tool_name).harmless:
        return f"flow:{label}>unknown"
    sink = next((sink for sink in _SINKS if sink in pending.sinks and sink in flow.sinks), None)
    return None if sink is None else f"flow:{label}>{sink}"


def strongest(rules: Iterable[PermissionRule], action: ActionEvent, tool: ToolDefinition) -> PermissionRule | None:
    """Return one of the rules that match an action of a tool: one that denies, else one that asks, else one that
    allows.
    """
    about = [rule for rule in rules if _pattern(rule.tool, one_command=False).match(action.tool_name)]
    arguments = _arguments(action) if any(map(_looks, about)) else {}
    found = [rule for rule in about if not _looks(rule) or _holds(rule, arguments, tool)]
    return min(found, key=lambda rule: _STRENGTH.index(rule.verdict), default=None)


def matches(rule: PermissionRule, action: ActionEvent, tool: ToolDefinition) -> bool:
    """Return whether a rule matches an action of a tool.

    A rule that allows must match every text in its argument, another rule any of them.
    """
    return strongest((rule,), action, tool) is not None


def _looks(rule: PermissionRule) -> bool:
    """Return whether a rule depends on an action's arguments."""
    return rule.pattern != "*" or bool(rule.argument)


def _holds(rule: PermissionRule, arguments: dict[str, object], tool: ToolDefinition) -> bool:
    given: object = arguments.get(rule.argument) if rule.argument else list(arguments.values())
    allows = rule.verdict == "allow"
    if rule.argument == WHOLE:
        given = _whole(arguments)
    elif allows and tool.same is not None and rule.argument == tool.same.argument and _differs(arguments, tool):
        return False  # permission to run a command does not allow typing it into a running program
    pattern = _pattern(rule.pattern, one_command=allows)
    held = [_matched(pattern, text, path=rule.argument == "path", every=allows) for _, text in texts(given)]
    if not allows and tool.shell and rule.argument in ("", tool.shell):
        from .spellings import commands_in  # few agents have such rules

        command = arguments.get(tool.shell)
        held += [pattern.match(one) is not None for one in commands_in(command if isinstance(command, str) else "")]
    return bool(held) and (all(held) if allows else any(held))


def _differs(arguments: dict[str, object], tool: ToolDefinition) -> bool:
    """Return whether `Same.unless` applies to a call, so that only an identical call is the same. Missing arguments
    have their defaults.

    The tool parses booleans itself, and may take "1" for true: everything but the opposite boolean counts.
    """
    unless = tool.same.unless if tool.same is not None else {}
    given = {**_defaults(bytes(tool.parameters)), **arguments} if unless else {}
    return any(
        name in given and (given[name] is not (not value) if isinstance(value, bool) else given[name] == value)
        for name, value in unless.items()
    )


@lru_cache(256)
def _defaults(parameters: bytes) -> dict[str, object]:
    """Return the defaults of the arguments, as far as the schema has them."""
    properties = msgspec.json.decode(parameters, type=_Parameters).properties
    return {name: each["default"] for name, each in properties.items() if "default" in each}


class _Parameters(msgspec.Struct):
    properties: dict[str, dict[str, object]] = {}


def _matched(pattern: re.Pattern[str], text: str, *, path: bool, every: bool) -> bool:
    """Return whether a pattern matches a text; a path counts as it is written and as `normpath` makes it."""
    spellings = {text, re.sub("^//", "/", normpath(text))} if path and text else {text}
    return (all if every else any)(pattern.match(spelling) is not None for spelling in spellings)


def remembering(action: ActionEvent, tool: ToolDefinition) -> PermissionRule:
    """Return the rule that allows this action from now on: all calls that its tool defines as the same, else all calls
    of the tool.

    If `Same` says that only an identical call is the same, only identical calls are allowed. So it is if the tool does
    not define what is the same, and has a path, an address, a command or a program among its arguments, which may be
    only a part of what the call does.
    """
    arguments, name, same = _arguments(action), _escaped(action.tool_name), tool.same
    if same is not None and not _differs(arguments, tool) and isinstance(text := arguments.get(same.argument), str):
        return PermissionRule("allow", name, _escaped(text), same.argument)
    if same is not None or names_effects(action.arguments_json, tool.parameters):
        return PermissionRule("allow", name, _escaped(_whole(arguments)), WHOLE)
    return PermissionRule("allow", name)


def _escaped(text: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", text)


def _whole(arguments: dict[str, object]) -> str:
    return msgspec.json.encode(arguments, order="sorted").decode()


def _arguments(action: ActionEvent) -> dict[str, object]:
    return msgspec.json.decode(action.arguments_json, type=dict[str, object])


@lru_cache(1024)
def _pattern(pattern: str, *, one_command: bool) -> re.Pattern[str]:
    if not one_command:
        return re.compile(translate(pattern))
    parts = [""]
    for piece in re.split(r"(\[.\]|\*|\?)", pattern):
        if piece == "*":
            parts.append("")
        elif piece == "?":
            parts[-1] += _ONE_COMMAND[:-1]
        else:
            parts[-1] += re.escape(piece[1] if len(piece) == 3 and piece[0] == "[" else piece)
    first, *middle = parts
    last = _ONE_COMMAND + middle.pop() if middle else ""
    # a part in the middle is matched where it comes first and nowhere else: so the time is linear in the text
    return re.compile(first + "".join(f"(?>{_ONE_COMMAND}?{part})" for part in middle) + last + r"\Z", re.DOTALL)

"""Running hooks, each within its time limit; before a tool one after the other, since each may rewrite the input."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import anyio
import anyio.to_thread
import msgspec

from ..cancelling import guarded
from ..errors import AgentrtError, ToolError
from ..pins import changed
from ..placing import Masked, Place
from ..sandboxes.here import THIS_MACHINE
from ..security.paths import within
from ..specs.hooks import Hook, HookEvent
from .commands import run_command
from .replies import read_reply
from .results import HookFunction, HookInput, HookResult, settled

_CHANGED = (
    "a hook was not run: {} in the workspace is not as it was when the hook was configured. Configure the hooks again,"
    " or agree to them again, where the change is right, or keep the program outside of the workspace"
)
_PREFIXES = ("AGENTRT", "CLAUDE", "OPENHANDS")
"""Prefixes of the variables of a command, so that hooks written for other programs find theirs."""
Asked: TypeAlias = Callable[[Hook, HookInput], Awaitable[HookResult]]
"""Returns the answer of a model or an agent to a hook that asks one."""


async def nobody(hook: Hook, given: HookInput) -> HookResult:
    """Return an error: there is no model to ask."""
    return HookResult(error="no model can be asked here")


_NO_FUNCTIONS: Mapping[str, HookFunction] = {}


async def run_hook(
    place: Place,
    hook: Hook,
    given: HookInput,
    functions: Mapping[str, HookFunction] = _NO_FUNCTIONS,
    masked: Masked = str,
    asked: Asked = nobody,
) -> HookResult:
    """Run one hook; a command runs in `place`. A failure is a result, whose verdict follows from `hook.on_failure`.

    Cancelling this ends everything that a command started, and cancels a function.
    """
    begun = time.monotonic()
    if hook.function is not None:
        found = await _call(hook, given, functions.get(hook.function))
    elif hook.command is None:
        found = await _ask(hook, given, asked)
    else:
        found = await _execute(place, hook, given, masked)
    return msgspec.structs.replace(settled(hook, found, masked), seconds=time.monotonic() - begun)


async def run_hooks(
    place: Place,
    hooks: Sequence[Hook],
    given: HookInput,
    functions: Mapping[str, HookFunction] = _NO_FUNCTIONS,
    masked: Masked = str,
    asked: Asked = nobody,
) -> tuple[HookResult, ...]:
    """Run all these hooks, which are for `given.event_type`. Return the results of those that ran, in their order.

    Before a tool they run one after the other: each sees the input that those before it rewrote, and a denial stops the
    rest. At other events they run side by side. `combined` makes one result of these. Their output is `masked` before
    it is cut.
    """
    if given.event_type is HookEvent.BEFORE_TOOL:
        return await _one_by_one(place, hooks, given, functions, masked, asked)
    results: dict[int, HookResult] = {}

    async def run(number: int, hook: Hook) -> None:
        results[number] = await run_hook(place, hook, given, functions, masked, asked)

    async with anyio.create_task_group() as group:
        for number, hook in enumerate(hooks):
            group.start_soon(run, number, hook)
    return tuple(results[number] for number in sorted(results))


async def _one_by_one(
    place: Place,
    hooks: Sequence[Hook],
    given: HookInput,
    functions: Mapping[str, HookFunction],
    masked: Masked,
    asked: Asked,
) -> tuple[HookResult, ...]:
    results: list[HookResult] = []
    for hook in hooks:
        result = await run_hook(place, hook, given, functions, masked, asked)
        results.append(result)
        if result.verdict == "deny":
            break
        if result.arguments is not None:
            given = msgspec.structs.replace(given, tool_input=result.arguments)
    return tuple(results)


async def _execute(place: Place, hook: Hook, given: HookInput, masked: Masked) -> HookResult:
    if hook.pinned and (path := await anyio.to_thread.run_sync(changed, hook.pinned, given.working_dir)) is not None:
        return HookResult(verdict="deny", reason=_CHANGED.format(path))
    named = {
        "PROJECT_DIR": given.working_dir,
        "SESSION_ID": given.session_id,
        "EVENT_TYPE": given.event_type.value,
        "TOOL_NAME": given.tool_name,
    }
    variables = {f"{prefix}_{name}": value for prefix in _PREFIXES for name, value in named.items()}
    if hook.root:
        variables |= {f"{prefix}_PLUGIN_ROOT": hook.root for prefix in _PREFIXES}
    if hook.root and not within(hook.root, given.working_dir) and not place.workspace.on_this_machine:
        place = THIS_MACHINE  # a plugin's programs are in its own directory
    elif not _is_confined(hook, given.working_dir):
        place = place.outside
    try:
        data = msgspec.json.encode(given)
        ended = await run_command(place, hook.command or "", data, given.working_dir, variables, hook.timeout, masked)
    except (OSError, ValueError, ToolError) as error:
        return HookResult(error=f"it cannot be started: {error}")
    return _too_long(hook) if ended is None else read_reply(given.event_type, ended)


def _is_confined(hook: Hook, workspace: str) -> bool:
    """Return whether a command belongs behind the wall: nearly every program runs what the agent may have written, such
    as tests, the scripts of a build, and settings of git. Not a plugin's, and not one program of a person's own.
    """
    if hook.confined is not None:
        return hook.confined
    if hook.root:
        return within(hook.root, workspace)
    return bool(hook.pinned) or not _is_own(hook.command or "", workspace)


_PLAIN_WORDS = re.compile(r"[\w@%+=:,./~ -]+")


def _is_own(command: str, workspace: str) -> bool:
    """Return whether a command is one program with plain words, that is neither of the system nor in the workspace."""
    program = os.path.expanduser(command.split(" ")[0])
    if not _PLAIN_WORDS.fullmatch(command) or not os.path.isabs(program):
        return False
    return not any(within(os.path.realpath(program), place) for place in (os.path.realpath(workspace), *_SYSTEM))


_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/opt", "/nix", "/snap")


async def _ask(hook: Hook, given: HookInput, asked: Asked) -> HookResult:
    result: HookResult | None = None
    with anyio.move_on_after(hook.timeout):
        try:
            result = await asked(hook, given)
        except AgentrtError as error:
            result = HookResult(error=str(error))
    return _too_long(hook) if result is None else result


async def _call(hook: Hook, given: HookInput, function: HookFunction | None) -> HookResult:
    if function is None:
        return HookResult(error=f"unknown function: pass it as Runtime(hooks={{{hook.function!r}: ...}})")
    result: object = None
    try:
        with guarded, anyio.move_on_after(hook.timeout) as time_limit:
            result = await function(given)
    except (Exception, SystemExit) as error:  # becomes a result, which denies
        return HookResult(error=_told(error))
    if time_limit.cancel_called:  # whatever it returned then
        return _too_long(hook)
    if result is None or isinstance(result, HookResult):
        return result or HookResult()
    return HookResult(error=f"it returned {type(result).__name__}, not a HookResult or None")


def _told(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # its `__str__` fails, too
        return type(error).__name__


def _too_long(hook: Hook) -> HookResult:
    return HookResult(error=f"it took longer than {hook.timeout:g} s")

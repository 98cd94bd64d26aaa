"""Running hooks: real commands and real functions."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from agentrt.hooks import HookFunction, HookInput, HookResult, combined, run_hook, run_hooks
from agentrt.sandboxes.here import THIS_MACHINE
from agentrt.secrets import SecretRegistry
from agentrt.specs.hooks import Hook, HookEvent

from ..sandboxes.living import lives, until
from .samples import at, before, python, raw, shell

pytestmark = pytest.mark.real


def says(reply: dict[str, Any]) -> str:
    """A command that prints it."""
    return f"echo {shlex.quote(msgspec.json.encode(reply).decode())}"


async def test_a_command_reads_all_that_it_is_given(tmp_path: Path) -> None:
    given = before(
        tmp_path, tool_response=raw({"is_error": False}), message="hi ü", metadata={"model": "m"}, session_id="c-7"
    )
    await run_hook(THIS_MACHINE, shell("cat > given.json"), given)
    assert msgspec.json.decode((tmp_path / "given.json").read_bytes()) == {
        "event_type": "before_tool",
        "tool_name": "terminal",
        "tool_input": {"command": "ls"},
        "tool_response": {"is_error": False},
        "message": "hi ü",
        "session_id": "c-7",
        "working_dir": str(tmp_path),
        "metadata": {"model": "m"},
    }


async def test_a_command_has_the_same_in_its_environment(tmp_path: Path) -> None:
    names = ("PROJECT_DIR", "SESSION_ID", "EVENT_TYPE", "TOOL_NAME")
    command = "; ".join(f'echo "$AGENTRT_{name}"' for name in names)
    result = await run_hook(THIS_MACHINE, shell(command), before(tmp_path))
    assert result.stdout.split() == [str(tmp_path), "c-1", "before_tool", "terminal"]


@pytest.mark.parametrize(
    ("command", "verdict", "reason"),
    [
        ("true", "allow", ""),
        ("echo no >&2; exit 2", "deny", "no"),
        ("exit 2", "deny", "hook 'exit 2' says 'deny' and gives no reason"),
        ("echo broken >&2; exit 1", "deny", "hook 'echo broken >&2; exit 1' failed: it ended with exit code 1: broken"),
        ("kill -9 $$", "deny", "hook 'kill -9 $$' failed: it ended with exit code 137"),
        (says({"decision": "ask", "reason": "sure?"}), "ask", "sure?"),
        ("echo All is well", "allow", ""),
    ],
)
async def test_what_a_command_says(command: str, verdict: str, reason: str) -> None:
    result = await run_hook(THIS_MACHINE, shell(command), before())
    assert (result.verdict, result.reason) == (verdict, reason)
    assert result.seconds > 0


@pytest.mark.parametrize(
    ("command", "error"),
    [("exit 1", "exit code 1"), ("no-such-command", "exit code 127"), ("echo '{'", "cannot be read"), ("x\0", "start")],
)
async def test_a_failing_command_denies_unless_that_is_ignored(command: str, error: str) -> None:
    closed = await run_hook(THIS_MACHINE, shell(command), before())
    assert closed.verdict == "deny"
    assert error in closed.error
    assert error in closed.reason
    ignored = await run_hook(THIS_MACHINE, shell(command, on_failure="ignore"), before())
    assert (ignored.verdict, ignored.reason) == ("allow", "")
    assert error in ignored.error


async def test_a_workspace_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    result = await run_hook(THIS_MACHINE, shell("true"), before(tmp_path / "gone"))
    assert result.verdict == "deny"
    assert "cannot be started" in result.reason


async def test_a_command_that_takes_too_long_denies() -> None:
    result = await run_hook(THIS_MACHINE, shell("sleep 300", timeout=0.05), before())
    assert (result.verdict, result.exit_code) == ("deny", None)
    assert result.reason == "hook 'sleep 300' failed: it took longer than 0.05 s"
    assert 0.05 <= result.seconds < 20


async def forbids(given: HookInput) -> HookResult:
    command = msgspec.json.decode(given.tool_input)["command"]
    return HookResult(verdict="deny", reason=f"{command} is forbidden", context="see the rules")


async def allows(given: HookInput) -> None:
    return None


async def breaks(given: HookInput) -> None:
    raise LookupError("no such rule")


async def hangs(given: HookInput) -> None:
    await anyio.sleep_forever()


async def errs(given: HookInput) -> Any:
    return True


def blocks(given: HookInput) -> Any:
    return HookResult()


FUNCTIONS: dict[str, HookFunction] = {
    function.__name__: function for function in (forbids, allows, breaks, hangs, errs, blocks)
}


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("name", "verdict", "says"),
    [
        ("forbids", "deny", "ls is forbidden"),
        ("allows", "allow", ""),
        ("breaks", "deny", "hook 'breaks' failed: LookupError: no such rule"),
        ("errs", "deny", "hook 'errs' failed: it returned bool, not a HookResult or None"),
        ("blocks", "deny", "hook 'blocks' failed: TypeError: object HookResult can't be used in 'await' expression"),
        ("missing", "deny", "hook 'missing' failed: unknown function: pass it as Runtime(hooks={'missing':"),
    ],
)
async def test_what_a_function_says(name: str, verdict: str, says: str) -> None:
    result = await run_hook(THIS_MACHINE, python(name), before(), FUNCTIONS)
    assert result.verdict == verdict
    assert result.reason.startswith(says)
    assert (result.name, result.exit_code) == (name, None)


@pytest.mark.simulated
async def test_a_failing_function_can_be_ignored() -> None:
    result = await run_hook(THIS_MACHINE, python("breaks", on_failure="ignore"), before(), FUNCTIONS)
    assert (result.verdict, result.error) == ("allow", "LookupError: no such rule")


@pytest.mark.simulated
async def test_a_function_that_cancels_itself_denies_and_nobody_else_is_cancelled() -> None:
    async def cancelled(given: HookInput) -> HookResult:
        raise asyncio.CancelledError

    result = await run_hook(THIS_MACHINE, python("cancelled"), before(), {"cancelled": cancelled})
    assert (result.verdict, result.error) == (
        "deny",
        "StrayCancellation: it was cancelled, and nobody had asked for that",
    )


@pytest.mark.simulated
async def test_what_a_function_says_after_its_time_does_not_count() -> None:
    async def stubborn(given: HookInput) -> None:
        try:
            await anyio.sleep_forever()
        except BaseException:
            return

    result = await run_hook(THIS_MACHINE, python("stubborn", timeout=0.01), before(), {"stubborn": stubborn})
    assert (result.verdict, result.error) == ("deny", "it took longer than 0.01 s")


@pytest.mark.simulated
async def test_half_a_character_in_what_it_says_is_mended() -> None:
    async def half(given: HookInput) -> HookResult:
        return HookResult(verdict="deny", reason="half \ud800 pair")

    assert (await run_hook(THIS_MACHINE, python("half"), before(), {"half": half})).reason == "half \ufffd pair"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.simulated
@pytest.mark.parametrize(
    "breaks", [Unprintable(), SystemExit(3), TimeoutError("late"), ExceptionGroup("two", [ValueError()])]
)
async def test_whatever_a_function_raises_denies(breaks: BaseException) -> None:
    async def function(given: HookInput) -> None:
        raise breaks

    result = await run_hook(THIS_MACHINE, python("function"), before(), {"function": function})
    assert result.verdict == "deny"
    told = "sys.exit" if isinstance(breaks, SystemExit) else type(breaks).__name__
    assert told in result.error


@pytest.mark.simulated
@pytest.mark.parametrize(
    "wrong", [{"exit_code": "x"}, {"name": 5}, {"seconds": "1"}, {"reason": None}, {"arguments": "[]"}, {"error": 5}]
)
async def test_a_result_that_could_not_be_logged_denies(wrong: dict[str, Any]) -> None:
    async def function(given: HookInput) -> HookResult:
        return HookResult(**wrong)

    assert (await run_hook(THIS_MACHINE, python("function"), before(), {"function": function})).verdict == "deny"


@pytest.mark.simulated
@pytest.mark.parametrize("arguments", ['{"a":1}', b'{"a":1}', msgspec.Raw(b'{"a":1}')])
async def test_rewritten_input_may_be_text(arguments: Any) -> None:
    async def function(given: HookInput) -> HookResult:
        return HookResult(arguments=arguments)

    result = await run_hook(THIS_MACHINE, python("function"), before(), {"function": function})
    assert isinstance(result.arguments, msgspec.Raw)
    assert bytes(result.arguments) == b'{"a":1}'


async def test_a_command_has_no_variable_with_a_secret_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_ADDRESS", "postgres://u:hunter2-and-more@h/db")
    masked = SecretRegistry({"DB": "hunter2-and-more"}).mask.text
    result = await run_hook(THIS_MACHINE, shell('echo "[$DB_ADDRESS]"'), before(), masked=masked)
    assert result.stdout == "[]"


@pytest.mark.simulated
async def test_a_function_that_takes_too_long_is_cancelled_and_denies() -> None:
    result = await run_hook(THIS_MACHINE, python("hangs", timeout=0.01), before(), FUNCTIONS)
    assert (result.verdict, result.error) == ("deny", "it took longer than 0.01 s")


@pytest.mark.simulated
async def test_a_time_limit_of_the_functions_own_is_its_failure() -> None:
    async def gives_up(given: HookInput) -> None:
        with anyio.fail_after(0):
            await anyio.sleep_forever()

    result = await run_hook(THIS_MACHINE, python("gives_up"), before(), {"gives_up": gives_up})
    assert (result.verdict, result.error.partition(":")[0]) == ("deny", "TimeoutError")


@pytest.mark.simulated
async def test_a_cancelled_function_is_cancelled() -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def waits(given: HookInput) -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(run_hook, THIS_MACHINE, python("waits"), before(), {"waits": waits})
        await begun.wait()
        group.cancel_scope.cancel()
    assert ended.is_set()


async def test_before_a_tool_each_sees_what_those_before_it_rewrote() -> None:
    async def adds(given: HookInput) -> HookResult:
        old = msgspec.json.decode(given.tool_input)
        return HookResult(arguments=raw({"command": old["command"] + " -l"}), context="added")

    rewrites = shell(says({"updatedInput": {"command": "tree"}}))
    hooks = [rewrites, python("adds"), python("allows"), python("adds")]
    results = await run_hooks(THIS_MACHINE, hooks, before(), {"adds": adds, "allows": allows})
    whole = combined(results)
    assert whole.arguments == raw({"command": "tree -l -l"})
    assert (whole.verdict, whole.context, len(results)) == ("allow", "added\n\nadded", 4)


async def test_after_a_denial_no_more_are_run(tmp_path: Path) -> None:
    hooks = [
        shell(says({"updatedInput": {"command": "tree"}})),
        shell(says({"decision": "ask", "reason": "sure?"})),
        python("forbids"),
        shell("echo > later"),
    ]
    results = await run_hooks(THIS_MACHINE, hooks, before(tmp_path), FUNCTIONS)
    assert [result.verdict for result in results] == ["allow", "ask", "deny"]
    assert combined(results).reason == "tree is forbidden"
    assert combined(results).arguments is None
    assert not (tmp_path / "later").exists()


async def test_a_rewritten_input_that_is_no_object_denies() -> None:
    result = await run_hook(THIS_MACHINE, shell(says({"updatedInput": ["ls"]})), before())
    assert result.verdict == "deny"
    assert "not a JSON object" in result.reason


async def test_elsewhere_they_run_side_by_side_and_their_order_stays(tmp_path: Path) -> None:
    """The first waits for the second, which it could not if they ran one by one."""
    met = anyio.Event()

    async def first(given: HookInput) -> HookResult:
        await met.wait()
        return HookResult(context="first")

    async def second(given: HookInput) -> HookResult:
        met.set()
        return HookResult(context="second")

    start = HookEvent.START
    hooks: list[Hook] = [python("first", start), python("second", start), shell("echo third", start)]
    results = await run_hooks(THIS_MACHINE, hooks, at(start, tmp_path), {"first": first, "second": second})
    assert combined(results).context == "first\n\nsecond\n\nthird"


async def test_what_happened_cannot_be_denied() -> None:
    hook = shell("echo 2 tests fail >&2; exit 2", HookEvent.AFTER_TOOL)
    (result,) = await run_hooks(THIS_MACHINE, [hook], before(event_type=HookEvent.AFTER_TOOL))
    assert (result.verdict, result.context) == ("allow", "2 tests fail")


@pytest.mark.simulated
async def test_no_hooks_no_results() -> None:
    assert await run_hooks(THIS_MACHINE, [], before()) == ()
    assert await run_hooks(THIS_MACHINE, [], at(HookEvent.STOP)) == ()


async def test_cancelling_leaves_no_process(tmp_path: Path) -> None:
    stop = HookEvent.STOP
    hooks = [shell(f"echo $$ > {name}; exec sleep 300", stop) for name in ("one", "two")]
    files = [tmp_path / "one", tmp_path / "two"]
    async with anyio.create_task_group() as group:
        group.start_soon(run_hooks, THIS_MACHINE, hooks, at(stop, tmp_path))
        await until(lambda: all(file.exists() and file.read_text().strip() for file in files))
        pids = [int(file.read_text()) for file in files]
        group.cancel_scope.cancel()
    assert not any(map(lives, pids))


async def test_what_is_printed_is_masked_before_it_is_cut() -> None:
    """Half a secret at the place where it is cut would not be seen as one."""
    value = "abcdefghij" * 300
    hook = shell(f"printf '{value}%.0s' 1 2 3 4 5 >&2; exit 2")
    (result,) = await run_hooks(THIS_MACHINE, [hook], before(), masked=lambda text: text.replace(value, "-"))
    assert (result.reason, result.stderr) == ("-----", "-----")

"""Programs that are run for what they print."""

from __future__ import annotations

import signal

import anyio
import psutil
import pytest

from agentrt.sandboxes.here import THIS_MACHINE
from agentrt.sandboxes.programs import Printed, printed

from .living import until

pytestmark = pytest.mark.real


async def sh(script: str, *, seconds: float = 10.0, most: int = 100, given: bytes = b"") -> Printed:
    """Run a script of the shell."""
    return await printed(
        THIS_MACHINE, ["sh", "-c", script], cwd="/", environment={"A": "b"}, seconds=seconds, most=most, given=given
    )


async def test_what_it_prints_and_how_it_ends() -> None:
    assert await sh("cat; echo $A$HOME; echo why >&2; exit 3", given=b"in ") == Printed(b"in b\n", b"why\n", 3)


@pytest.mark.parametrize("code", [2, 127, 128, 129, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGXCPU, -signal.SIGKILL])
async def test_its_end_is_told_as_it_was(code: int) -> None:
    said = await sh(f"exit {code}" if code >= 0 else f"ulimit -c 0; kill -{-code} $$")
    assert said.code == code


async def test_more_than_is_wanted() -> None:
    said = await sh("yes; echo never > /dev/null")
    assert said.cut
    assert len(said.output) == 100
    assert not (await sh("printf %0100d 0")).cut


async def test_much_on_its_standard_error_keeps_it_from_nothing() -> None:
    said = await sh("head -c 300000 /dev/zero >&2; echo done")
    assert said.output == b"done\n"


async def test_it_is_ended_after_its_time() -> None:
    with pytest.raises(TimeoutError):
        await sh("sleep 100.125 & wait", seconds=0.3)
    await until(lambda: not sleeping())


async def test_cancelling_ends_it() -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: sh("sleep 100.125"))
        await until(sleeping)
        tasks.cancel_scope.cancel()
    await until(lambda: not sleeping())  # the end of what is behind the wall follows that of the wall


def sleeping() -> bool:
    """Whether the sleep of these tests runs."""
    found = psutil.process_iter(["cmdline"])
    return any((process.info["cmdline"] or [])[-2:] == ["sleep", "100.125"] for process in found)


@pytest.mark.simulated
async def test_what_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        await printed(THIS_MACHINE, ["no-such-program"], cwd="/", environment={}, seconds=1.0, most=1)

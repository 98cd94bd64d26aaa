"""The contract of places, on this machine and in memory."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from agentrt.placing import Setting
from agentrt.sandboxes.in_memory import Act, InMemory, MemoryWorkspace
from agentrt.sandboxes.kinds import place_of
from agentrt.specs import LocalWorkspace

from .places import FILES, PROGRAMS, SECONDS, Check


@pytest.mark.real
@pytest.mark.parametrize("check", [*FILES, *PROGRAMS], ids=lambda check: check.__name__)
async def test_this_machine(check: Check, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    async with anyio.create_task_group() as tasks:
        place = place_of(LocalWorkspace(str(tmp_path / "work")), Setting(tasks.start_soon))
        try:
            with anyio.fail_after(SECONDS):
                await check(place)
        finally:
            await place.close()


@pytest.mark.simulated
@pytest.mark.parametrize("check", FILES, ids=lambda check: check.__name__)
async def test_in_memory(check: Check) -> None:
    await check(InMemory(MemoryWorkspace(), Setting(lambda function: None)))


@pytest.mark.simulated
async def test_a_program_in_memory_is_a_function() -> None:
    async def shout(act: Act) -> int:
        async for piece in act.stdin:
            await act.stdout.send(piece.upper())
        act.files.write(f"{act.cwd}/done", act.env["NAME"].encode())
        return len(act.command)

    async def waits(act: Act) -> int:
        await anyio.sleep_forever()
        return 0

    async with anyio.create_task_group() as tasks:
        place = InMemory(MemoryWorkspace("/w"), Setting(tasks.start_soon), {"shout": shout, "waits": waits})
        process = await place.run(["shout", "a", "b"], env={"NAME": "Ada"})
        await process.stdin.send(b"hello")
        await process.stdin.aclose()
        assert await process.stdout.receive() == b"HELLO"
        assert await process.wait() == 3
        assert place.files.read("/w/done") == b"Ada"
        with pytest.raises(FileNotFoundError):
            await place.run(["no-such-program"])
        endless = await place.run(["waits"])
        assert endless.returncode is None
        await place.close()
        assert endless.returncode == -9
        process.close_pipes()
        endless.close_pipes()

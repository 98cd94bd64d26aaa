"""The contract of places, on this machine and in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from agentrt.placing import Setting
from agentrt.sandboxes.in_memory import Act, InMemory, MemoryWorkspace
from agentrt.sandboxes.kinds import place_of
from agentrt.sandboxes.shell import Shell
from agentrt.specs import LocalWorkspace
from agentrt.specs.workspace import Confine

from .places import FILES, PROGRAMS, SECONDS, Check


@pytest.mark.real
@pytest.mark.parametrize("check", [*FILES, *PROGRAMS], ids=lambda check: check.__name__)
async def test_this_machine(check: Check, tmp_path: Path, confine: Confine) -> None:
    (tmp_path / "work").mkdir()
    async with anyio.create_task_group() as tasks:
        place = place_of(LocalWorkspace(str(tmp_path / "work"), confine=confine), Setting(tasks.start_soon))
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
        assert await place.files.read("/w/done") == b"Ada"
        with pytest.raises(FileNotFoundError):
            await place.run(["no-such-program"])
        endless = await place.run(["waits"])
        assert endless.returncode is None
        await place.close()
        assert endless.returncode == -9
        process.close_pipes()
        endless.close_pipes()


@pytest.mark.simulated
async def test_a_terminal_in_memory_runs_the_programs_of_its_place() -> None:
    async def greet(act: Act) -> int:
        await act.stdout.send(f"{' '.join(act.command[1:])} {act.env.get('KEY', '')} in {act.cwd}".encode())
        return 3

    async def waits(act: Act) -> int:
        await act.stdout.send(b"ready")
        await act.stdout.send(await act.stdin.receive())
        await anyio.sleep_forever()
        return 0

    async with anyio.create_task_group() as tasks:
        place = InMemory(MemoryWorkspace("/w"), Setting(tasks.start_soon), {"greet": greet, "waits": waits})
        shell = Shell(place.console(), "/w")
        await shell.start()

        async def ran(command: str, secrets: Mapping[str, str] | None = None) -> tuple[int, str]:
            await shell.begin(command, lambda data: None, secrets)
            while (end := await shell.wait(None)) is None:
                pass
            return end.exit_code, shell.take().decode()

        assert await ran("greet 'a b' c", {"KEY": "hush"}) == (3, "a b c hush in /w")
        assert (await ran("nothing"))[0] == 127
        said = bytearray()
        await shell.begin("waits", said.extend)
        while not said.endswith(b"ready"):
            await shell.wait(None)
        assert await shell.processes(10) == 1
        await shell.send(b"typed\n")
        while not said.endswith(b"typed\n"):
            await shell.wait(None)
        assert await shell.interrupt() == ("SIGINT",)
        assert (await shell.wait(0)) is not None
        assert await ran("greet again") == (3, "again  in /w")
        await shell.close()
        assert not shell.alive
        await place.close()

"""What every place promises, as one suite; `test_places.py` and the proofs run it on each kind."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path, PurePosixPath

import anyio
import anyio.to_thread
import pytest

from agentrt.errors import ToolError
from agentrt.placing import DEVNULL, Place, Process, Rlimits

SECONDS = 30.0

NAMES = ("plain", "with space", "new\nline", "ümläut", "-dash", "'quote\"", "a" * 200)
"""Names of files that some code forgets."""

Check = Callable[[Place], Awaitable[None]]


async def within(place: Place, function: Callable[..., object], *given: object) -> object:
    """Call a function of the files, in a thread."""
    return await anyio.to_thread.run_sync(lambda: function(*given))


async def output(process: Process) -> bytes:
    """All that a process prints."""
    assert process.stdout is not None
    found = b""
    async for piece in process.stdout:
        found += piece
    return found


async def said(
    place: Place, script: str, env: Mapping[str, str] | None = None, given: bytes = b""
) -> tuple[int, bytes]:
    """The exit code of a script of the shell, and what it prints."""
    process = await place.run(["sh", "-c", script], cwd=place.workspace.path, env=env or {"PATH": os.defpath})
    try:
        assert process.stdin is not None
        if given:
            await process.stdin.send(given)
        await process.stdin.aclose()
        found = await output(process)
        return await process.wait(), found
    finally:
        process.close_pipes()


def at(place: Place, name: str) -> str:
    """The path of a file in the workspace."""
    return str(PurePosixPath(place.workspace.path, name))


async def files_are_written_read_moved_and_removed(place: Place) -> None:
    files = place.files
    for name in NAMES:
        path, data = at(place, f"odd/{name}"), os.urandom(1000) + name.encode()
        assert await files.status(path) is None
        await files.write(path, data)
        assert await files.read(path) == data
        status = await files.status(path)
        assert isinstance(status, os.stat_result)
        assert stat.S_ISREG(status.st_mode)
        assert status.st_size == len(data)
    found = await files.names(at(place, "odd"))
    assert found == sorted((name, False, False) for name in NAMES)
    for name in NAMES:
        await files.move(at(place, f"odd/{name}"), at(place, f"{name}.moved"))
        assert await files.status(at(place, f"odd/{name}")) is None
        await files.remove(at(place, f"{name}.moved"))
        assert await files.status(at(place, f"{name}.moved")) is None


async def what_cannot_be_done_is_said(place: Place) -> None:
    path = at(place, "file")
    await place.files.write(path, b"1")
    files = place.files.blocking
    for act in (
        lambda: files.read(at(place, "nothing")),
        lambda: files.read(place.workspace.path),
        lambda: files.names(path),
        lambda: files.names(at(place, "nothing")),
        lambda: files.real(at(place, "nothing")),
        lambda: files.remove(at(place, "nothing")),
        lambda: files.write(f"{path}/below", b""),
        lambda: files.write(place.workspace.path, b""),
        lambda: files.move(path, path),
        lambda: files.move(at(place, "nothing"), at(place, "other")),
    ):
        with pytest.raises(ToolError):
            await within(place, act)
    assert await place.files.read(path) == b"1"


async def large_files_arrive_whole(place: Place) -> None:
    data = os.urandom(3_000_000)
    await place.files.write(at(place, "large"), data)
    assert await place.files.read(at(place, "large")) == data


async def a_file_is_the_same_for_files_and_processes(place: Place) -> None:
    await place.files.write(at(place, "one"), b"words")
    assert await said(place, "cat one; printf more > two") == (0, b"words")
    assert await place.files.read(at(place, "two")) == b"more"
    assert await said(place, "ln -s one link; ln -s /nowhere dangling; mkdir directory; ln -s directory to") == (0, b"")
    assert await place.files.read(at(place, "link")) == b"words"
    assert await place.files.status(at(place, "dangling")) is None
    real = await place.files.real(at(place, "link"))
    assert PurePosixPath(str(real)).name == "one"
    names = await place.files.names(place.workspace.path)
    assert isinstance(names, list)
    assert {("link", False, True), ("to", True, True), ("directory", True, False)} <= set(names)


async def a_program_gets_its_words_and_its_input(place: Place) -> None:
    words = ["printf", "%s|", "a b", "*", "$HOME", "", "é\n"]
    process = await place.run(words, cwd=place.workspace.path, env={"PATH": os.defpath}, stdin=DEVNULL)
    assert await output(process) == "a b|*|$HOME||é\n|".encode()
    assert await process.wait() == 0
    process.close_pipes()
    assert await said(place, "cat; echo $ONE; pwd", {"PATH": os.defpath, "ONE": "1"}, b"given ") == (
        0,
        f"given 1\n{place.workspace.path}\n".encode(),
    )


async def an_end_is_told_as_it_was(place: Place) -> None:
    assert await said(place, "exit 3") == (3, b"")
    assert await said(place, "kill -9 $$") == (-9, b"")
    with pytest.raises(FileNotFoundError):
        await place.run(["no-such-program"], cwd=place.workspace.path, env={"PATH": os.defpath})
    with pytest.raises(OSError):
        await place.run(["true"], cwd=at(place, "nothing"), env={"PATH": os.defpath})
    with pytest.raises(ValueError, match="null"):
        await place.run(["true", "a\0b"], cwd=place.workspace.path, env={})


async def a_signal_reaches_the_program(place: Place) -> None:
    script = "trap 'echo heard; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    process = await place.run(["sh", "-c", script], cwd=place.workspace.path, env={"PATH": os.defpath})
    assert process.stdout is not None
    assert await process.stdout.receive() == b"ready\n"
    assert process.returncode is None
    assert process.pid > 0
    process.send_signal(signal.SIGTERM)
    assert await output(process) == b"heard\n"
    assert await process.wait() == 5
    process.close_pipes()


async def ending_ends_all_that_was_started(place: Place) -> None:
    """Also what left the session, and what ignores TERM."""
    script = (
        "trap '' TERM; (setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > far); sleep 1000 & echo $! > near;"
        " echo ready; while :; do sleep 0.05; done"
    )
    process = await place.run(["sh", "-c", script], cwd=place.workspace.path, env={"PATH": os.defpath})
    assert process.stdout is not None
    assert await process.stdout.receive() == b"ready\n"
    await process.end()
    process.close_pipes()
    assert await process.wait() == -9
    alive = "read line < /proc/$(cat $one)/stat && set -- ${line##*) } && [ $1 != Z ] && echo $one $line"
    assert await said(place, f"for one in far near; do {{ {alive}; }} 2>/dev/null; done; :") == (0, b"")


async def much_output_waits_for_its_reader(place: Place) -> None:
    process = await place.run(
        ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done"],
        cwd=place.workspace.path,
        env={"PATH": os.defpath},
        stdin=DEVNULL,
    )
    await anyio.lowlevel.checkpoint()
    assert len(await output(process)) == 41 * 20_000
    assert await process.wait() == 0
    process.close_pipes()


async def a_cancelled_call_leaves_nothing_running(place: Place) -> None:
    for steps in range(12):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:

                async def cancel(steps: int = steps, scope: anyio.CancelScope = scope) -> None:
                    for _ in range(steps):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

                tasks.start_soon(cancel)
                process: Process | None = None
                try:
                    process = await place.run(
                        ["sleep", "1000"], cwd=place.workspace.path, env={"PATH": os.defpath}, stdin=DEVNULL
                    )
                    await process.wait()
                finally:
                    if process is not None:
                        with anyio.CancelScope(shield=True):
                            await process.end()
                            process.close_pipes()


async def many_calls_go_on_side_by_side(place: Place) -> None:
    found = dict[int, bytes]()

    async def one(number: int) -> None:
        await place.files.write(at(place, f"many{number}"), str(number).encode())
        found[number] = (await said(place, f"cat many{number}"))[1]

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert found == {number: str(number).encode() for number in range(20)}


async def its_own_python_has_this_package(place: Place) -> None:
    python = await place.python()
    program = "import agentrt.specs, msgspec, sys; print(agentrt.specs.LocalWorkspace('/x'), sys.version_info[:2])"
    process = await place.run([python.path, "-I", "-c", program], cwd="/", env={"PATH": os.defpath})
    assert (await output(process)).startswith(b"LocalWorkspace(path='/x')")
    assert await process.wait() == 0
    process.close_pipes()


async def a_port_there_is_reached_from_here(place: Place) -> None:
    python = await place.python()
    program = (
        "import socket; one = socket.create_server(('127.0.0.1', 0)); print(one.getsockname()[1], flush=True)\n"
        "while True:\n"
        "    near, _ = one.accept(); data = near.recv(100); near.sendall(data[::-1] * 30_000); near.close()"
    )
    process = await place.run([python.path, "-I", "-c", program], cwd="/", env={"PATH": os.defpath})
    assert process.stdout is not None
    port = int(await process.stdout.receive())
    async with place.forward(port) as near:
        for _ in range(3):
            async with await anyio.connect_tcp("127.0.0.1", near) as stream:
                await stream.send(b"abc")
                found = b""
                async for data in stream:
                    found += data
            assert found == b"cba" * 30_000
    await process.end()
    process.close_pipes()


async def it_can_be_paused(place: Place) -> None:
    """Where it can: nothing runs meanwhile, and all goes on afterwards."""
    script = "i=0; while :; do i=$((i+1)); echo $i > count; sleep 0.01; done"
    process = await place.run(["sh", "-c", script], cwd=place.workspace.path, env={"PATH": os.defpath}, stdin=DEVNULL)

    def counted() -> int:
        with contextlib.suppress(ToolError):
            return int(place.files.blocking.read(at(place, "count")) or b"0")
        return 0

    async def grown(since: int) -> None:
        while await anyio.to_thread.run_sync(counted) <= since:
            await anyio.sleep(0.01)

    await grown(1)
    await place.pause()
    await place.resume()
    await grown(await anyio.to_thread.run_sync(counted))
    await process.end()
    process.close_pipes()


async def it_tells_what_it_is(place: Place) -> None:
    facts = await place.facts()
    assert facts.system.startswith("Linux")
    assert facts.machine
    assert facts.temporary.startswith("/")


async def a_workspace_that_is_gone_is_made_again(place: Place) -> None:
    await place.prepare()
    assert not await place.prepare()
    assert await place.files.status(place.workspace.path) is not None


async def what_is_below_a_directory_is_walked(place: Place) -> None:
    for name in ("a/b/c", "a/.git/config", ".git/config", *NAMES):
        await place.files.write(at(place, f"walked/{name}"), b"12345")
    found = await place.files.walk(at(place, "walked"), 100)
    assert sorted(one.path for one in found) == sorted(
        ["a", "a/b", "a/b/c", "a/.git", "a/.git/config", ".git", ".git/config", *NAMES]
    )
    assert [one.path for one in found].index("a") < [one.path for one in found].index("a/b/c")
    assert {(stat.S_ISREG(one.mode), one.size) for one in found if one.path in NAMES} == {(True, 5)}
    some = await place.files.walk(at(place, "walked"), 100, [".git", "b"])
    assert sorted(one.path for one in some) == sorted(["a", *NAMES])
    assert len(await place.files.walk(at(place, "walked"), 3)) == 3
    await place.files.write(at(place, "walked/plain"), b"54321")
    before, after = [
        next(one.changed for one in those if one.path == "plain")
        for those in (found, await place.files.walk(at(place, "walked"), 100))
    ]
    assert before != after
    for path in ("walked/plain", "nothing"):
        with pytest.raises(ToolError):
            await place.files.walk(at(place, path), 1)


async def limits_of_a_program_hold(place: Place) -> None:
    limits = Rlimits(cpu_seconds=2, memory=512 << 20, file_size=4096)
    much = "i=0; while [ $i -lt 1000 ]; do echo 123456789; i=$((i+1)); done > large 2>/dev/null"
    script = f"ulimit -t; ulimit -v; ({much}); wc -c < large"
    process = await place.run(
        ["sh", "-c", script], cwd=place.workspace.path, env={"PATH": os.defpath}, stdin=DEVNULL, limits=limits
    )
    found = (await output(process)).split()
    assert found[:2] == [b"2", b"524288"]
    assert 4000 < int(found[2]) <= 4096, "what is kept of a line that goes beyond it differs"
    process.close_pipes()
    assert await said(place, f"{much}; wc -c < large") == (0, b"10000\n")


async def files_that_are_only_there_have_a_copy(place: Place) -> None:
    mirror = place.checkpoints()
    if mirror is None:
        assert place.workspace.seen_here
        return
    odd = [name for name in NAMES if name != "plain"]
    for name in ("plain", "deep/down/it", *odd):
        await place.files.write(at(place, name), name.encode())
    script = "chmod 755 plain; ln -s plain link; ln -s /etc out; mkdir .git; echo secret > .git/config; mkfifo pipe"
    assert (await said(place, script))[0] == 0
    try:
        await mirror.fetch()
        here = Path(mirror.directory)
        assert {one.name for one in here.iterdir()} == {"plain", "deep", "link", "out", *odd}
        assert (here / "plain").read_bytes() == b"plain"
        assert stat.S_IMODE((here / "plain").stat().st_mode) == 0o755
        assert os.readlink(here / "out") == "/etc"
        await said(place, "rm link; mkdir link; echo new > link/new; rm -r deep; echo more >> plain; rm -- -dash")
        await mirror.fetch()
        assert (here / "link/new").read_bytes() == b"new\n"
        assert (here / "plain").read_bytes() == b"plainmore\n"
        assert not (here / "deep").exists()
        assert not (here / "-dash").exists()
        (here / "link/new").unlink()
        (here / "link").rmdir()
        (here / "link").symlink_to("plain")
        (here / "plain").write_bytes(b"again")
        (here / "made/by").mkdir(parents=True)
        (here / "made/by/us").write_bytes(b"ours")
        (here / "made/by/us").chmod(0o700)
        (here / "with space").write_bytes(b"ours")
        await said(place, "echo theirs > 'with space'")
        assert await mirror.put() == {"with space"}
        looks = "readlink link; cat plain; ls -l made/by/us | cut -c1-10; cat made/by/us 'with space'; cat .git/config"
        assert (await said(place, looks))[1] == b"plain\nagain-rwx------\nourstheirs\nsecret\n"
        await said(place, "rm -rf -- * .git")
        await mirror.fetch()
        assert list(here.iterdir()) == []
    finally:
        await mirror.close()
    assert not here.exists()


FILES: tuple[Check, ...] = (
    files_are_written_read_moved_and_removed,
    what_cannot_be_done_is_said,
    large_files_arrive_whole,
    what_is_below_a_directory_is_walked,
    a_workspace_that_is_gone_is_made_again,
)
"""What holds of the files of every place."""

PROGRAMS: tuple[Check, ...] = (
    a_file_is_the_same_for_files_and_processes,
    a_program_gets_its_words_and_its_input,
    an_end_is_told_as_it_was,
    a_signal_reaches_the_program,
    ending_ends_all_that_was_started,
    much_output_waits_for_its_reader,
    a_cancelled_call_leaves_nothing_running,
    many_calls_go_on_side_by_side,
    its_own_python_has_this_package,
    a_port_there_is_reached_from_here,
    it_can_be_paused,
    it_tells_what_it_is,
    limits_of_a_program_hold,
    files_that_are_only_there_have_a_copy,
)
"""What holds of the processes of every place that has a shell."""

"""`Shell` runs a real bash: its environment, its state, its input, its end. `Output` stays bounded."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.sandboxes.environment import environment
from agentrt.sandboxes.markers import Ended
from agentrt.sandboxes.shell import KEPT, Output, Shell
from agentrt.specs.workspace import Confine

from .consoles import here, local_console
from .living import lives, runs, until

pytestmark = pytest.mark.real


@pytest.fixture
async def shell(tmp_path: Path, confine: Confine) -> AsyncIterator[Shell]:
    place = here(tmp_path, confine)
    shell = Shell(place.console(), tmp_path)
    await shell.start()
    yield shell
    await shell.close()
    await place.close()


async def ended(shell: Shell) -> Ended | None:
    """The end of the running command."""
    with anyio.fail_after(30):
        while shell.running:
            await shell.wait(None)
    return await shell.wait(0)


async def run(shell: Shell, command: str) -> tuple[int, str]:
    """Exit code and output of a command."""
    await shell.begin(command, lambda data: None)
    found = await ended(shell)
    assert found is not None
    return found.exit_code, shell.take().decode()


@pytest.mark.pure
@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "ANTHROPIC_APIKEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "db_password", "MYSQL_PASSWD"),
        *("PGPASSWORD", "SMTP_PASS", "SSHPASS", "CLIENTSECRET", "MYSQL_PWD", "REDISCLI_AUTH", "GITHUBTOKEN", "APIKEYS"),
        *("API_TOKENS", "GOOGLE_API_KEY1", "DB_PASSWORD2", "TOKEN2", "DOCKER_AUTH_CONFIG", "SSH_PASSPHRASE"),
    ],
)
def test_what_looks_like_a_secret_is_left_out(name: str) -> None:
    assert name not in environment({name: "x", "PATH": "/bin"})


@pytest.mark.pure
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("PWD", "/w"), ("OLDPWD", "/w"), ("SSH_AUTH_SOCK", "/tmp/s"), ("GIT_AUTHOR_NAME", "Ada")),
        *(("MAX_TOKENS", "4096"), ("TOKENIZERS_PARALLELISM", "false"), ("HOTKEY", "on"), ("COMPASS", "north")),
    ],
)
def test_what_only_sounds_like_a_secret_stays(name: str, value: str) -> None:
    assert environment({name: value})[name] == value


@pytest.mark.pure
def test_the_rest_of_the_environment_stays_and_pagers_are_off() -> None:
    kept = environment({"PATH": "/bin", "LANG": "C.UTF-8", "PAGER": "less"})
    assert kept["PATH"] == "/bin"
    assert kept["LANG"] == "C.UTF-8"
    assert kept["PAGER"] == kept["GIT_PAGER"] == "cat"
    assert kept["TERM"] == "dumb"


@pytest.mark.pure
@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, KEPT // 3)), max_size=8))
def test_output_is_bounded_and_keeps_both_ends(chunks: list[tuple[int, int]]) -> None:
    output, whole = Output(), bytearray()
    for byte, size in chunks:
        output.add(bytes([byte % 26 + 97]) * size)
        whole += bytes([byte % 26 + 97]) * size
        assert len(output) <= KEPT + KEPT // 4
    text, expected = output.take().decode(), whole.decode()
    assert (len(output), output.take()) == (0, b"")
    if len(expected) <= KEPT:
        assert text == expected
    else:
        half = KEPT // 2
        assert text[:half] == expected[:half]
        assert text[-half:] == expected[-half:]


@pytest.mark.pure
def test_output_says_how_much_was_not_kept() -> None:
    output = Output()
    output.add(b"h" * KEPT)
    output.add(b"t" * KEPT)
    assert f"\n[{KEPT} bytes were not kept]\n".encode() in output.take()


async def test_state_lasts_from_command_to_command(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    assert await run(shell, "cd below; here=1; export there=2; f() { echo called; }") == (0, "")
    assert shell.directory == str(tmp_path / "below")
    assert await run(shell, "pwd; echo $here; bash -c 'echo $there'; f") == (0, f"{tmp_path}/below\n1\n2\ncalled\n")


async def test_the_last_exit_code_lasts_too(shell: Shell) -> None:
    assert await run(shell, "(exit 42)") == (42, "")
    assert await run(shell, "echo $?") == (0, "42\n")


async def test_output_comes_as_it_is_printed(shell: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    pieces: list[bytes] = []
    await shell.begin("echo first; cat gate; echo last", pieces.append)
    await until(lambda: b"first\n" in b"".join(pieces))
    assert shell.running
    await anyio.Path(tmp_path / "gate").write_text("through\n")
    assert await ended(shell) == Ended(0, str(tmp_path), call=1)
    assert b"".join(pieces) == b"first\nthrough\nlast\n"


async def test_a_line_typed_ahead_does_not_end_the_next_command(shell: Shell, tmp_path: Path) -> None:
    """What the running command does not read, bash runs after it; its prompt is not the end of what comes next."""
    os.mkfifo(tmp_path / "gate")
    gate = anyio.Path(tmp_path / "gate")
    await shell.begin("cat gate", lambda data: None)
    await shell.send(b"cat gate >/dev/null\n")
    await gate.write_text("first\n")
    await ended(shell)
    assert shell.take().decode() == "first\n"
    await shell.begin("echo second; exit_code() { return 7; }; exit_code", lambda data: None)
    await gate.write_text("lets the typed line end\n")
    assert await ended(shell) == Ended(7, str(tmp_path), call=2)
    assert shell.take().decode() == "second\n"


async def test_long_input_arrives_whole(shell: Shell, tmp_path: Path) -> None:
    lines = "".join(f"{number:099}\n" for number in range(2000))
    await shell.begin("cat > copy", lambda data: None)
    await shell.send(lines.encode())
    await shell.send(b"\x04")
    assert await ended(shell) == Ended(0, str(tmp_path), call=1)
    assert (tmp_path / "copy").read_text() == lines


async def test_input_that_nobody_reads_is_refused_and_never_run(shell: Shell, tmp_path: Path) -> None:
    await shell.begin("sleep 300", lambda data: None)
    with pytest.raises(ToolError, match="does not read its input: it was given"):
        await shell.send(b"touch typed\n" * 10_000)
    assert "SIGINT" in await shell.interrupt()
    assert await run(shell, "ls") == (0, "")


async def test_the_shell_ends_with_the_exit_code_that_was_asked(shell: Shell) -> None:
    assert await run(shell, "echo bye; exit 3") == (3, "bye\n")
    assert not shell.alive


async def test_a_shell_ended_by_a_signal_has_the_code_of_that(shell: Shell) -> None:
    assert await run(shell, "kill -9 $$") == (128 + 9, "")
    with pytest.raises(ToolError, match="cannot take input"):
        await shell.send(b"x")


async def test_no_trace_of_the_command_file_in_messages(shell: Shell) -> None:
    code, text = await run(shell, "no_such_command")
    assert (code, text) == (127, "bash: no_such_command: command not found\n")
    code, text = await run(shell, "echo one\nif then")
    assert code != 0
    assert "bash: line 2: syntax error" in text


async def test_an_interrupt_keeps_the_shell_and_says_what_was_needed(shell: Shell) -> None:
    await run(shell, "kept=1")
    await shell.begin("sleep 300", lambda data: None)
    await until(lambda: runs("sleep"))
    assert await shell.interrupt() == ("SIGINT",)
    assert not shell.running
    assert await run(shell, "echo $kept") == (0, "1\n")


async def test_where_the_process_ignores_c_c_its_commands_do_not(tmp_path: Path) -> None:
    """As after `nohup`, or in the background of a script: what is ignored is inherited."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    shell = Shell(local_console(tmp_path), tmp_path)
    try:
        await shell.start()
        await shell.begin("sleep 300", lambda data: None)
        await until(lambda: runs("sleep"))
        assert await shell.interrupt() == ("SIGINT",)
    finally:
        signal.signal(signal.SIGINT, before)
        await shell.close()


async def test_closing_ends_all_that_it_started(tmp_path: Path) -> None:
    shell = Shell(local_console(tmp_path), tmp_path)
    await shell.start()
    await run(shell, "sleep 300 & echo $! > job; (setsid sh -c 'echo $$ > away; exec sleep 300' &)")
    await run(shell, "(env -i sh -c 'echo $$ > bare; exec sleep 300' &)")
    await run(shell, "env -i nohup sleep 300 > out 2>&1 & echo $! > nohup; echo $$ > shell")
    names = ("job", "away", "bare", "nohup", "shell")
    await until(lambda: all((tmp_path / name).exists() and (tmp_path / name).read_text() for name in names))
    pids = [int((tmp_path / name).read_text()) for name in names]
    assert all(map(lives, pids))
    await shell.close()
    assert [name for name, pid in zip(names, pids, strict=True) if lives(pid)] == []
    assert not shell.alive


async def test_closing_twice_and_before_the_start_is_fine(tmp_path: Path) -> None:
    shell = Shell(local_console(tmp_path), tmp_path)
    await shell.start()
    await shell.close()
    await shell.close()
    assert not shell.alive
    assert not Shell(local_console(tmp_path), tmp_path).alive


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 20, 100])
async def test_a_cancelled_start_leaves_no_process(tmp_path: Path, steps: int) -> None:
    before = {process.pid for process in psutil.Process().children()}
    shell, started = Shell(local_console(tmp_path), tmp_path), anyio.Event()

    async def start() -> None:
        await shell.start()
        started.set()

    def new() -> set[int]:
        return {process.pid for process in psutil.Process().children()} - before

    async with anyio.create_task_group() as group:
        group.start_soon(start)
        with anyio.fail_after(30):
            while not new():
                await anyio.lowlevel.checkpoint()
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    if started.is_set():
        await shell.close()
    await until(lambda: not any(map(lives, new())))


async def test_no_shell_in_a_directory_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot start in .*/gone: No such file or directory"):
        await Shell(local_console(tmp_path), tmp_path / "gone").start()


async def test_it_is_a_terminal_of_a_fixed_size_without_echo(shell: Shell) -> None:
    assert await run(shell, "test -t 0 && test -t 1 && stty size") == (0, "50 200\n")
    assert await run(shell, r"printf 'a\r\nb\n'") == (0, "a\r\nb\n")

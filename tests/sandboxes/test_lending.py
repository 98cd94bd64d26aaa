"""A real bash has lent variables for one execution, and nothing else ever has them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import anyio
import psutil
import pytest

from agentrt.sandboxes.lending import MemoryLoan
from agentrt.sandboxes.local import LocalConsole
from agentrt.sandboxes.shell import Shell
from agentrt.specs.workspace import Confine

from .consoles import here
from .living import runs, until

pytestmark = pytest.mark.real

VALUE = "hunter2-and-more"
SHOW = 'echo "[$TOKEN]"; sh -c \'echo "[$TOKEN]"\''
EVERYTHING = "set; env; declare -p; export -p; declare -f; history; alias; trap -p; fc -l"


@pytest.fixture
async def console(tmp_path: Path, confine: Confine) -> AsyncIterator[LocalConsole]:
    place = here(tmp_path, confine)
    yield place.console()
    await place.close()


@pytest.fixture
async def shell(console: LocalConsole, tmp_path: Path) -> AsyncIterator[Shell]:
    shell = Shell(console, tmp_path)
    await shell.start()
    yield shell
    await shell.close()
    assert loans() == []


async def run(shell: Shell, command: str, **secrets: str) -> tuple[int, str]:
    """Exit code and output of a command."""
    await shell.begin(command, lambda data: None, secrets)
    with anyio.fail_after(30):
        while shell.running:
            await shell.wait(None)
    ended = await shell.wait(0)
    assert ended is not None
    return ended.exit_code, shell.take().decode()


def loans() -> list[Path]:
    """The files in memory that this process has for a shell."""
    found: list[Path] = []
    for path in Path("/proc/self/fd").iterdir():
        try:
            if "memfd:agentrt" in os.readlink(path):
                found.append(path)
        except FileNotFoundError:  # that of the listing itself
            continue
    return found


def files_with(value: str, *directories: Path) -> list[Path]:
    """The files below some directories that hold a value."""
    files = [path for directory in directories for path in directory.rglob("*") if path.is_file()]
    return [path for path in files if value.encode() in path.read_bytes()]


async def test_one_execution_has_it(shell: Shell) -> None:
    assert await run(shell, SHOW, TOKEN=VALUE) == (0, f"[{VALUE}]\n[{VALUE}]\n")
    assert await run(shell, SHOW) == (0, "[]\n[]\n")
    assert await run(shell, "echo ${TOKEN+set}${__agentrt_lent+set}${__agentrt_kept+set}") == (0, "\n")
    assert VALUE not in (await run(shell, EVERYTHING))[1]


@pytest.mark.parametrize(
    "value",
    ['it\'s "quoted" $HOME `id` \\n !! %s', "two\nlines\n", "grüße 🙂", " around ", "a\tb\r\x01", "-n", "x" * 100_000],
    ids=["quotes", "lines", "unicode", "space", "control", "option", "long"],
)
async def test_any_value_arrives_as_it_is(shell: Shell, tmp_path: Path, value: str) -> None:
    assert await run(shell, 'printenv TOKEN > seen; printf %s "$TOKEN" > as_variable', TOKEN=value) == (0, "")
    assert (tmp_path / "seen").read_bytes().decode() == value + "\n"
    assert (tmp_path / "as_variable").read_bytes().decode() == value
    assert await run(shell, SHOW) == (0, "[]\n[]\n")


async def test_several_at_once(shell: Shell) -> None:
    assert await run(shell, 'echo "$A $B"', A="first-value", B="second-value") == (0, "first-value second-value\n")
    assert await run(shell, 'echo "$B" $A', B="third-value") == (0, "third-value\n")


async def test_the_exit_code_before_and_its_own_are_right(shell: Shell) -> None:
    await run(shell, "(exit 42)")
    assert await run(shell, "echo $?; (exit 7)", TOKEN=VALUE) == (7, "42\n")
    assert await run(shell, "echo $?") == (0, "7\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export TOKEN='my \"own\"\n$one'", "declare -x TOKEN=$'my \"own\"\\n$one'"),
        ("TOKEN=mine", 'declare -- TOKEN="mine"'),
        ("unset TOKEN", ""),
        ("export TOKEN=", 'declare -x TOKEN=""'),
        ("declare -i TOKEN=3", 'declare -i TOKEN="3"'),
    ],
)
async def test_what_the_variable_was_before_is_restored(shell: Shell, before: str, after: str) -> None:
    await run(shell, before)
    assert await run(shell, SHOW, TOKEN=VALUE) == (0, f"[{VALUE}]\n[{VALUE}]\n")
    assert (await run(shell, "declare -p TOKEN 2>/dev/null"))[1].strip() == after


@pytest.mark.parametrize("before", ["TOKEN=(a b)", "declare -A TOKEN=([a]=b)", "readonly TOKEN=mine"])
async def test_what_is_not_simple_does_not_keep_the_secret(shell: Shell, before: str) -> None:
    await run(shell, before)
    assert (await run(shell, "(exit 3)", TOKEN=VALUE))[0] == 3
    assert VALUE not in (await run(shell, EVERYTHING))[1]


@pytest.mark.parametrize(
    "command",
    [
        "export TOKEN",
        'declare -gx TOKEN="$TOKEN"',
        "TOKEN=${TOKEN}x",
        "unset TOKEN",
        "set -o posix",
        "IFS=KN",
        "return 0",
    ],
)
async def test_it_is_gone_whatever_the_command_did_with_it(shell: Shell, command: str) -> None:
    await run(shell, command, TOKEN=VALUE)
    assert VALUE not in (await run(shell, EVERYTHING))[1]


@pytest.mark.parametrize("option", ["-x", "-v", "-xv", "-u", "-C", "-f", "-a", "-o posix", "-T", "-eu"])
async def test_options_of_the_shell_change_nothing(shell: Shell, option: str) -> None:
    await run(shell, f"set {option}")
    for _ in range(2):
        code, text = await run(shell, "printenv TOKEN > seen; echo done", TOKEN=VALUE)
        assert code == 0
        assert "done\n" in text
        assert VALUE not in text
        assert (await run(shell, 'test -z "${TOKEN-}"'))[0] == 0
        assert shell.alive
    assert VALUE not in (await run(shell, EVERYTHING))[1]


async def test_no_file_holds_it_while_it_runs_and_after(
    shell: Shell, console: LocalConsole, tmp_path: Path, confine: Confine
) -> None:
    os.mkfifo(tmp_path / "gate")
    await shell.begin("cat gate; sleep 0", lambda data: None, {"TOKEN": VALUE})
    await until(lambda: runs("cat"))
    scratch = console.scratch
    assert (scratch / "command").read_text() == "cat gate; sleep 0\n"
    assert files_with(VALUE, scratch, tmp_path) == []
    assert [path.read_bytes() for path in loans()] == [b""] * (confine == "off"), "in a box it is a pipe, and gone"
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    assert not any(VALUE in " ".join(process.cmdline()) for process in processes)
    await anyio.Path(tmp_path / "gate").write_text("through\n")
    await run_to_the_end(shell)
    assert files_with(VALUE, scratch, tmp_path) == []
    assert loans() == []


async def run_to_the_end(shell: Shell) -> None:
    """Wait until the command has ended."""
    with anyio.fail_after(30):
        while shell.running:
            await shell.wait(None)


async def test_it_is_gone_after_an_interrupt(shell: Shell) -> None:
    shown = bytearray()
    await run(shell, "export TOKEN=mine")
    await shell.begin("echo begun; sleep 300", shown.extend, {"TOKEN": VALUE, "OTHER": VALUE})
    await until(lambda: b"begun" in shown)
    await shell.interrupt()
    assert loans() == []
    assert await run(shell, 'echo "[$TOKEN$OTHER]"') == (0, "[mine]\n")
    assert VALUE not in (await run(shell, EVERYTHING))[1]
    assert await run(shell, 'echo "[$TOKEN]"', TOKEN=VALUE) == (0, f"[{VALUE}]\n")


async def test_it_is_gone_after_an_interrupt_at_once(shell: Shell) -> None:
    for _ in range(20):
        await shell.begin(SHOW, lambda data: None, {"TOKEN": VALUE})
        await shell.interrupt()
        assert loans() == []
        assert await run(shell, SHOW) == (0, "[]\n[]\n")


async def test_a_line_typed_ahead_has_nothing_of_it(shell: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    await shell.begin("cat gate", lambda data: None, {"TOKEN": VALUE})
    await shell.send(b"printenv TOKEN > seen; echo $? > code\n")
    await anyio.Path(tmp_path / "gate").write_text("through\n")
    await run_to_the_end(shell)
    await run(shell, ":")
    assert (tmp_path / "seen").read_text() == ""
    assert (tmp_path / "code").read_text() == "1\n"


async def test_a_shell_that_ends_gives_it_back(shell: Shell) -> None:
    assert (await run(shell, "exit 3", TOKEN=VALUE))[0] == 3
    assert loans() == []


@pytest.mark.simulated
def test_a_loan_is_one_file_until_it_is_closed() -> None:
    loan = MemoryLoan({"TOKEN": VALUE})
    assert [str(path) for path in loans()] == [loan.path.replace(str(os.getpid()), "self")]
    assert VALUE not in repr(loan)
    loan.close()
    loan.close()
    assert loans() == []


@pytest.mark.pure
def test_nothing_lent_is_no_trouble() -> None:
    nothing: Mapping[str, str] = {}
    MemoryLoan(nothing).close()

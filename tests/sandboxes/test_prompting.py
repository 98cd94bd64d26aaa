"""A real bash whose commands change what its commands are run with: the prompt, functions, options, the terminal."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import product
from pathlib import Path, PurePath

import anyio
import pytest

from agentrt.errors import ToolError
from agentrt.sandboxes.console import Heard
from agentrt.sandboxes.local import LocalConsole
from agentrt.sandboxes.shell import Shell
from agentrt.specs.workspace import Confine

from .consoles import here, local_console
from .living import runs, until

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home whose rc files are not those of who runs the tests: a bash that takes the place of ours reads them."""
    monkeypatch.setenv("HOME", str(tmp_path))


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


async def ended(shell: Shell) -> tuple[int, str]:
    """Exit code and output of the running command."""
    with anyio.fail_after(30):
        while shell.running:
            await shell.wait(None)
    end = await shell.wait(0)
    assert end is not None
    return end.exit_code, shell.take().decode()


async def run(shell: Shell, command: str, **secrets: str) -> tuple[int, str]:
    """Exit code and output of a command."""
    await shell.begin(command, lambda data: None, secrets)
    return await ended(shell)


CHANGES = {
    "prompt-command-unset": "unset PROMPT_COMMAND",
    "prompt-command": "PROMPT_COMMAND=no_such_command",
    "prompt-command-readonly": "readonly PROMPT_COMMAND=:",
    "prompt-command-array": "declare -a PROMPT_COMMAND=(: : false)",
    "prompt-command-prints": "PROMPT_COMMAND='echo noise; echo noise >&2'",
    "prompt-command-sets-prompt": "PROMPT_COMMAND='PS1=mine'",
    "prompt": "PS1='$ '; PS2='> '; PS0=hello; PS4=trace",
    "prompt-exported": "export PS1",
    "prompt-unset": "unset PS0 PS1 PS2 PS4",
    "prompt-readonly": "readonly PS1='$ ' PS2",
    "prompt-before": 'PS1="(venv) ${PS1-}"; VIRTUAL_ENV_PROMPT=x',
    "no-promptvars": "shopt -u promptvars",
    "profile": "printf 'PS1=x\\nPROMPT_COMMAND=y\\nalias ls=l\\n' > rc; . ./rc",
    "debug": "trap ':' DEBUG",
    "debug-prints": "trap 'echo debug >/dev/null' DEBUG; set -o functrace",
    "debug-skips": "shopt -s extdebug; trap - DEBUG",
    "return-error-exit": "trap ':' RETURN; trap ':' ERR; trap ':' EXIT; set -E",
    "unset-variables": "set -u",
    "errexit": "set -e",
    "errexit-after-failure": "false; set -e",
    "pipefail": "set -eu -o pipefail",
    "noclobber": "set -o noclobber; set -f; set -b",
    "allexport": "set -a",
    "posix": "set -o posix",
    "no-history": "set +o history; shopt -u cmdhist; unset HISTFILE HISTSIZE",
    "history-expansion": "set -o history; set -H",
    "editing": "set -o emacs",
    "vi": "set -o vi",
    "no-jobs": "set +m",
    "options": "shopt -s nullglob failglob dotglob extglob globstar nocasematch lastpipe inherit_errexit",
    "no-aliases": "shopt -u expand_aliases",
    "aliases": "shopt -s expand_aliases; alias printf=false .=false builtin=false declare=false return=false",
    "functions": "printf() { :; }; unset() { :; }; export() { :; }; declare() { :; }; eval() { :; }; shopt() { :; }",
    "source": "source() { :; }; echo() { :; }; read() { :; }; set() { :; }; unalias -a",
    "ours": "unset -f __agentrt_begin; unset __agentrt_token __agentrt_pid; __agentrt_code=x; unset AGENTRT_CALL",
    "home": "unset HOME PATH IFS PWD OLDPWD TERM SHELL; hash -r; PATH=/usr/bin:/bin",
    "ifs": "IFS=0123456789abcdef/",
    "locale": "LC_ALL=C; LANG=xx; TZ=Nowhere",
    "parameters": "set -- one two three; shift",
    "output": "exec 3>&1 4>&2 >out 2>&1; exec 1>&3 2>&4",
    "no-standard-error": "exec 2>/dev/null",
    "echo": "stty echo icanon onlcr",
    "sane": "stty sane",
    "raw": "stty raw",
    "no-signals": "stty -isig -icrnl -opost",
    "gone-directory": "mkdir here; cd here; rmdir ../here",
    "descriptors": "exec 3>&- 4>&- 5>&- 9>&-",
    "nested-return": "f() { return 0; }; f",
    "umask": "umask 777",
}
ONCE = [
    CHANGES[name] for name in ("prompt-command-readonly", "prompt-readonly", "gone-directory", "errexit-after-failure")
]
"""Those that fail the second time in one shell."""


@pytest.mark.parametrize("command", CHANGES.values(), ids=CHANGES.keys())
async def test_a_command_may_change_what_the_next_is_run_with(shell: Shell, command: str) -> None:
    """What is cut after the change ends too: the rest of its line is not run, and nothing says so but the prompt."""
    assert (await run(shell, command))[0] == 0
    for _ in range(2):
        await check_goes_on(shell)
    if "errexit" not in command and "set -e" not in command:
        assert (await run(shell, "(exit 7)"))[0] == 7
    if command not in ONCE:
        await shell.begin(f"{command}\n/bin/sleep 300", lambda data: None)
        await until(lambda: runs("sleep"))
        assert (await shell.interrupt())[0] == "SIGINT"
        assert not shell.running
        await check_goes_on(shell)


async def check_goes_on(shell: Shell) -> None:
    code, text = await run(shell, "/bin/echo on || :")
    assert (code, text.splitlines()[-1:]) == (0, ["on"])
    assert shell.alive


@pytest.mark.parametrize("command", ONCE)
async def test_what_is_cut_after_a_change_that_can_be_made_once_ends_too(shell: Shell, command: str) -> None:
    await shell.begin(f"{command}\n/bin/sleep 300", lambda data: None)
    await until(lambda: runs("sleep"))
    assert (await shell.interrupt())[0] == "SIGINT"
    await check_goes_on(shell)


@pytest.mark.parametrize(
    "command",
    [
        "readonly PROMPT_COMMAND=1; PROMPT_COMMAND=2",
        "set -u; : $none",
        ": ${none?}",
        "readonly a; a=1",
        "__agentrt_token=x",
    ],
)
async def test_an_error_that_ends_the_line_ends_the_command(shell: Shell, command: str) -> None:
    code, text = await run(shell, f"{command}; echo not run")
    assert code != 0
    assert "not run" not in text
    assert await run(shell, "echo on") == (0, "on\n")


async def test_output_that_goes_elsewhere_takes_no_end_along(shell: Shell, tmp_path: Path) -> None:
    assert await run(shell, "exec > out; echo one") == (0, "")
    assert await run(shell, "echo two; (exit 3)") == (3, "")
    assert await run(shell, "exec >/dev/tty; echo three") == (0, "three\n")
    assert (tmp_path / "out").read_text() == "one\ntwo\n"


async def test_a_prompt_command_is_run_and_seen_nowhere(shell: Shell, tmp_path: Path) -> None:
    assert await run(shell, "PROMPT_COMMAND='echo $? >> codes; echo noise'; (exit 5)") == (5, "")
    assert await run(shell, "echo $?; (exit 6)") == (6, "5\n")
    assert await run(shell, "echo $PROMPT_COMMAND") == (0, "echo $? >> codes; echo noise\n")
    assert (tmp_path / "codes").read_text().split()[:2] == ["5", "6"]


async def test_a_shell_inside_is_a_command_like_any(shell: Shell) -> None:
    await run(shell, "export PS1; set -a")
    pieces: list[bytes] = []
    await shell.begin("bash --noediting --rcfile <(echo echo ready) -i", pieces.append)
    await until(lambda: b"ready" in b"".join(pieces))
    await shell.send(b"echo inside\n")
    await until(lambda: b"inside\n" in b"".join(pieces))
    assert b"\x1e" not in b"".join(pieces)
    assert shell.running
    await shell.send(b"exit 9\n")
    assert (await ended(shell))[0] == 9
    assert await run(shell, "echo on") == (0, "on\n")


async def test_where_its_files_were_removed_they_are_written_again(
    shell: Shell, console: LocalConsole, confine: Confine
) -> None:
    scratch = console.scratch
    code, text = await run(shell, f"rm -r {scratch}; (exit 4)")
    assert (code, "Read-only file system" in text) == (4, confine == "require")
    assert await run(shell, "echo $?; echo on") == (0, "4\non\n")
    shutil.rmtree(scratch)
    assert await run(shell, "echo on; (exit 6)", TOKEN="hunter2-and-more") == (6, "on\n")


async def test_after_a_cut_execution_no_secret_is_left(shell: Shell) -> None:
    await shell.begin("PS1=; unset PROMPT_COMMAND; sleep 300", lambda data: None, {"TOKEN": "hunter2-and-more"})
    await until(lambda: runs("sleep"))
    assert await shell.interrupt() == ("SIGINT",)
    assert await run(shell, "echo [$TOKEN]") == (0, "[]\n")


async def test_tracing_shows_the_command_and_nothing_of_ours(shell: Shell) -> None:
    await run(shell, "set -x")
    code, text = await run(shell, "echo on")
    assert code == 0
    assert [line for line in text.splitlines() if "builtin ." not in line] == ["++ echo on", "on"]
    assert "__agentrt" not in text


@pytest.mark.parametrize("command", ["exec bash", "exec bash --norc", "exec -l bash", "exec env -i bash -i"])
async def test_another_bash_in_the_place_of_the_first_is_gone_on_with(
    shell: Shell, console: LocalConsole, command: str
) -> None:
    await run(shell, "export KEPT=1; cd /")
    await shell.begin(command, lambda data: None)
    await until(console.replaced)
    await shell.adopt()
    assert "builtin" not in (await ended(shell))[1]
    assert await run(shell, "pwd; (exit 5)") == (5, "/\n")
    assert await run(shell, "echo $?") == (0, "5\n")


class Late(LocalConsole):
    """What its terminal brings from the prompt after the first command on is heard once it is let."""

    async def start(self, token: str, directory: str, start: PurePath, heard: Heard) -> None:
        self._late: bytes | None = b""

        def hear(data: bytes) -> None:
            prompt = data.find(f"\x1e{token}-1;".encode())
            if self._late is None or (not self._late and prompt < 0):
                heard(data)
            elif self._late:
                self._late += data
            else:
                heard(data[:prompt])
                self._late = data[prompt:]

        self._hear_late = heard
        await super().start(token, directory, start, hear)

    def let(self) -> None:
        late, self._late = self._late or b"", None
        self._hear_late(late)


async def test_a_prompt_that_is_heard_late_does_not_end_what_takes_the_place_of_bash(tmp_path: Path) -> None:
    console = Late(str, "", here(tmp_path))
    shell = Shell(console, tmp_path)
    await shell.start()
    await run(shell, "cd /")
    await shell.begin("exec bash --norc", lambda data: None)
    await until(lambda: console.replaced())
    await shell.adopt()
    console.let()
    await ended(shell)
    assert await run(shell, "pwd; (exit 5)") == (5, "/\n")
    await shell.close()


async def test_a_shell_that_reads_for_a_command_was_not_replaced(shell: Shell) -> None:
    await shell.begin("read line; echo [$line]", lambda data: None)
    await shell.adopt()
    await shell.send(b"said\n")
    assert await ended(shell) == (0, "[said]\n")


async def test_half_a_line_that_was_typed_is_no_part_of_the_next_command(shell: Shell) -> None:
    for left in (b"it's", b"\x1b[A", b"echo half", b"\x1b"):
        await shell.begin("sleep 0.05", lambda data: None)
        await shell.send(left)
        assert (await ended(shell))[0] == 0
        await shell.begin("echo on", lambda data: None)
        if b"'" in left:
            await shell.cut()
            assert (await ended(shell))[0] == 130
            await shell.begin("echo on", lambda data: None)
        assert await ended(shell) == (0, "on\n"), left


async def cut(shell: Shell, way: Callable[[Shell], Awaitable[object]]) -> None:
    """Cut a command that bash itself executes."""
    begun = anyio.Event()
    await shell.begin("echo begun; read line", lambda data: begun.set())
    await begun.wait()
    await way(shell)
    assert (await ended(shell))[0] == 130


@pytest.mark.parametrize("way", [Shell.cut, Shell.interrupt])
async def test_what_bash_keeps_of_a_line_that_was_cut_is_no_part_of_the_next_one(
    shell: Shell, console: LocalConsole, way: Callable[[Shell], Awaitable[object]]
) -> None:
    """Bash reads a line in pieces; one that C-c interrupts forgets what it has parsed, and goes on with the rest."""
    for kept in (b"echo 'open\n", b"cat\n", b"echo stray\n", b"(\n"):
        await cut(shell, way)
        await console.send(kept)
        assert await run(shell, "echo on") == (0, "on\n"), kept


async def test_a_shell_that_does_not_answer_is_said_so(tmp_path: Path) -> None:
    console = local_console(tmp_path)
    shell = Shell(console, tmp_path)
    await shell.start()
    await cut(shell, Shell.cut)
    await console.send(b"trap '' INT; : > ready; exec cat\n")
    await until(lambda: anyio.Path(tmp_path / "ready").exists())
    with pytest.raises(ToolError, match="does not answer"):
        await run(shell, "echo on")
    await shell.close()


@pytest.mark.parametrize("times", [15, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("before", ["true", "unset PROMPT_COMMAND", "PROMPT_COMMAND="])
async def test_a_command_that_is_cut_while_it_starts_a_program_leaves_the_shell(
    shell: Shell, before: str, times: int
) -> None:
    await run(shell, f"kept=1; {before}")
    for _ in range(times):
        begun = anyio.Event()
        await shell.begin("echo begun; sleep 300", lambda data, begun=begun: begun.set())  # type: ignore[misc]
        await begun.wait()
        await shell.interrupt()
        assert await run(shell, "echo $kept") == (0, "1\n")


UNCLOSED = [
    "[[ a",
    "echo $(",
    'echo "$(ls',
    "cat <(ls",
    "echo ${a",
    "echo `",
    'echo "a',
    "echo 'a",
    "if true",
    "(( 1",
    "case a in",
    "f() {",
    "<<EOF",
]


async def test_what_is_not_closed_ends_and_the_shell_goes_on(shell: Shell) -> None:
    for command, length in product(UNCLOSED, (1, 30, 200, 3)):
        code, said = await run(shell, command)
        if command not in ("<<EOF", "[[ a"):
            assert code
            assert said.startswith("bash: line ")
        await run(shell, f"{command} # {'x' * length}", TOKEN="hidden-value")
        assert await run(shell, "echo fine ${TOKEN-gone}") == (0, "fine gone\n")


async def test_output_through_a_filter_comes_with_its_command(shell: Shell, tmp_path: Path) -> None:
    await run(shell, f"exec > >(tee {tmp_path}/log) 2>&1")
    assert await run(shell, "echo one") == (0, "one\n")
    code, shown = await run(shell, "echo two; ls /nonexist")
    assert (code, "two" in shown, "/nonexist" in shown) == (2, True, True)
    assert await run(shell, "echo three") == (0, "three\n")
    code, shown = await run(shell, f"cat {tmp_path}/log; false")
    assert (code, "one" in shown, "three" in shown) == (1, True, True)


async def test_a_prompt_that_comes_late_ends_no_other_command(shell: Shell, tmp_path: Path) -> None:
    await run(shell, f"exec 2> >(tee {tmp_path}/errors >&2)")
    for number in range(3):
        code, shown = await run(shell, f"ls /nonexist; sleep 0.05; echo {number}; (exit {number})")
        assert (code, f"{number}\n" in shown) == (number, True)


async def test_a_command_that_ignores_c_c_reads_nothing_of_ours(shell: Shell) -> None:
    heard = bytearray()
    await shell.begin("trap '' INT; echo ready; read x; echo got:$x; trap - INT", heard.extend)
    await until(lambda: b"ready" in heard)
    await shell.cut()
    assert shell.running
    await shell.send(b"mine\n")
    assert (await ended(shell))[1].endswith("got:mine\n")

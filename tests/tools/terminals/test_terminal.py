"""`terminal` with a real bash: state, time limits, input, interrupts, long output."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.lowlevel
import msgspec
import pytest

from agentrt.context.replies import BadCall
from agentrt.errors import ConfigurationError, ToolError
from agentrt.secrets import EnvironmentSecret, SecretRegistry
from agentrt.specs import BlobReference, LocalWorkspace, TextContent, Tool
from agentrt.specs.content import plain
from agentrt.tools.definition import Tools
from agentrt.tools.terminals.terminal import MAX_OUTPUT, STILL_RUNNING, Terminal, TerminalAction, TerminalObservation
from agentrt.tools.terminals.terminal import terminal as terminal_tool

from ...sandboxes.living import until
from ..context import FakeContext, lives

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("walls")]

Run: TypeAlias = Callable[..., Awaitable[TerminalObservation]]
SHORT = 0.05
"""Seconds to wait for a command that does not end by itself."""


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    terminal = Terminal({})
    yield terminal
    await terminal.aclose()


@pytest.fixture
def run(terminal: Terminal, context: FakeContext) -> Run:
    """Runs one call."""

    async def run(
        command: str = "", *, is_input: bool = False, timeout: float | None = None, reset: bool = False
    ) -> TerminalObservation:
        with anyio.fail_after(10):
            return await terminal(TerminalAction(command, is_input, timeout, reset), context)

    return run


def shown(observation: TerminalObservation) -> str:
    """The output that the model sees."""
    block = observation.content[0]
    assert isinstance(block, TextContent)
    return block.text


def footer(observation: TerminalObservation) -> str:
    """The last line that the model sees."""
    block = observation.content[-1]
    assert isinstance(block, TextContent)
    return block.text


async def left_running(run: Run, command: str, pattern: str) -> re.Match[str]:
    """Run a command that does not end; the first place where its output matches, once some call's does."""
    said = shown(await run(command, timeout=SHORT))
    with anyio.fail_after(30):
        while not (match := re.search(pattern, said)):
            observation = await run(timeout=SHORT)
            assert observation.status != "completed"
            said += shown(observation)
    return match


_ASLEEP = "sh -c 'echo pid $$; exec sleep 300 < /dev/null > /dev/null 2>&1'"
AWAY = [
    f"env -i setsid -f {_ASLEEP}; sleep 300",
    f"(unset AGENTRT_CALL AGENTRT_SHELL; setsid -f {_ASLEEP}); sleep 300",
    f"env -i /usr/bin/setsid sh -c {shlex.quote(f'({_ASLEEP} &)')}; sleep 300",
]
AWAY_IDS = ["bare-session", "unmarked-session", "bare-session-orphan"]
"""What leaves its session, its environment and its parent."""


async def cancelled_when(terminal: Terminal, context: FakeContext, command: str, pattern: str) -> re.Match[str]:
    """Run a command, and cancel the call when it has printed `pattern`; that place of its output."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(terminal, TerminalAction(command), context)
            match = await context.until(pattern)
            group.cancel_scope.cancel()
    return match


async def test_more_processes_than_it_may_have_end_it(context: FakeContext) -> None:
    terminal = Terminal({"max_processes": 20})
    try:
        few = await terminal(TerminalAction("for i in 1 2 3; do sleep 300 & done; echo $$"), context)
        assert few.exit_code == 0
        with anyio.fail_after(10):
            with pytest.raises(ToolError, match="more than 20 processes"):
                await terminal(
                    TerminalAction("for i in $(seq 40); do sleep 300 & echo $! >> pids; done; wait"), context
                )
        started = [int(pid) for pid in (Path(context.workspace.path) / "pids").read_text().split()]
        assert len(started) > 10
        await until(lambda: not any(map(lives, started)))
        again = await terminal(TerminalAction("echo again"), context)
        assert again.exit_code == 0, "the next command has a new shell"
    finally:
        await terminal.aclose()


async def test_directory_variables_functions_and_environment_are_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    first = await run("cd sub\nhere=1\nexport THERE=2\nhello() { echo hello; }")
    assert first.working_dir == str(tmp_path / "sub")
    second = await run("pwd; echo $here; sh -c 'echo $THERE'; hello")
    assert shown(second) == f"{tmp_path}/sub\n1\n2\nhello"
    assert second.working_dir == str(tmp_path / "sub")


@pytest.mark.parametrize(
    ("command", "code"), [("true", 0), ("false", 1), ("(exit 77)", 77), ("kill -9 $BASHPID &\nwait $!", 137)]
)
async def test_exit_codes(run: Run, command: str, code: int) -> None:
    observation = await run(command)
    assert (observation.exit_code, observation.status) == (code, "completed")
    assert observation.is_error is (code != 0)
    assert footer(observation) == f"[exit code {code}, in {observation.working_dir}]"


async def test_several_lines_and_a_here_document(run: Run) -> None:
    observation = await run("cat <<'END'\nfirst $HOME\n\n  second\nEND\nfor i in 1 2; do\n  echo \"$i\"\ndone")
    assert shown(observation) == "first $HOME\n\n  second\n1\n2"


async def test_standard_error_is_shown_in_its_place(run: Run) -> None:
    assert shown(await run("echo one; echo two >&2; echo three")) == "one\ntwo\nthree"


async def test_unicode_also_cut_between_reads(run: Run, context: FakeContext) -> None:
    assert shown(await run("echo 'grüße 日本 🙂'; touch 'ß'; ls")) == "grüße 日本 🙂\nß"
    await run(r"printf '\xf0\x9f'; printf '\x99\x82\n'; printf '\xff\n'")
    assert context.shown.endswith("🙂\n\ufffd\n")


async def test_colours_and_titles_are_left_out(run: Run) -> None:
    assert shown(await run(r"printf '\033[1;31mred\033[0m \033]0;title\007plain\n'")) == "red plain"


async def test_output_is_shown_while_it_comes(terminal: Terminal, context: FakeContext) -> None:
    await cancelled_when(terminal, context, "echo now; sleep 300", "now\n")


async def test_output_is_shown_to_the_call_that_waits_for_it(
    terminal: Terminal, context: FakeContext, run: Run, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    await run("cat gate; cat gate", timeout=SHORT)
    later = FakeContext(tmp_path)
    async with anyio.create_task_group() as group:
        group.start_soon(terminal, TerminalAction(""), later)
        await anyio.Path(tmp_path / "gate").write_text("late\n")
        await later.until("late\n")
        await anyio.Path(tmp_path / "gate").write_text("last\n")
    assert later.shown == "late\nlast\n"
    assert context.shown == ""


async def test_an_empty_input_only_waits_and_a_key_is_one(run: Run) -> None:
    asks = 'read -r said; echo "[$said]"'
    await run(asks, timeout=SHORT)
    waits = await run("", is_input=True, timeout=SHORT)
    assert (waits.status, waits.still_running) == ("hard_timeout", True), "who asks so again does not repeat himself"
    assert shown(await run("ENTER", is_input=True)).endswith("[]")


async def test_a_command_that_ended_between_two_calls_is_still_seen(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    await run("cat gate; (exit 5)", timeout=SHORT)
    await anyio.Path(tmp_path / "gate").write_text("through\n")
    seen = ""
    with pytest.raises(ToolError, match=r"has ended meanwhile: .* empty command"), anyio.fail_after(30):
        while True:
            seen += shown(await run(":", is_input=True, timeout=0))
            await anyio.lowlevel.checkpoint()
    last = await run()
    assert (last.exit_code, last.status) == (5, "completed")
    assert seen + shown(last) == "through"
    with pytest.raises(ToolError, match="no command is running"):
        await run()


async def test_a_shell_that_ended_between_two_calls_is_still_seen(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    pid = int(shown(await run("echo $$")))
    await run("cat gate; exit 5", timeout=SHORT)
    await anyio.Path(tmp_path / "gate").write_text("through\n")
    await until(lambda: not lives(pid))
    last = await run()
    assert (shown(last), last.exit_code, last.status) == ("through", 5, "completed")
    assert "the shell ended" in footer(last)
    assert shown(await run("echo anew")) == "anew"


@pytest.mark.parametrize("command", ["if then", "echo 'open", "for i in 1; do echo $i", ")"])
async def test_a_syntax_error_is_an_error_and_the_shell_goes_on(run: Run, command: str) -> None:
    observation = await run(command)
    assert observation.is_error
    assert re.search(r"bash: line \d: .*(syntax error|unexpected EOF)", shown(observation))
    assert shown(await run("echo on")) == "on"


async def test_the_markers_own_bytes_in_the_output_are_output(run: Run) -> None:
    observation = await run(r"printf '\036a\037\036\n'; printf '\036%s\037' $AGENTRT_SHELL; echo; (exit 3)")
    assert observation.exit_code == 3
    assert re.fullmatch("\x1ea\x1f\x1e\n\x1e[0-9a-f]{16}\x1f", shown(observation))
    assert shown(await run("echo on")) == "on"


async def test_after_its_time_limit_a_command_is_left_running(run: Run, context: FakeContext, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    first = await run("echo begun; cat gate; exit_code() { return 5; }; exit_code", timeout=SHORT)
    assert (first.exit_code, first.status, first.is_error) == (STILL_RUNNING, "hard_timeout", False)
    assert SHORT <= first.seconds < 2
    assert "empty command" in footer(first)
    assert "C-c" in footer(first)
    if "begun" not in shown(first):
        await left_running(run, "", "begun")
    poll = await run(timeout=SHORT)
    assert (poll.exit_code, poll.status) == (STILL_RUNNING, "hard_timeout")
    assert (first.still_running, poll.still_running) == (False, True), "waiting is not repeating oneself"
    assert shown(poll) == "", "it was shown before"
    assert "nothing new; still running" in footer(poll)
    await anyio.Path(tmp_path / "gate").write_text("through\n")
    last = await run()
    assert (last.exit_code, last.status, last.still_running) == (5, "completed", False)
    assert shown(last) == "through"


async def test_a_command_that_prints_nothing_is_left_running(context: FakeContext) -> None:
    terminal = Terminal({"no_change_timeout": SHORT})
    try:
        observation = await terminal(TerminalAction("echo begun; sleep 300"), context)
        assert (observation.exit_code, observation.status) == (STILL_RUNNING, "no_change_timeout")
    finally:
        await terminal.aclose()


async def test_a_command_that_goes_on_printing_is_waited_for(context: FakeContext) -> None:
    terminal = Terminal({"no_change_timeout": 0.5})
    try:
        observation = await terminal(TerminalAction("for i in 1 2 3 4 5 6 7; do sleep 0.1; echo $i; done"), context)
        assert observation.status == "completed"
        assert observation.seconds >= 0.7
    finally:
        await terminal.aclose()


async def test_a_second_command_while_one_runs_is_refused(run: Run) -> None:
    await run("sleep 300", timeout=SHORT)
    with pytest.raises(ToolError, match=r"'sleep.*still running here.*empty command.*is_input.*reset"):
        await run("echo second")
    assert (await run(timeout=SHORT)).status == "hard_timeout"


@pytest.mark.parametrize("call", [TerminalAction(""), TerminalAction(" \n"), TerminalAction("C-c", is_input=True)])
async def test_polling_or_typing_when_nothing_runs_is_refused(
    terminal: Terminal, context: FakeContext, call: TerminalAction
) -> None:
    with pytest.raises(ToolError, match="no command is running"):
        await terminal(call, context)


async def test_text_is_typed_into_the_running_command(run: Run) -> None:
    await left_running(run, "read -p 'name? ' name; read rest; echo \"<$name|$rest>\"", r"name\? ")
    assert (await run("Jörg O'Neil", is_input=True, timeout=SHORT)).status == "hard_timeout"
    last = await run("more\n", is_input=True)
    assert shown(last) == "<Jörg O'Neil|more>"


@pytest.mark.parametrize("key", ["C-c", "c-C"])
async def test_c_c_stops_the_running_command_and_the_shell_goes_on(run: Run, context: FakeContext, key: str) -> None:
    await run("kept=1")
    await left_running(run, "echo begun; sleep 300", "begun")
    stopped = await run(key, is_input=True)
    assert (stopped.exit_code, stopped.status) == (130, "completed")
    assert shown(await run("echo $kept")) == "1"


async def test_c_d_ends_the_input(run: Run) -> None:
    await run("cat; echo end", timeout=SHORT)
    assert shown(await run("C-d", is_input=True)) == "end"


@pytest.mark.parametrize(
    ("key", "sent"), [("UP", b"\x1b[A"), ("F", b"F\n"), ("TAB", b"\t"), ("ESC", b"\x1b"), ("C-z", b"\x1a")]
)
async def test_keys(run: Run, context: FakeContext, key: str, sent: bytes) -> None:
    await left_running(run, f"stty raw; echo ready; head -c {len(sent)} | od -An -tx1; stty -raw", "ready")
    observation = await run(key, is_input=True)
    assert shown(observation).split() == [f"{byte:02x}" for byte in sent]


async def test_reset_begins_anew(run: Run, tmp_path: Path) -> None:
    pid = int(shown(await run("cd /; lost=1; sleep 300 & echo $!")))
    await run("sleep 300", timeout=SHORT)
    reset = await run(reset=True)
    assert (reset.exit_code, reset.status, reset.working_dir) == (0, "reset", str(tmp_path))
    assert not lives(pid)
    assert shown(await run('echo "[$lost]"')) == "[]"


async def test_reset_can_bring_the_next_command(run: Run) -> None:
    await run("lost=1")
    observation = await run('echo "[$lost]"', reset=True)
    assert (shown(observation), observation.status) == ("[]", "completed")


async def test_a_cancelled_reset_still_ends_the_old_shell(terminal: Terminal, context: FakeContext, run: Run) -> None:
    match = await left_running(
        run, "bash -c 'trap \"\" TERM HUP; echo pid $$; while :; do sleep 0.01; done'", r"pid (\d+)"
    )
    with anyio.move_on_after(SHORT) as scope:
        await terminal(TerminalAction("", reset=True), context)
    assert scope.cancelled_caught
    assert not lives(int(match[1]))


async def test_long_output_is_clipped_and_kept_whole(run: Run, context: FakeContext) -> None:
    observation = await run("seq 1 20000")
    whole = "\n".join(map(str, range(1, 20001)))
    text, blob, note = observation.content
    assert isinstance(text, TextContent)
    assert isinstance(blob, BlobReference)
    assert isinstance(note, TextContent)
    assert len(text.text) <= MAX_OUTPUT
    assert text.text.startswith("1\n2\n3\n")
    assert text.text.endswith("\n19999\n20000")
    assert "characters left out" in text.text
    assert context.kept[blob.sha256] == whole.encode()
    assert blob.sha256 == hashlib.sha256(whole.encode()).hexdigest()
    assert context.shown == whole + "\n"
    assert context.spilled == {"/spilled/0": whole}
    assert "in 20,000 lines, is in /spilled/0" in plain(observation.content)


async def test_long_output_that_cannot_be_written_is_clipped_all_the_same(run: Run, context: FakeContext) -> None:
    context.spilled = None
    text, blob, _ = (await run("seq 1 20000")).content
    assert isinstance(text, TextContent)
    assert isinstance(blob, BlobReference)


async def test_calls_show_what_is_new_and_nothing_twice(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    gate = anyio.Path(tmp_path / "gate")
    await left_running(run, 'seq 1000; while read -r line; do echo "got $line"; done <> gate', "1000")
    for word in ("one", "two"):
        await gate.write_text(f"{word}\n")
        assert (await left_running(run, "", f"got {word}")).string == f"got {word}"
    assert shown(await run(timeout=SHORT)) == ""
    stopped = await run("C-c", is_input=True)
    assert (shown(stopped).replace("^C", ""), stopped.exit_code) == ("", 130)


async def test_a_secret_that_two_calls_share_is_hidden_in_both(terminal: Terminal, tmp_path: Path) -> None:
    registry = SecretRegistry({"TOKEN": "hunter2-and-more"})
    context = FakeContext(tmp_path, registry=registry)

    async def run(command: str, *, is_input: bool = False) -> str:
        return shown(await terminal(TerminalAction(command, is_input, 2 * SHORT), context))

    said = await run("printf 'it is hunter2-'; read line; printf 'and-more, it is\\n'; read line")
    said += await run("", is_input=False)
    said += await run("go on", is_input=True)
    assert "hunter2" not in said
    assert "and-more" not in said
    assert said.strip() == "it is <secret-hidden>, it is"


async def test_a_progress_bar_shows_its_last_state(run: Run) -> None:
    bar = r"for i in $(seq 100); do printf '\r%s%%' $i; done; printf '\n'; echo done"
    assert shown(await run(bar)) == "100%\ndone"
    assert shown(await run(r"printf '10%%\033[2K\033[1G20%%\n'; printf 'wait |\b/\b-\n'")) == "20%\nwait -"


async def test_another_bash_in_the_place_of_the_shell_takes_over(run: Run) -> None:
    taken = await run("export kept=1; exec bash --norc")
    assert (taken.status, taken.exit_code) == ("completed", 0)
    assert shown(await run("echo $kept")) == "1"


async def test_c_c_brings_back_a_shell_whose_prompt_was_changed(run: Run) -> None:
    await left_running(run, "PS1='$ ' PROMPT_COMMAND=true; kept=1; echo begun; sleep 300", "begun")
    stopped = await run("C-c", is_input=True)
    assert (stopped.exit_code, stopped.status) == (130, "completed")
    assert shown(await run("echo $kept")) == "1"


async def test_output_just_within_the_limit_is_whole(run: Run, context: FakeContext) -> None:
    observation = await run(f"head -c {MAX_OUTPUT} /dev/zero | tr '\\0' x")
    assert shown(observation) == "x" * MAX_OUTPUT
    assert context.kept == {}


@pytest.mark.parametrize("code", [0, 3])
async def test_exit_ends_the_shell_and_the_next_command_begins_anew(run: Run, tmp_path: Path, code: int) -> None:
    observation = await run(f"cd /; lost=1; echo bye; exit {code}")
    assert (observation.exit_code, observation.is_error) == (code, code != 0)
    assert shown(observation) == "bye"
    assert "the shell ended" in footer(observation)
    assert shown(await run('pwd; echo "[$lost]"')) == f"{tmp_path}\n[]"


async def test_what_looks_like_a_secret_does_not_reach_the_shell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2")
    monkeypatch.setenv("SOME_TOKEN", "hunter2")
    monkeypatch.setenv("SOME_SETTING", "plain")
    text = shown(await run("env; echo; set"))
    assert "hunter2" not in text
    assert "SOME_SETTING=plain" in text


async def test_a_variable_with_a_secret_in_it_does_not_reach_a_command(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_ADDRESS", "postgres://u:hunter2-and-more@h/db")
    monkeypatch.setenv("ACCESS", "tercel-hunter3")
    registry = SecretRegistry({"DB": EnvironmentSecret("DB_ADDRESS")})
    context, seen = FakeContext(tmp_path, registry=registry), 'echo "[${DB_ADDRESS:+set}${ACCESS:+set}]"'
    assert shown(await terminal(TerminalAction(seen), context)) == "[set]", "ACCESS is none yet"
    registry.seed(["tercel-hunter3"])
    assert shown(await terminal(TerminalAction(seen), context)) == "[]"
    await terminal(TerminalAction("export ACCESS=mine"), context)
    assert shown(await terminal(TerminalAction('false; true; echo "$ACCESS"'), context)) == "mine"


async def test_a_secret_that_is_coloured_in_its_middle_is_one(terminal: Terminal, tmp_path: Path) -> None:
    context = FakeContext(tmp_path, registry=SecretRegistry({"TOKEN": "hunter2-and-more"}))
    await terminal(TerminalAction("printf 'hunter2\\033[01;31m\\033[K-and\\033[m-more\\n'"), context)
    assert context.shown == "hunter2-and-more\n", "which whoever shows it masks"


async def test_a_named_secret_is_given_to_one_command_and_masked_in_its_result(
    terminal: Terminal, tmp_path: Path
) -> None:
    registry = SecretRegistry({"TOKEN": "hunter2-and-more", "OTHER": "tercel-hunter3"})
    context = FakeContext(tmp_path, registry=registry)
    named = await terminal(TerminalAction('printenv TOKEN; test "$TOKEN" = hunter2-and-more; echo $?; env'), context)
    assert shown(named).startswith("<secret-hidden>\n0\n")
    assert "tercel" not in shown(named)
    unnamed = await terminal(TerminalAction("env; set; declare -p"), context)
    assert "hunter2" not in shown(unnamed)
    assert "<secret-hidden>" not in shown(unnamed)


async def test_a_secret_that_cannot_be_had_keeps_the_command_from_running(terminal: Terminal, tmp_path: Path) -> None:
    registry = SecretRegistry({"TOKEN": EnvironmentSecret("NOT_SET")}, environment={})
    context = FakeContext(tmp_path, registry=registry)
    with pytest.raises(ToolError, match="secret 'TOKEN' is not available"):
        await terminal(TerminalAction("touch made; echo $TOKEN"), context)
    assert not (tmp_path / "made").exists()
    assert shown(await terminal(TerminalAction("echo on"), context)) == "on"


async def test_input_to_a_command_is_given_no_secret(terminal: Terminal, tmp_path: Path) -> None:
    context = FakeContext(tmp_path, registry=SecretRegistry({"TOKEN": "hunter2-and-more"}))
    await terminal(TerminalAction('read line; echo "[$line]"; eval "$line"', timeout=SHORT), context)
    typed = await terminal(TerminalAction('echo "($TOKEN)"', is_input=True), context)
    assert shown(typed) == '[echo "($TOKEN)"]\n()'


async def test_half_a_secret_is_not_left_where_output_is_cut(terminal: Terminal, tmp_path: Path) -> None:
    context = FakeContext(tmp_path, registry=SecretRegistry({"TOKEN": "0123456789" * 100}))
    observation = await terminal(TerminalAction("for i in $(seq 60); do echo $TOKEN; done"), context)
    assert "456" not in shown(observation)
    assert context.kept == {}


async def test_much_output_is_masked_before_it_is_cut_whoever_gave_the_secret(
    terminal: Terminal, tmp_path: Path
) -> None:
    context = FakeContext(tmp_path, registry=SecretRegistry({"TOKEN": "0123456789" * 2000}))
    command = "python3 -c 'print(chr(10).join(\"0123456789\" * 2000 for _ in range(60)))'"
    observation = await terminal(TerminalAction(command), context)
    assert shown(observation) == "\n".join(["<secret-hidden>"] * 60)
    assert context.kept == {}


@pytest.mark.simulated
async def test_no_shell_where_there_can_be_no_directory(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ToolError, match="gone is not there: Not a directory"):
        await terminal(TerminalAction("pwd"), FakeContext(tmp_path / "file" / "gone"))


async def test_cancelling_ends_the_command_and_keeps_the_shell(
    terminal: Terminal, context: FakeContext, run: Run
) -> None:
    await run("kept=1; cd /")
    command = "sh -c 'echo pid $$; exec sleep 300' | cat"
    match = await cancelled_when(terminal, context, command, r"pid (\d+)")
    assert not lives(int(match[1]))
    assert "[interrupted with SIGINT" in context.shown
    assert shown(await run("pwd; echo $kept")) == "/\n1"


@pytest.mark.parametrize(
    "command",
    [
        "setsid -w sh -c 'echo pid $$; exec sleep 300'",
        "setsid sh -c 'echo pid $$; exec sleep 300' & sleep 300",
        "(setsid sh -c 'echo pid $$; exec sleep 300' &) ; sleep 300",
        "sh -c 'echo pid $$; exec sleep 300' & sleep 300",
        "nohup sh -c 'echo pid $$ > /dev/tty; exec sleep 300' & disown; sleep 300",
        "( ( echo pid $BASHPID; while :; do sleep 0.01; done ) & ); sleep 300",
        "(env -i PATH=\"$PATH\" sh -c 'echo pid $$; exec sleep 300' &); sleep 300",
        *AWAY,
    ],
    ids=["session", "session-behind", "session-orphan", "behind", "disowned", "fork-orphan", "bare-orphan", *AWAY_IDS],
)
async def test_cancelling_ends_what_got_away(terminal: Terminal, context: FakeContext, run: Run, command: str) -> None:
    await run("kept=1")
    match = await cancelled_when(terminal, context, command, r"pid (\d+)")
    assert not lives(int(match[1]))
    assert "SIGTERM" in context.shown
    assert shown(await run("echo $kept")) == "1"


async def test_cancelling_kills_what_ignores_every_other_signal(
    terminal: Terminal, context: FakeContext, run: Run
) -> None:
    await run("kept=1")
    command = "bash -c 'trap \"\" INT TERM HUP; echo pid $$; while :; do sleep 0.01; done'"
    match = await cancelled_when(terminal, context, command, r"pid (\d+)")
    assert not lives(int(match[1]))
    assert "[interrupted with SIGINT, SIGTERM, SIGKILL]" in context.shown
    assert shown(await run("echo $kept")) == "1"


async def test_cancelling_ends_a_shell_that_cannot_be_interrupted(
    terminal: Terminal, context: FakeContext, run: Run
) -> None:
    match = await cancelled_when(terminal, context, "trap '' INT; echo pid $$; while :; do :; done", r"pid (\d+)")
    assert not lives(int(match[1]))
    assert shown(await run("echo anew")) == "anew"


async def test_cancelling_ends_a_loop_of_the_shell_itself(terminal: Terminal, context: FakeContext, run: Run) -> None:
    await run("kept=1")
    await cancelled_when(terminal, context, "echo begun; while :; do :; done", "begun")
    assert shown(await run("echo $kept")) == "1"


async def test_cancelling_a_poll_ends_the_command(terminal: Terminal, context: FakeContext, run: Run) -> None:
    await run("sh -c 'echo pid $$; exec sleep 300'", timeout=SHORT)
    match = await cancelled_when(terminal, context, "", r"pid (\d+)")
    assert not lives(int(match[1]))
    assert shown(await run("echo on")) == "on"


async def test_cancelling_leaves_what_an_earlier_command_put_behind(
    terminal: Terminal, context: FakeContext, run: Run, tmp_path: Path
) -> None:
    """Also what that starts while the later command runs, as a server does for a request."""
    job = int(shown(await run("sleep 300 & echo $!")))
    script = (
        "trap 'echo ended >> workers' TERM; while read line; do sh -c 'echo worker $$; exec sleep 300' & done <> gate"
    )
    server = int(shown(await run(f"mkfifo gate; (exec > out; {script}) & echo $!")))
    async with anyio.create_task_group() as group:
        group.start_soon(terminal, TerminalAction("echo later; sleep 300"), context)
        await context.until("later")
        await anyio.Path(tmp_path / "gate").write_text("request\n")
        await until(lambda: (tmp_path / "out").read_text().endswith("\n"))
        worker = int((tmp_path / "out").read_text().split()[1])
        group.cancel_scope.cancel()
    assert lives(job)
    assert lives(server)
    assert lives(worker)
    await terminal.aclose()
    assert not any(map(lives, (job, server, worker)))


async def test_a_call_cancelled_before_its_command_began_changes_nothing(
    terminal: Terminal, context: FakeContext, run: Run, tmp_path: Path
) -> None:
    job = int(shown(await run("kept=1; sleep 300 & echo $!")))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await terminal(TerminalAction("touch made"), context)
    assert lives(job)
    assert shown(await run('echo $kept; test -e made || echo "not made"')) == "1\nnot made"


async def test_two_terminals_know_nothing_of_each_other(tmp_path: Path) -> None:
    one, two = Terminal({}), Terminal({})
    first, second = FakeContext(tmp_path), FakeContext(tmp_path)
    try:
        await one(TerminalAction("cd /; mine=1"), first)
        pid = int(shown(await two(TerminalAction("mine=2; sleep 300 & echo $!"), second)))
        await cancelled_when(one, first, "echo begun; sleep 300", "begun")
        assert lives(pid)
        assert shown(await two(TerminalAction("pwd; echo $mine"), second)) == f"{tmp_path}\n2"
        await one.aclose()
        assert lives(pid)
        assert shown(await two(TerminalAction("echo $mine"), second)) == "2"
    finally:
        await one.aclose()
        await two.aclose()
    assert not lives(pid)


async def test_two_terminals_run_side_by_side(tmp_path: Path) -> None:
    """Each waits for the other: neither would end alone."""
    terminals = Terminal({}), Terminal({})
    ends: dict[int, TerminalObservation] = {}
    os.mkfifo(tmp_path / "there")
    os.mkfifo(tmp_path / "back")

    async def run(number: int, command: str) -> None:
        ends[number] = await terminals[number](TerminalAction(command), FakeContext(tmp_path))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(run, 0, "echo ping > there; cat back")
            group.start_soon(run, 1, "cat there; echo pong > back")
    assert [shown(ends[0]), shown(ends[1])] == ["pong", "ping"]
    for terminal in terminals:
        await terminal.aclose()


@pytest.mark.parametrize("command", AWAY, ids=AWAY_IDS)
async def test_closing_ends_what_got_away(terminal: Terminal, run: Run, tmp_path: Path, command: str) -> None:
    told = tmp_path / "told"
    await run(command.replace("echo pid $$", f"echo $$ > {told}").removesuffix("; sleep 300"))
    await until(lambda: told.exists() and told.read_text())
    await terminal.aclose()
    assert not lives(int(told.read_text()))


async def test_what_a_command_starts_can_break_a_pipe(run: Run) -> None:
    assert shown(await run("yes | head -n 1; echo ${PIPESTATUS[0]}")) == "y\n141"


async def test_closing_ends_what_runs_and_can_be_done_twice(terminal: Terminal, context: FakeContext, run: Run) -> None:
    match = await left_running(run, "sh -c 'echo pid $$; exec sleep 300'", r"pid (\d+)")
    await terminal.aclose()
    await terminal.aclose()
    assert not lives(int(match[1]))


@pytest.mark.pure
@pytest.mark.parametrize(
    "arguments",
    [b'{"command":"x","timeout":-1}', b"{}", b'{"command":["ls","-l"]}', b'{"command":"x","reset":"maybe"}'],
)
def test_arguments_that_do_not_fit_are_refused(arguments: bytes) -> None:
    tools = Tools([Tool("terminal")], {"terminal": terminal_tool}, LocalWorkspace("/w"))
    with pytest.raises(BadCall, match="the arguments of terminal do not fit"):
        tools.parse("terminal", msgspec.Raw(arguments))


@pytest.mark.pure
def test_calls_of_a_session_wait_for_each_other() -> None:
    tools = Tools([Tool("terminal")], {"terminal": terminal_tool}, LocalWorkspace("/w"))
    assert tools.resources("terminal", msgspec.Raw(b'{"command":"ls"}')) == ("terminal:main", "file:*")
    assert tools.resources("terminal", msgspec.Raw(b'{"command":"ls","session":"b"}')) == ("terminal:b", "file:*")
    assert terminal_tool.definition.holds_resource


async def test_a_workspace_that_is_gone_is_made_again(run: Run, context: FakeContext) -> None:
    """An open shell goes on as bash does; a new one would start nowhere."""
    root = context.workspace.path
    done = await run(f'rm -rf "{root}"; cd /', timeout=5)
    assert done.exit_code == 0
    shutil.rmtree(root, ignore_errors=True)  # from inside a box it was only emptied
    again = await run("pwd", reset=True, timeout=5)
    assert (again.exit_code, again.working_dir) == (0, root)
    assert "[the workspace was gone: it was made again, and is empty]" in shown_all(again)
    assert "was gone" not in shown_all(await run("pwd", timeout=5))


@pytest.mark.simulated
async def test_a_file_in_the_place_of_the_workspace_is_told(run: Run, context: FakeContext) -> None:
    root = Path(context.workspace.path)
    root.rmdir()
    root.write_text("")
    with pytest.raises(ToolError, match=f"the workspace {root} is not there: File exists"):
        await run("pwd")


def shown_all(observation: TerminalObservation) -> str:
    """All that the model sees."""
    return "\n".join(part.text for part in observation.content if isinstance(part, TextContent))


async def test_a_refused_command_is_told_which_limit_the_running_one_has_reached(run: Run) -> None:
    await run("sleep 321\necho done", timeout=SHORT)
    with pytest.raises(
        ToolError, match=r"not run, because 'sleep 321\.\.\.' is still running here after its timeout of 0.05 s"
    ):
        await run("echo two")
    await run("C-c", is_input=True)
    assert shown(await run("echo two")).startswith("two")


async def test_a_command_may_be_ended_at_its_time_limit(context: FakeContext) -> None:
    terminal = Terminal({"on_timeout": "kill"})
    try:
        with anyio.fail_after(20):
            ended = await terminal(TerminalAction("cd /tmp; sleep 322 & echo $!; sleep 323", timeout=0.5), context)
            (background,) = re.findall(r"(?m)^\d+$", shown(ended))
            assert (ended.status, ended.is_error) == ("hard_timeout", True)
            assert "at its time limit" in footer(ended)
            again = await terminal(TerminalAction("pwd; echo two"), context)
        assert shown(again).startswith("/tmp\ntwo"), "the shell is the same"
        assert not lives(int(background))
    finally:
        await terminal.aclose()


def test_a_wrong_way_to_end_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="expected 'leave' or 'kill'"):
        Terminal({"on_timeout": "stop"})


async def test_no_half_of_a_secret_is_in_the_name_of_a_command(tmp_path: Path) -> None:
    secret = "canary-0123456789-canary"
    context = FakeContext(tmp_path, registry=SecretRegistry({"TOKEN": secret}))
    terminal = Terminal({})
    try:
        await terminal(TerminalAction(f"sleep 324 # {'x' * 40} {secret}", timeout=SHORT), context)
        with pytest.raises(ToolError, match="is still running here") as refused:
            await terminal(TerminalAction("echo two"), context)
    finally:
        await terminal.aclose()
    assert "canary" not in str(refused.value)

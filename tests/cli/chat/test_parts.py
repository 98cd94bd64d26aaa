"""The parts of a chat that need no terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import DummyCompleter
from rich.cells import cell_len
from rich.text import Text

from agentrt.cli.chat.attachments import TEXT_BYTES, as_content, mentions, quoted
from agentrt.cli.chat.commands import COMMANDS, Invoked, Message, Mistyped, beginning, meant, named
from agentrt.cli.chat.completing import wanted_path
from agentrt.cli.chat.doing import Doing
from agentrt.cli.chat.kept import MOST, Entry, Kept, may_be_kept
from agentrt.cli.chat.pastes import Pastes
from agentrt.cli.chat.paths import fitting, listed
from agentrt.cli.chat.prompt import Prompt, Typed
from agentrt.cli.chat.scroll import A_FRAME, RESET, ROWS, Scroll, wrapped
from agentrt.cli.chat.status import Status, Task, plan_lines, short
from agentrt.specs import ImageContent, TextContent

pytestmark = pytest.mark.pure


@pytest.mark.real
def test_the_command_line_loads_nothing_that_only_a_chat_needs() -> None:
    program = "import sys, agentrt.cli; print([name for name in sys.modules if name.startswith('prompt_toolkit')])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_what_is_typed_is_a_command_a_message_or_mistyped() -> None:
    assert meant("/help") == Invoked(COMMANDS[0])
    assert meant(" /model  openai/gpt-5.5 ") == Invoked(COMMANDS[1], "openai/gpt-5.5")
    assert meant("/goal All\ntests pass").argument == "All\ntests pass"  # type: ignore[union-attr]
    for text in ("fix it", "/etc/hosts is wrong", "/server:prompt a=b", "/2", "a /help"):
        assert meant(text) == Message(text)
    assert meant("/release 1.2", ["release"]) == Message("/release 1.2")
    assert isinstance(meant("/release 1.2"), Mistyped)
    assert meant("/help me") == Mistyped("/help takes nothing after it")
    assert meant("/ask") == Mistyped("write /ask QUESTION")
    assert meant("/condense") == meant("/compact")


def test_each_command_is_in_the_table_once_and_can_be_done() -> None:
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len({*names}) == len(names)
    assert [command.name for command in beginning("re")] == ["rewind", "title", "resume"]
    assert named("nothing") is None
    doing = Doing.__new__(Doing)
    Doing.__init__(doing, None, None, None, lambda: ())  # type: ignore[arg-type]
    assert doing.names == {command.name for command in COMMANDS}


def test_a_long_paste_is_folded_and_unfolded() -> None:
    pastes, long = Pastes(), "\n".join(map(str, range(10_000)))
    assert pastes.folded("a\r\nb\rc") == "a\nb\nc"
    assert pastes.folded(long) == "[pasted 10,000 lines]"
    assert pastes.folded(long) == "[pasted 10,000 lines]"
    assert pastes.folded(long + "!") == "[pasted 10,000 lines #2]"
    assert pastes.folded("x" * 5000) == "[pasted 5,000 characters]"
    assert pastes.unfolded("see [pasted 10,000 lines] and [pasted 3 lines]") == f"see {long} and [pasted 3 lines]"


@pytest.mark.simulated
async def test_a_paste_comes_folded_from_the_history_of_another_chat(tmp_path: Path) -> None:
    one, other = ("\n".join(f"{word} {number}" for number in range(30)) for word in ("one", "other"))
    kept = Kept(tmp_path / "history.jsonl")
    kept.add(Entry("read [pasted 30 lines]", {"[pasted 30 lines]": one}))
    kept.add(Entry("and [pasted 30 lines]", {"[pasted 30 lines]": other}))
    prompt = Prompt(kept, DummyCompleter())
    prompt.paste(other)
    assert prompt.take() == Typed("[pasted 30 lines]", other, {"[pasted 30 lines]": other})
    recalled = list(prompt.buffer.history.load_history_strings())
    assert recalled == ["and [pasted 30 lines]", "read [pasted 30 lines #2]"]
    prompt.give(recalled[1])
    assert prompt.take() == Typed("read [pasted 30 lines #2]", f"read {one}", {"[pasted 30 lines #2]": one})


def test_lines_come_out_of_the_scroll_once_and_an_unfinished_one_stays() -> None:
    scroll = Scroll()
    scroll.write("one\ntw")
    assert (scroll.take(80), scroll.tail) == (["one"], "tw")
    scroll.write("o\n")
    assert (scroll.take(80), scroll.tail) == (["two"], "")
    scroll.write("word " * 100)
    taken = scroll.take(20)
    assert taken
    assert scroll.shown(20).count("\n") + 1 < ROWS
    scroll.write("\n")
    assert " ".join([*taken, *scroll.take(20)]) == "word " * 99 + "word"


def test_a_frame_is_bounded_whatever_is_written() -> None:
    scroll = Scroll()
    scroll.write("x" * 1_000_000 + "\n" + "line\n" * 50_000)
    frames = list[list[str]]()
    while scroll.has_lines:
        frames.append(scroll.take(80))
    assert max(sum(map(len, frame)) for frame in frames) <= 2 * A_FRAME + 80
    assert sum(line == "line" for frame in frames for line in frame) == 50_000
    assert sum(line.count("x") for frame in frames for line in frame) == 1_000_000


@given(st.text(st.sampled_from("ab 日 "), max_size=60), st.integers(2, 20))
def test_rows_fit_and_lose_nothing(line: str, columns: int) -> None:
    styled = f"\x1b[2m{line}{RESET}"
    rows = [row.replace("\x1b[2m", "").replace(RESET, "") for row in wrapped(styled, columns)]
    assert "".join(rows) == line
    assert all(cell_len(row.rstrip(" ")) <= columns for row in rows)
    assert all(RESET in row for row in wrapped(styled, columns) if "\x1b[2m" in row)


def test_keys_and_passwords_are_not_kept() -> None:
    for text in (
        "use sk-ant-api03-abcdefghijklmnopqrst",
        "ghp_abcdefghijklmnopqrstuvwxyz",
        "AKIAIOSFODNN7EXAMPLE",
        'the password is "hunter22"',
        "API_KEY=abcdefgh",
        "curl -H 'Authorization: Bearer abcdefghijklmnopqrst'",
        "postgres://me:hunter2@host/db",
        "-----BEGIN RSA PRIVATE KEY-----",
        "x" * 10_001,
        "",
    ):
        assert not may_be_kept(text), text
    for text in ("fix the tokenizer", "why is the password field empty?", "task-list of the ask-page", "a: b"):
        assert may_be_kept(text), text


@pytest.mark.simulated
def test_what_was_typed_is_kept_for_the_next_chat(tmp_path: Path) -> None:
    path = tmp_path / "store" / "history.jsonl"
    kept = Kept(path, lambda text: text.replace("value", "***"))
    for text in ("one", "two\nlines", "with the value", "password: abcdefgh"):
        kept.add(Entry(text))
    kept.add(Entry("see [pasted 12 lines]", {"[pasted 12 lines]": "the value\n" * 12}))
    assert kept.read() == [Entry("one"), Entry("two\nlines")]
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("ab") as file:
        file.write(b'{"text":"cut by a cra\n' + b'{"text":"x"}\n' * (3 * MOST))
    assert kept.read() == [Entry("x")] * MOST
    assert len(path.read_bytes().splitlines()) == MOST
    assert Kept(None).read() == []
    Kept(tmp_path).add(Entry("a directory is not a file"))


def test_paths_are_named_by_an_at() -> None:
    assert mentions('see @a.py, @"my notes.md" and @./src/ (not me@example.com) @demo:uri @a.py', ["demo"]) == (
        "a.py", "my notes.md", "src",
    )  # fmt: skip
    assert (quoted("a.py"), quoted("my notes.md")) == ("a.py", '"my notes.md"')
    assert wanted_path("look at @src/a") == (-5, "src/a")
    assert wanted_path('@"my no') == (-6, "my no")
    for text in ("look at", "me@home", "@a b", '@"a b" '):
        assert wanted_path(text) is None


def test_a_file_is_text_or_an_image_or_not_sent() -> None:
    assert as_content("a.txt", b"one\n", 4) == TextContent('<file path="a.txt">\none\n</file>')
    assert isinstance(as_content("a.png", b"\x89PNG\r\n\x1a\n...", 11), ImageContent)
    assert as_content("a.png", b"\x89PNG\r\n\x1a\n...", 1 << 30) is None
    for data in (b"\0\1\2", b"\xff\xfe\xfd", b"a\0b"):
        assert as_content("a.bin", data, len(data)) is None
    cut = as_content("long", "é".encode() * TEXT_BYTES, 2 * TEXT_BYTES)
    assert isinstance(cut, TextContent)
    assert cut.text.endswith(f"[cut: the file has {2 * TEXT_BYTES:,} bytes]\n</file>")


@pytest.mark.simulated
def test_paths_are_listed_without_ignored_ones_and_offered_by_how_they_fit(tmp_path: Path) -> None:
    for name in ("src/parser.py", "src/main.py", "build/out.o", "main.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n")
    found = listed(str(tmp_path))
    assert [path for path in found if not path.startswith(".")] == ["src/", "main.md", "src/main.py", "src/parser.py"]
    assert len(listed(str(tmp_path), 1)) <= 2
    assert listed(str(tmp_path / "nothing")) == []
    assert fitting(found, "main") == ["main.md", "src/main.py"]
    assert fitting(found, "spp") == ["src/parser.py"]
    assert fitting(found, "zz") == []


def test_the_status_fits_its_row() -> None:
    status = Status("running terminal", "work", ("1 queued", "openai/gpt-5.5", "$0.0312", "9.1k of 200k (5%) tokens"))
    assert status.line(120).count("·") == 4
    assert status.line(50, "collected 41 items") == "running terminal  collected 41 items  ·  1 queued"
    assert all(cell_len(status.line(columns, "said " * 50)) <= columns for columns in range(1, 150))
    assert [short(number) for number in (999, 1500, 200_000)] == ["999", "1.5k", "200k"]


def test_a_plan_is_shown_around_what_is_open() -> None:
    tasks = [Task(f"task {number}", "done" if number < 7 else "todo") for number in range(12)]
    assert plan_lines(tasks[:7], 6) == ()
    assert [row for _, row in plan_lines(tasks, 4)] == [
        "✔ task 6", "○ task 7", "○ task 8", "  6 before and 3 after, 7 of 12 tasks done",
    ]  # fmt: skip
    assert len(plan_lines(tasks, 20)) == 12
    assert plan_lines([Task("\x1b[2Jevil")], 6) == (("todo", "○ [2Jevil"),)


@pytest.mark.parametrize("count", [1, 200])
def test_a_line_of_rich_keeps_its_style_when_it_is_cut(count: int) -> None:
    styled = f"\x1b[1m{Text('word ' * count).plain}{RESET}"
    assert all(row.startswith("\x1b[1m") for row in wrapped(styled, 10) if row.strip(RESET))

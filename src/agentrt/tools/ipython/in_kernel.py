"""`tools` and the functions known as AgentSkills, which the code in a kernel has from its start.

This module runs in the kernel, whose Python may not have this package. So it imports only the standard library. What it
prints is for the model. The code that loads it sets `SOCKET`.
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

SOCKET = ""
WINDOW = 100
"""Lines of a file that are shown at once."""

MOST_MATCHES, MOST_FILES = 500, 100
LONGEST_LINE = 500
"""Characters shown of a line that matches."""

MOST_BYTES = 50 << 20
"""Maximum bytes of a file that is searched or opened."""

__all__ = [
    "create_file",
    "edit_file",
    "find_file",
    "goto_line",
    "open_file",
    "parse_audio",
    "parse_docx",
    "parse_image",
    "parse_latex",
    "parse_pdf",
    "parse_pptx",
    "parse_video",
    "scroll_down",
    "scroll_up",
    "search_dir",
    "search_file",
    "tools",
]


class ToolFailed(Exception):
    """Raised where a tool of the agent has failed, or was not allowed."""


class ToolResult(str):
    """What a tool has returned: a text, with its `details` (of a command the exit code)."""

    details: Any = None


class Tools:
    """The agent's tools: `await tools.NAME(argument=...)`."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[ToolResult]]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def call(**arguments: Any) -> ToolResult:
            return _result(await _asked({"what": "call", "name": name, "arguments": arguments}))

        call.__name__ = call.__qualname__ = name
        return call

    def __repr__(self) -> str:
        return "the agent's tools: await tools.NAME(argument=...)"


tools = Tools()


MOST_AT_ONCE = 64
"""Maximum number of requests at once; the others wait."""

_turns: dict[Any, asyncio.Semaphore] = {}


async def _asked(request: dict[str, Any]) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    async with _turns.setdefault(loop, asyncio.Semaphore(MOST_AT_ONCE)):
        return await _asked_in_turn(request)


async def _asked_in_turn(request: dict[str, Any]) -> dict[str, Any]:
    reader, writer = await asyncio.open_unix_connection(SOCKET, limit=1 << 30)
    try:
        writer.write(json.dumps(request).encode() + b"\n")
        await writer.drain()
        return _read(await reader.readline())
    finally:
        writer.close()


def _asked_now(request: dict[str, Any]) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(SOCKET)
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as answers:
            return _read(answers.readline())


def _read(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line or b'{"problem": "the agent does not answer"}')
    if found.get("problem"):
        raise ToolFailed(found["problem"]) from None
    return found


def _result(found: dict[str, Any]) -> ToolResult:
    result = ToolResult(found.get("text", ""))
    result.details = found.get("details")
    if found.get("failed"):
        raise ToolFailed(str(result))
    return result


class _Open:
    """The open file, and the line in the middle of the window."""

    path: str | None = None
    line = 1


def _lines(path: str) -> list[str]:
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path}")
    if os.path.getsize(path) > MOST_BYTES:
        raise ValueError(f"{path} has more than {MOST_BYTES >> 20} MiB: read it in parts")
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")


def _shown(lines: list[str]) -> list[str]:
    """Return the lines of a file, without the empty one after its last newline."""
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _opened() -> str:
    if _Open.path is None:
        raise ValueError("no file is open: call open_file(path) first")
    return _Open.path


def _window() -> None:
    """Print the part of the open file around its line."""
    path = _opened()
    lines = _shown(_lines(path))
    first = max(1, min(_Open.line - WINDOW // 2, len(lines) - WINDOW + 1))
    last = min(first + WINDOW - 1, len(lines))
    print(f"[File: {path} ({len(lines)} lines total)]")
    print(f"({first - 1} more lines above)" if first > 1 else "(this is the beginning of the file)")
    for number in range(first, last + 1):
        print(f"{number}|{lines[number - 1]}")
    below = len(lines) - last
    print(f"({below} more lines below)" if below else "(this is the end of the file)")


def open_file(path: str, line_number: int | None = None) -> None:
    """Open a file, and print the 100 lines around a line, the first one if none is given."""
    path = os.path.abspath(path)
    _move(path, 1 if line_number is None else line_number)


def goto_line(line_number: int) -> None:
    """Print the 100 lines of the open file around a line."""
    _move(_opened(), line_number)


def _move(path: str, line_number: int) -> None:
    count = len(_shown(_lines(path)))
    if not 1 <= line_number <= count:
        raise ValueError(f"line_number must be between 1 and {count}")
    _Open.path, _Open.line = path, line_number
    _window()


def scroll_down() -> None:
    """Print the next 100 lines of the open file."""
    _scroll(WINDOW)


def scroll_up() -> None:
    """Print the 100 lines before those that were shown."""
    _scroll(-WINDOW)


def _scroll(by: int) -> None:
    count = len(_shown(_lines(_opened())))
    half = WINDOW // 2
    middle = max(half + 1, min(_Open.line, max(count - half + 1, half + 1)))
    _Open.line = max(1, min(middle + by, count))
    _window()


def create_file(filename: str) -> None:
    """Create an empty file, and open it."""
    path = os.path.abspath(filename)
    if os.path.exists(path):
        raise FileExistsError(f"{path} exists already")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write("\n")
    open_file(path)
    print(f"[File {path} created.]")


def edit_file(start: int, end: int, content: str) -> None:
    """Replace the lines from `start` to `end`, both included, of the open file by `content`."""
    path = _opened()
    lines = _lines(path)
    ended = len(lines) > 1 and not lines[-1]
    body = lines[:-1] if ended else lines
    if not 1 <= start <= end <= len(body):
        raise ValueError(f"start and end must be lines of the file, from 1 to {len(body)}, start before end")
    new = content.removesuffix("\n").split("\n") if content else []
    body[start - 1 : end] = new
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(body) + ("\n" if ended and body else ""))
    _Open.line = max(1, min(start + len(new) // 2, len(body)))
    _window()
    print(f"[File updated (edited at line {start}). Look at it: correct it with edit_file where that is needed.]")


def _below(directory: str) -> Iterator[str]:
    """Yield the files below a directory in order, without hidden ones."""
    for place, names, files in os.walk(directory):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if not name.startswith("."))


def _found(path: str, term: str) -> list[tuple[int, str]]:
    if os.path.getsize(path) > MOST_BYTES:
        return []
    with open(path, encoding="utf-8", errors="ignore") as file:
        return [(n, line.rstrip("\n")) for n, line in enumerate(file, 1) if term in line]


def search_dir(search_term: str, dir_path: str = "./") -> None:
    """Print the lines of the files below a directory that have a text in them."""
    if not os.path.isdir(dir_path):
        raise NotADirectoryError(f"there is no directory {dir_path}")
    matches: list[tuple[str, int, str]] = []
    for path in _below(dir_path):
        try:
            matches += [(path, number, line) for number, line in _found(path, search_term)]
        except OSError:
            continue
    files = len({path for path, _, _ in matches})
    if not matches:
        print(f'No matches found for "{search_term}" in {dir_path}')
    elif files > MOST_FILES:
        print(f'More than {MOST_FILES} files matched for "{search_term}" in {dir_path}. Search for something longer.')
    else:
        print(f'[Found {len(matches)} matches for "{search_term}" in {dir_path}]')
        for path, number, line in matches[:MOST_MATCHES]:
            print(f"{path} (Line {number}): {line[:LONGEST_LINE]}")
        _rest(len(matches))
        print(f'[End of matches for "{search_term}" in {dir_path}]')


def search_file(search_term: str, file_path: str | None = None) -> None:
    """Print the lines of a file, the open one if none is given, that have a text in them."""
    path = os.path.abspath(file_path) if file_path is not None else _opened()
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path}")
    matches = _found(path, search_term)
    if not matches:
        print(f'[No matches found for "{search_term}" in {path}]')
        return
    print(f'[Found {len(matches)} matches for "{search_term}" in {path}]')
    for number, line in matches[:MOST_MATCHES]:
        print(f"Line {number}: {line[:LONGEST_LINE]}")
    _rest(len(matches))
    print(f'[End of matches for "{search_term}" in {path}]')


def find_file(file_name: str, dir_path: str = "./") -> None:
    """Print the files below a directory whose name has a text in it, or fits a pattern such as `*.py`."""
    if not os.path.isdir(dir_path):
        raise NotADirectoryError(f"there is no directory {dir_path}")
    pattern = file_name if any(mark in file_name for mark in "*?[") else f"*{file_name}*"
    found = [path for path in _below(dir_path) if fnmatch.fnmatch(os.path.basename(path), pattern)]
    if not found:
        print(f'[No matches found for "{file_name}" in {dir_path}]')
        return
    print(f'[Found {len(found)} matches for "{file_name}" in {dir_path}]')
    for path in found[:MOST_MATCHES]:
        print(path)
    _rest(len(found))
    print(f'[End of matches for "{file_name}" in {dir_path}]')


def _rest(count: int) -> None:
    if count > MOST_MATCHES:
        print(f"[and {count - MOST_MATCHES} more]")


def _parse(kind: str, file_path: str, **more: Any) -> None:
    path = os.path.abspath(file_path)
    print(_result(_asked_now({"what": "parse", "name": kind, "arguments": {"path": path, **more}})))


def parse_pdf(file_path: str) -> None:
    """Print the text of a PDF file."""
    _parse("pdf", file_path)


def parse_docx(file_path: str) -> None:
    """Print the text of a Word file."""
    _parse("docx", file_path)


def parse_latex(file_path: str) -> None:
    """Print the text of a LaTeX file."""
    _parse("latex", file_path)


def parse_pptx(file_path: str) -> None:
    """Print the text of a PowerPoint file."""
    _parse("pptx", file_path)


def parse_image(file_path: str, task: str = "Describe this image as detailed as possible.") -> None:
    """Print what a model that sees says of an image."""
    _parse("image", file_path, task=task)


def parse_audio(file_path: str, model: str = "whisper-1") -> None:
    """Print what is said in a recording, as a model writes it down."""
    _parse("audio", file_path, model=model)


def parse_video(
    file_path: str, task: str = "Describe this image as detailed as possible.", frame_interval: int = 30
) -> None:
    """Print what a model that sees says of each 30th frame of a video, of 30 frames at most."""
    _parse("video", file_path, task=task, every=frame_interval)

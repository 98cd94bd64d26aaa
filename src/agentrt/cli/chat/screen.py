"""`Screen`: the rows at the bottom of the terminal, and the output to the scrollback above them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import msgspec
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import BufferControl, ConditionalContainer, Dimension, FormattedTextControl, HSplit, Layout
from prompt_toolkit.layout.containers import Window
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar
from rich.console import Console
from rich.text import Text

from ..wording import clean, count
from .frames import FrameOutput, Pace
from .prompt import Asked, Prompt
from .scroll import Scroll, wrapped
from .status import Line, Status

PLAN_ROWS = 6
QUEUED_ROWS = 3
MENU_ROWS = 8

STYLE = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "question": "bold ansiyellow",
        "dim": "fg:ansibrightblack",
        "work": "ansiblue",
        "wait": "ansiyellow",
        "rest": "fg:ansibrightblack",
        "bad": "ansired",
        "done": "ansigreen",
        "in_progress": "bold",
        "completion-menu": "bg:default fg:default",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "reverse",
        "completion-menu.meta.completion": "bg:default fg:ansibrightblack",
        "completion-menu.meta.completion.current": "bg:default fg:ansibrightblack",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "bg:ansibrightblack",
    }
)


class Bottom(msgspec.Struct, frozen=True):
    """The rows beside the prompt: the status, a plan, and messages that are being sent."""

    status: Status = Status("starting", "rest", ())
    plan: tuple[Line, ...] = ()
    queued: tuple[str, ...] = ()
    said: str = ""
    """The latest output of the running tool."""
    hint: str = ""


class Screen:
    """Draws only the bottom rows. Output of `console` goes into the scrollback.

    Text from outside must be passed through `clean` before it comes here.
    """

    def __init__(self, prompt: Prompt, keys: KeyBindings) -> None:
        self.prompt, self.bottom = prompt, Bottom()
        self._output = FrameOutput.of_terminal()
        self._pace = Pace(lambda: self.app.invalidate())
        self._scroll = Scroll(self._pace.changed)
        self.console = Console(file=self._scroll, force_terminal=True)  # type: ignore[arg-type]
        self.app: Application[None] = self._application(keys)

    async def run(self) -> None:
        """Draw, and read keys, until `leave`."""
        try:
            await self.app.run_async(set_exception_handler=False)
        finally:
            self._pace.stop()

    def leave(self) -> None:
        """End, once all output is in the scrollback."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def show(self, bottom: Bottom) -> None:
        """Show this at the bottom from now on."""
        if bottom != self.bottom:
            self.bottom = bottom
            self._pace.changed()

    async def ask(self, lines: Sequence[Text], before: str) -> str | None:
        """Return the answer to a question, which is shown in place of the prompt; None for no answer."""
        styled = self._styled(lines)
        size = self._output.get_size()
        if sum(len(line) // size.columns + 1 for line in styled) > size.rows // 2:  # it is too long to stand there
            for line in lines:
                self.console.print(line, soft_wrap=True)
            styled = ["… all of it stands above", *styled[-1:]]
        try:
            self._pace.changed()
            return await self.prompt.ask(Asked(styled, before), self._focus)
        finally:
            self._focus()

    def _focus(self) -> None:
        if self.app.is_running:
            self.app.layout.focus(self.prompt.answer if self.prompt.asked is not None else self.prompt.buffer)
            self._pace.changed()

    def _styled(self, lines: Sequence[Text]) -> list[str]:
        file = io.StringIO()
        console = Console(file=file, force_terminal=True, width=1 << 16)
        for line in lines:
            console.print(line, soft_wrap=True)
        return file.getvalue().splitlines()

    # what a frame has

    def _application(self, keys: KeyBindings) -> Application[None]:
        app: Application[None] = Application(
            layout=Layout(self._container(), focused_element=self.prompt.buffer),
            key_bindings=keys,
            style=STYLE,
            output=self._output,
            erase_when_done=True,
        )
        app.ttimeoutlen, app.timeoutlen = 0.05, 0.1
        app.before_render += self._before
        app.after_render += self._after
        return app

    def _before(self, app: Application[None]) -> None:
        self._output.begin()
        columns = self._output.get_size().columns
        lines = self._scroll.take(columns) if not app.is_done else self._rest(columns)
        if lines:
            app.renderer.erase()
            self._output.write_raw("".join(f"{line}\r\n" for line in lines))

    def _rest(self, columns: int) -> list[str]:
        lines = list[str]()
        while self._scroll.has_lines:
            lines += self._scroll.take(columns)
        return lines

    def _after(self, app: Application[None]) -> None:
        self._output.end()
        self._output.drawn(app.renderer.last_rendered_screen)
        self._pace.drawn()
        if self._scroll.has_lines:
            self._pace.changed()

    def _container(self) -> HSplit:
        asks = Condition(lambda: self.prompt.asked is not None)
        search = SearchToolbar()
        answer = Window(
            BufferControl(self.prompt.answer),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=lambda line, wrap: [("class:question", "" if line or wrap else self._before_answer())],
        )
        typed = Window(
            BufferControl(self.prompt.buffer, search_buffer_control=search.control),
            height=lambda: Dimension(min=1, max=max(3, self._size().rows // 2)),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=lambda line, wrap: [("class:prompt", "› " if not (line or wrap) else "  ")],
        )
        menu = CompletionsMenu(max_height=MENU_ROWS, scroll_offset=1)
        return HSplit(
            [
                _rows(
                    lambda: ANSI(self._scroll.shown(self._size().columns)), Condition(lambda: bool(self._scroll.tail))
                ),
                Window(height=1),
                _rows(self._plan, Condition(lambda: bool(self.bottom.plan))),
                _rows(self._queued, Condition(lambda: bool(self.bottom.queued))),
                _rows(self._question, asks),
                ConditionalContainer(answer, asks),
                ConditionalContainer(HSplit([typed, menu, search]), ~asks),
                _rows(self._status, Condition(lambda: True), wrap=False),
            ]
        )

    def _size(self) -> Size:
        return self._output.get_size()

    def _before_answer(self) -> str:
        return f"  {self.prompt.asked.before}> " if self.prompt.asked is not None else ""

    def _question(self) -> AnyFormattedText:
        if self.prompt.asked is None:
            return ""
        columns = self._size().columns
        return ANSI("\n".join(row for line in self.prompt.asked.lines for row in wrapped(line, columns)))

    def _plan(self) -> StyleAndTextTuples:
        columns = self._size().columns
        rows = [(f"class:{'dim' if kind == 'more' else kind}", _cut(row, columns)) for kind, row in self.bottom.plan]
        return _joined(rows)

    def _queued(self) -> StyleAndTextTuples:
        columns, queued = self._size().columns, self.bottom.queued
        words = (" ".join(clean(text[:500]).split()) for text in queued)
        rows = [("class:dim", _cut(f"› {text}", columns - 10) + "  queued") for text in words]
        if len(rows) > QUEUED_ROWS:
            rows = [*rows[: QUEUED_ROWS - 1], ("class:dim", f"  {count(len(rows) - QUEUED_ROWS + 1, 'more message')}")]
        return _joined(rows)

    def _status(self) -> StyleAndTextTuples:
        status, columns = self.bottom.status, self._size().columns - 1
        if self.bottom.hint:
            return [("class:wait", _cut(self.bottom.hint, columns))]
        mark = "●" if status.kind == "work" else "■" if status.kind == "wait" else "✗" if status.kind == "bad" else "○"
        line = status.line(columns - 2, self.bottom.said)
        doing = status.doing if line.startswith(status.doing) else ""
        return [(f"class:{status.kind}", f"{mark} {doing}"), ("class:dim", line[len(doing) :])]


def _rows(text: Callable[[], AnyFormattedText], shown: Condition, *, wrap: bool = True) -> ConditionalContainer:
    return ConditionalContainer(
        Window(FormattedTextControl(text), dont_extend_height=True, wrap_lines=wrap, height=None if wrap else 1), shown
    )


def _joined(rows: Sequence[tuple[str, str]]) -> StyleAndTextTuples:
    found: StyleAndTextTuples = []
    for number, row in enumerate(rows):
        found += [("", "\n"), row] if number else [row]
    return found


def _cut(text: str, columns: int) -> str:
    found = Text(text)
    found.truncate(max(columns, 1), overflow="ellipsis")
    return found.plain

"""The picture of `agentrt demo` in the README: `python -m tests.demo_picture > docs/demo.svg` draws it anew."""

from __future__ import annotations

import html
import io
import re
import tempfile

import anyio
from rich.console import Console
from rich.text import Text

from agentrt.cli.demo import demo
from agentrt.cli.views import PlainView

WIDTH = 112
"""Columns of the terminal in the picture."""

RESULT = "  │"
"""How a line of a tool's result begins."""

PROJECT = re.compile(r"[^\s']*/agentrt-demo-[^/]*/")
"""The directory of the demo's project, which has another name each time."""


async def recorded() -> str:
    """What the demo prints, with its styles as terminals understand them."""
    console = Console(file=io.StringIO(), record=True, width=WIDTH, force_terminal=False)
    with tempfile.TemporaryDirectory() as store:
        if code := await demo(PlainView(console), console, store=store):
            raise SystemExit(code)
    printed = console.export_text(styles=True)
    return PROJECT.sub("/tmp/demo/", printed.replace(store, "~/.agentrt"))


def picture(printed: str) -> str:
    """The picture of what was printed, in a font that every machine has something for."""
    console = Console(file=io.StringIO(), record=True, width=WIDTH)
    console.print(Text.from_ansi(printed), soft_wrap=True)
    drawn = console.export_svg(title="agentrt demo")
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)  # a page loads nothing from other hosts
    return drawn.replace("Fira Code, monospace", "DejaVu Sans Mono, monospace")


def words(svg: str) -> list[str]:
    """The lines of a picture but those of results, without the numbers, which differ from run to run."""
    rows = dict[str, str]()
    for height, text in re.findall(r'<text [^>]*y="([0-9.]+)"[^>]*clip-path[^>]*>([^<]*)</text>', svg):
        rows[height] = rows.get(height, "") + html.unescape(text).replace("\xa0", " ")
    return [re.sub(r"[0-9][0-9a-f,.-]*", "0", row) for row in rows.values() if not row.startswith(RESULT)]


if __name__ == "__main__":
    print(picture(anyio.run(recorded)))

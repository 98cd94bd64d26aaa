"""Presets: sets of tools for a kind of work, or for a family of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ..errors import ConfigurationError
from .llm import AnyLLM, members
from .tool import Tool

PresetName: TypeAlias = Literal["default", "gpt5", "gemini", "planning", "codeact", "browsing"]


class Preset(msgspec.Struct, frozen=True):
    """The tools of an agent, and additional instructions."""

    tools: tuple[Tool, ...]
    told: str = ""
    prompt: str | None = None
    """Its own system prompt; None: that of the model's family."""
    demonstration: str = ""
    """A whole task as an example, for models that need one."""
    agents: Mapping[str, tuple[PresetName, str]] = {}
    """Agents that work for it: by name, the preset and the description of each."""


def _tools(*names: str) -> tuple[Tool, ...]:
    return tuple(map(Tool, names))


_SEARCH = ("grep", "glob")

SETS: Mapping[str, tuple[str, ...]] = {
    "browser": tuple(
        f"browser_{action}"
        for action in (
            *("navigate", "click", "type", "get_state", "get_content", "scroll", "go_back", "list_tabs", "switch_tab"),
            *("close_tab", "get_storage", "set_storage", "start_recording", "stop_recording"),
        )
    ),
}
"""Names that stand for several tools; each of these gets the parameters that were given for the name."""


def unfolded(tools: Iterable[Any]) -> tuple[Any, ...]:
    """Return tools with each name of a set replaced by the tools in it."""
    found = list[Any]()
    for tool in tools:
        names = SETS.get(tool.name) if isinstance(tool, Tool) and "_implementation" not in vars(tool) else None
        found += [tool] if names is None else [Tool(name, tool.params) for name in names]
    return tuple(found)


_CODEACT = """\
You are an assistant who helps a user in a conversation, and acts by writing code. In each turn you either act and \
read what comes of it, or speak to the user.

You act in one language, code, through these tools:

- `terminal` runs Bash commands in a shell that stays. Start what does not end, such as a server, in the background \
with its output in a file: `python3 app.py > server.log 2>&1 &`.
- `ipython` runs Python in a kernel that stays, so that variables, imports and functions are there in the next cell. \
`%pip install NAME` installs a package. These functions are there from the start: `open_file`, `goto_line`, \
`scroll_down`, `scroll_up`, `create_file`, `edit_file`, `search_dir`, `search_file`, `find_file`, `parse_pdf`, \
`parse_docx`, `parse_latex`, `parse_pptx`, `parse_image`, `parse_video`, `parse_audio`; `help(NAME)` explains one. \
`await tools.NAME(...)` calls another of your tools.
- `file_editor` views, creates and edits files.
- `task` with the agent `browsing` has somebody use the web for you. Say exactly what is wanted: it sees nothing else \
of the conversation.

Rules:

- Prefer one piece of code that does the step whole over several that do parts of it.
- Say in a sentence what you are about to do, then do it. Act once, read the result, then decide what comes next.
- Code that fails is no end: read the error, correct the code, and run it again.
- Indent Python and edits exactly. Look at the lines around an edit once it is made.
- Do not ask for what you can find out by acting.
- Never print, store or send secrets.
- When the task is done, and you have seen that it works, call `finish` with a short account.
"""
"""Source of the shape: CodeAct, https://arxiv.org/abs/2402.01030, and OpenHands, https://arxiv.org/abs/2407.16741."""

_DEMONSTRATION = """\
# An example of how a task goes

USER: Make a list of the numbers from 1 to 10, and show them on a web page at port 5000.

ASSISTANT: I write the application first.
[calls ipython]
create_file('app.py')
edit_file(1, 1, \"\"\"from flask import Flask

app = Flask(__name__)


@app.route('/')
def index():
    return str(list(range(1, 11)))


if __name__ == '__main__':
    app.run(port=5000)
\"\"\")

RESULT: [File: app.py (11 lines after edit)] ...

ASSISTANT: Now I run it.
[calls terminal]
python3 app.py > server.log 2>&1 & sleep 2; cat server.log

RESULT: ModuleNotFoundError: No module named 'flask'

ASSISTANT: Flask is missing. I install it, and start the server again.
[calls terminal]
pip install flask && (python3 app.py > server.log 2>&1 &) ; sleep 2; curl -s http://127.0.0.1:5000

RESULT: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

ASSISTANT: The server runs, and answers with the list: http://127.0.0.1:5000. Tell me if anything should be different.

USER: Show them as a table.

ASSISTANT: I look at the lines to change.
[calls ipython]
open_file('app.py', 7)

RESULT: ... 8|    return str(list(range(1, 11))) ...

ASSISTANT: One line becomes a table.
[calls ipython]
edit_file(8, 8, \"\"\"    rows = ''.join(f'<tr><td>{number}</td></tr>' for number in range(1, 11))
    return f'<table>{rows}</table>'
\"\"\")

RESULT: [File: app.py (12 lines after edit)] ...

ASSISTANT: I restart the server, and look at the page.
[calls terminal]
pkill -f app.py; (python3 app.py > server.log 2>&1 &) ; sleep 2; curl -s http://127.0.0.1:5000

RESULT: <table><tr><td>1</td></tr>...

ASSISTANT: The page shows the table.
[calls finish]
The numbers are a table now, at http://127.0.0.1:5000; I have looked at the page.

# End of the example: the user's task follows
"""
"""A task in the shape of the demonstration in appendix H of https://arxiv.org/abs/2407.16741."""

PRESETS: Mapping[str, Preset] = {
    "default": Preset(_tools("terminal", "file_editor", *_SEARCH, "task_tracker")),
    "gpt5": Preset(_tools("terminal", "apply_patch", *_SEARCH, "task_tracker")),
    "gemini": Preset(_tools("terminal", "read_file", "write_file", "edit", "list_directory", *_SEARCH, "task_tracker")),
    "planning": Preset(
        _tools(*_SEARCH, "planning_file_editor"),
        "You plan a change and do not make it. Look at the code until you know what has to be done, and write the plan"
        " with planning_file_editor: what is wanted, what is there, the approach and why, the steps in their order,"
        " each with its files, and how it is checked. Ask where the task leaves open what matters. Then finish with a"
        " summary.",
    ),
    "codeact": Preset(
        _tools("terminal", "ipython", "file_editor", "task"),
        prompt=_CODEACT,
        demonstration=_DEMONSTRATION,
        agents={"browsing": ("browsing", "Uses the web in a browser: looks something up, fills in a form.")},
    ),
    "browsing": Preset(unfolded(_tools("browser", "fetch", "web_search", "terminal", "task_tracker"))),
}

_FAMILIES: Mapping[str, tuple[str, ...]] = {"gpt5": ("gpt-5", "gpt5", "codex"), "gemini": ("gemini",)}
"""Parts of model names, for families of models that have their own preset."""


def preset_for(llm: AnyLLM) -> str:
    """Return the name of the preset for a model; of several models, for the first."""
    model = members(llm)[0].model.lower()
    found = (name for name, parts in _FAMILIES.items() if any(part in model for part in parts))
    return next(found, "default")


def preset_of(name: str | None, llm: AnyLLM) -> Preset:
    """Return the preset with a name; for None, the preset for the model. Raises `ConfigurationError`."""
    chosen = preset_for(llm) if name is None else name
    if chosen not in PRESETS:
        raise ConfigurationError(f"unknown preset {chosen!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[chosen]

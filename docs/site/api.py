"""The reference of the Python interface: which names it shows, for mkdocstrings to fill in. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

MODULES: Mapping[str, str] = {
    "agentrt": "The names that most programs need, imported from `agentrt`.",
    "agentrt.errors": "All errors, in one tree. Each message says in one line what is wrong and what to do.",
    "agentrt.specs": "Immutable configuration. Names that `agentrt` exports as well are described there.",
    "agentrt.specs.content": "The content blocks of messages and results.",
    "agentrt.protocols": "Protocols to implement, with one to three methods each.",
    "agentrt.controls": "Requests to a conversation, as data: bodies of REST requests and frames of a WebSocket.",
    "agentrt.frames": "The frames of a WebSocket.",
    "agentrt.state": "The state of a conversation, computed from its events.",
    "agentrt.llm": "Model clients: rate limits, retries and routing.",
    "agentrt.llm.profiles": "Model profiles: saved settings of a model under a name.",
    "agentrt.llm.recording": "Recording and replaying model calls.",
    "agentrt.critics": "Built-in critics.",
    "agentrt.storage": "The storages for conversations.",
    "agentrt.storing": "The protocols of a storage.",
    "agentrt.listing": "The list of conversations: rows, filters and search hits.",
    "agentrt.replaying": "Replaying recorded conversations.",
    "agentrt.server": "The server, as a Starlette application.",
    "agentrt.server.running": "Running the server.",
    "agentrt.server.principals": "The authenticated callers and their permissions.",
    "agentrt.testing": "Scripted models and a scripted provider, for tests.",
}


def pages() -> dict[str, str]:
    """The pages in Markdown, by their paths; each name is described on the first page that has it."""
    seen = set[int]()
    made = {"reference/index.md": _index()}
    for module in MODULES:
        names = [name for name in public(module) if id(getattr(import_module(module), name)) not in seen]
        seen |= {id(getattr(import_module(module), name)) for name in names}
        blocks = [f"::: {_home(module, name)}\n    options:\n      heading_level: 2\n" for name in names]
        made[path_of(module)] = f"# {module}\n\n{MODULES[module]}\n\n" + "\n".join(blocks)
    return made


def public(module: str) -> Sequence[str]:
    """The public names of a module: those of `__all__`, else the classes and functions that are its own."""
    found = import_module(module)
    if hasattr(found, "__all__"):
        return sorted(found.__all__)
    return [
        name
        for name, value in vars(found).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module
    ]


def path_of(module: str) -> str:
    """Where the page of a module is."""
    return f"reference/{module}.md"


def _home(module: str, name: str) -> str:
    """Where a name is defined, which is where its docstring is read."""
    value = getattr(import_module(module), name)
    home = getattr(value, "__module__", module)
    return f"{home}.{name}" if hasattr(import_module(home), name) and home.startswith("agentrt") else f"{module}.{name}"


def _index() -> str:
    rows = "\n".join(f"| [`{module}`]({module}.md) | {text} |" for module, text in MODULES.items())
    return (
        "# Python reference\n\n"
        "These pages are made of the docstrings. Names that are not here are not public and may change.\n\n"
        f"| module | about |\n| --- | --- |\n{rows}\n\n"
        "[Event types](../events.md) and [the REST interface](../rest-reference.md) have pages of their own.\n"
    )

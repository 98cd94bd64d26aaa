"""The static part of the system prompt: the same in many conversations, with an end for each family of models. Pure."""

from __future__ import annotations

from ..specs import Agent
from ..specs.llm import AnyLLM, members

_PROMPT = """\
You are a software agent that works in a directory by calling tools.

- Look before you change something: read the files, reproduce the problem, then edit.
- Prefer small, complete steps. After a change, run what proves it.
- A tool's result may be cut in the middle; ask again for the part that you need.
- When a result is an error, read it: it says what to do instead.
- Never print, store or send secrets.
- When the task is done, call `finish` with a short account of what you did and how you know that it works.
"""

_FAMILIES = {
    "claude": "- Calls that do not depend on one another go into one reply.\n",
    "gemini": "- Act: a plan or an intention ends nothing. A reply without a call says that you are done.\n"
    "- Look a fact up in the files before you state it.\n",
    "gpt": "- Go on until the task is done. What you can find out by looking is not a question for the user.\n",
}
"""The end of the prompt, by family of models."""

_NAMES = {"claude": ("claude", "anthropic"), "gemini": ("gemini",), "gpt": ("gpt", "openai/o", "codex")}
"""Parts of model names, by family."""


def family(llm: AnyLLM) -> str:
    """Return the family of a model, or of the first of several: "claude", "gemini", "gpt", or "" for another one."""
    name = members(llm)[0].model.lower()
    return next((family for family, parts in _NAMES.items() if any(part in name for part in parts)), "")


def system_prompt(agent: Agent) -> str:
    """Return the agent's own prompt, or the built-in one for its model, with the prefix and suffix of its context."""
    own = agent.system_prompt
    prompt = _PROMPT + _FAMILIES.get(family(agent.llm), "") if own is None else own
    context = agent.context
    parts = (prompt,) if context is None else (context.system_message_prefix, prompt, context.system_message_suffix)
    return "\n\n".join(part for part in parts if part)

"""`check_call`: the error for an argument that a constructor does not have, with the one that was meant.

People bring names from other SDKs. For those, the error says what to write here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from ..errors import ConfigurationError

_MODEL = {
    "name": "write the model first: LLM('anthropic/claude-opus-4-5')",
    "model_name": "write the model first: LLM('anthropic/claude-opus-4-5')",
    "model_id": "write the model first: LLM('anthropic/claude-opus-4-5')",
    "provider": "the provider is part of the model: LLM('anthropic/claude-opus-4-5')",
    "api_base": "write base_url=...",
    "api_version": "write extra_body or extra_headers, as the provider needs it",
    "max_tokens": "write max_output_tokens=...",
    "max_completion_tokens": "write max_output_tokens=...",
    "max_retries": "write num_retries=...",
    "service_id": "write usage_id=...",
    "settings": "write the settings as arguments: LLM('openai/gpt-5.5', temperature=0)",
    "model_settings": "write the settings as arguments: LLM('openai/gpt-5.5', temperature=0)",
    "extended_thinking_budget": "write thinking_budget=...",
    "custom_llm_provider": "the provider is part of the model: LLM('anthropic/claude-opus-4-5')",
    "log_completions": "every call is in the conversation's log: 'agentrt show ID'",
}
_INSTRUCTIONS = (
    "write system_prompt='...' in place of the built-in prompt, or"
    " context=AgentContext(system_message_suffix='...') to add to it"
)
_AGENT = {
    "model": "write the model first: Agent('anthropic/claude-opus-4-5')",
    "instructions": _INSTRUCTIONS,
    "instruction": _INSTRUCTIONS,
    "prompt": _INSTRUCTIONS,
    "system": _INSTRUCTIONS,
    "system_message": _INSTRUCTIONS,
    "name": "an agent has no name; one to delegate to gets it in agents={'name': Agent(...)}",
    "agent_context": "write context=AgentContext(...)",
    "skills": "write context=AgentContext(skills=[...])",
    "microagents": "write context=AgentContext(skills=[...])",
    "output_type": "write output=..., or prompt(text, output=...)",
    "result_type": "write output=..., or prompt(text, output=...)",
    "response_format": "write output=..., or prompt(text, output=...)",
    "handoffs": "write agents={'name': Agent(...)}",
    "sub_agents": "write agents={'name': Agent(...)}",
    "mcp": "write mcp_servers={'name': MCPServer(...)}",
    "toolsets": "write tools=[...] or mcp_servers={...}",
    "functions": "write tools=[...]",
    "model_settings": "the settings are the model's: Agent(LLM('openai/gpt-5.5', temperature=0))",
    "security_analyzer": "write analyzer=...",
    "confirmation_policy": "write confirmation=...",
    "guardrails": "write rules=..., hooks=... or confirmation=...",
    "max_iterations": "write limits=Limits(max_steps=...)",
    "max_turns": "write limits=Limits(max_steps=...)",
    "include_default_tools": "write tools=[...]: 'think' and 'finish' are always among them",
    "cli_mode": "the agent is the same everywhere: leave it out",
}
_SKILL = {
    "content": "write body='...'",
    "instructions": "write body='...'",
    "prompt": "write body='...'",
    "trigger": "write triggers=['...']",
    "keywords": "write triggers=['...']",
    "source": "write path='...'",
}
_CONTEXT = {
    "instructions": "write system_message_suffix='...'",
    "load_public_skills": "write plugins=['github:OWNER/REPO']",
    "secrets": "give them to the conversation: Conversation(agent, secrets={...})",
}
_CONVERSATION = {
    "callbacks": "write on_event=..., a function that gets each event",
    "callback": "write on_event=..., a function that gets each event",
    "token_callbacks": "iterate over conversation.run().stream(), which has the deltas",
    "persistence_dir": "write store=..., the directory with all conversations",
    "session_id": "write id=...",
    "conversation_id": "write id=...",
    "max_iteration_per_run": "write Agent(limits=Limits(max_steps=...))",
    "max_iterations": "write Agent(limits=Limits(max_steps=...))",
    "stuck_detection": "write Agent(stuck=StuckDetection(...)), or stuck=None",
    "visualizer": "write on_event=print, or use 'agentrt show ID'",
    "model": "write the agent first: Conversation(Agent('anthropic/claude-opus-4-5'))",
    "llm": "write the agent first: Conversation(Agent('anthropic/claude-opus-4-5'))",
    "working_dir": "write workspace=...",
    "cwd": "write workspace=...",
    "hook_config": "write Agent(hooks=[...])",
    "plugins": "write Agent(context=AgentContext(plugins=[...]))",
}
_TOOL = {"tool_name": "write name=..."}

HABITS = {
    "LLM": _MODEL,
    "Agent": _AGENT,
    "Skill": _SKILL,
    "AgentContext": _CONTEXT,
    "Conversation": _CONVERSATION,
    "Tool": _TOOL,
    "run_sync": _CONVERSATION,
    "prompt": {"output_type": "write output=..."},
}
_EXAMPLES = {
    "LLM": "LLM('anthropic/claude-opus-4-5')",
    "Agent": "Agent('anthropic/claude-opus-4-5')",
    "Skill": "Skill(name='...', body='...')",
    "Tool": "Tool('NAME')",
}


def check_call(
    constructor: Callable[..., Any], positional: Sequence[Any], named: Collection[str], error: TypeError
) -> None:
    """Raise `ConfigurationError` if the arguments of a call, which raised `error`, are not those of a constructor."""
    owner, parameters = constructor.__name__, _parameters(constructor)
    free = [one.name for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    check_names(owner, constructor, named)
    if len(positional) > len(free):
        words = ", ".join(free) or "nothing"
        raise ConfigurationError(f"{owner} takes {words} without a name: give all else by name") from error
    needed = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    if absent := [repr(name) for name in needed if name not in (*named, *free[: len(positional)])]:
        example = f": write {_EXAMPLES[owner]}" if owner in _EXAMPLES else ""
        raise ConfigurationError(f"{owner} needs {' and '.join(absent)}{example}") from error


def check_names(owner: str, function: Callable[..., Any], named: Iterable[str]) -> None:
    """Raise `ConfigurationError` for an argument with a name that a function of an owner does not have."""
    known = [one.name for one in _parameters(function)]
    for name in named:
        if name not in known:
            raise ConfigurationError(f"{owner} has no argument {name!r}: {_meant(owner, known, name)}")


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return [one for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD and one.name != "self"]


def _meant(owner: str, known: Sequence[str], name: str) -> str:
    if (habit := HABITS.get(owner, {}).get(name)) is not None:
        return habit
    if nearest := get_close_matches(name, known, n=1):
        return f"did you mean {nearest[0]!r}?"
    return f"it has {', '.join(known)}"

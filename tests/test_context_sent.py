"""What a provider is sent of an agent's context, on its own wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentrt import LLM, Agent, AgentContext, Conversation
from agentrt.testing import ScriptedProvider, call, finish

from .test_skills import package, write

pytestmark = pytest.mark.real


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    write(path / "AGENTS.md", "Use tabs.")
    write(path / ".agents/skills/style.md", "---\ntriggers: [commit]\n---\nWrite plainly.")
    package(path, "pdf", "Use pdftotext.")
    return path


async def requests(place: Path, kind: str, context: AgentContext | None = None) -> list[dict[str, Any]]:
    """Those of a conversation that is resumed in the middle."""
    turns = [call("invoke_skill", name="pdf"), finish("Done."), finish("Done again.")]
    async with ScriptedProvider(turns) as provider:
        llm: LLM = getattr(provider, kind)()
        store = place.parent / "store"
        async with Conversation(Agent(llm=llm, context=context), place, store=store) as conversation:
            await conversation.prompt("Please commit it")
            name = conversation.id
        async with Conversation(id=name, store=store) as conversation:
            await conversation.prompt("And again, commit")
        assert provider.refused == []
        return provider.requests


async def test_by_chat_completions(place: Path) -> None:
    first, second, third = await requests(place, "llm")
    system, user = first["messages"]
    assert system["content"].index("You are a software agent") < system["content"].index("Use tabs.")
    assert user["content"].startswith("Please commit it\n")
    assert user["content"].count("Write plainly.") == 1
    assert "Use pdftotext." in second["messages"][-1]["content"]
    assert third["messages"][: len(second["messages"])] == second["messages"]
    assert json.dumps(third).count("Write plainly.") == 1, "once in a conversation"


async def test_by_responses(place: Path) -> None:
    first, second, _ = await requests(place, "responses_llm")
    assert first["instructions"].index("You are a software agent") < first["instructions"].index("Use tabs.")
    assert first["instructions"] == second["instructions"]
    assert "Write plainly." in json.dumps(first["input"])


async def test_by_messages_the_static_part_is_marked_by_itself(place: Path) -> None:
    context = AgentContext(user_message_prefix="Hear:", load_user_skills=False)
    first, second, third = await requests(place, "anthropic_llm", context)
    static, dynamic = first["system"]
    assert static["cache_control"] == dynamic["cache_control"] == {"type": "ephemeral"}
    assert "Use tabs." in dynamic["text"]
    assert "Calls that do not depend on one another" in static["text"], "the template of the family"
    assert str(place) not in static["text"]
    assert first["system"] == second["system"] == third["system"]
    assert "Hear:" in json.dumps(first["messages"][0])
    marks = json.dumps(third).count("cache_control")
    assert marks <= 4, "the most that the provider takes"

"""Each line of docs/migrating-from-openhands.md that promises the same has a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulated

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/migrating-from-openhands.md"
COMPAT = "tests/compat/test_openhands.py"

PROOFS = {
    "LLM(model, base_url,": (f"{COMPAT}::test_constructors_take_the_arguments_of_the_page",),
    "Agent(llm, tools,": (
        f"{COMPAT}::test_constructors_take_the_arguments_of_the_page",
        f"{COMPAT}::test_the_tools_of_an_mcp_server",
    ),
    "AgentContext(skills,": (
        f"{COMPAT}::test_constructors_take_the_arguments_of_the_page",
        f"{COMPAT}::test_skills_are_there_always_or_by_a_word",
        f"{COMPAT}::test_secrets_are_variables_of_commands_and_in_no_event",
    ),
    "Skill(name, content,": (f"{COMPAT}::test_skills_are_there_always_or_by_a_word",),
    "Tool(name, params)": (f"{COMPAT}::test_a_tool_of_the_program_shares_its_shell",),
    "ToolDefinition.create(conv_state,": (f"{COMPAT}::test_a_tool_of_the_program_shares_its_shell",),
    "register_agent(name,": (f"{COMPAT}::test_agents_that_delegate",),
    "Conversation(agent, workspace, callbacks,": (
        f"{COMPAT}::test_a_conversation_is_reopened_by_its_id",
        f"{COMPAT}::test_callbacks_run_in_the_thread_that_runs_and_may_use_the_conversation",
    ),
    "set_confirmation_policy`, `reject_pending_actions": (
        f"{COMPAT}::test_the_controls_of_the_page_block",
        f"{COMPAT}::test_a_program_that_asks_before_each_action",
    ),
    "pause()`, `interrupt()": (
        "tests/test_steering.py::test_a_pause_takes_effect_before_the_next_command_and_stays",
        "tests/test_conversation.py::test_an_interrupt_gives_every_call_a_result",
        "tests/test_delegation.py::test_an_interrupt_reaches_the_shells_of_grandchildren",
    ),
    "update_secrets`, `ask_agent`": (
        "tests/test_controls.py::test_the_controls_of_the_reference_do_what_their_names_say",
    ),
    "LLMProfileStore`, `LLMRegistry": ("tests/llm/test_profiles.py::test_profiles_are_saved_replaced_and_removed",),
    "LLMSummarizingCondenser`, `Pipeline": (
        "tests/specs/test_condensers.py::test_a_file_names_one_or_says_nothing_that_can_be_used",
        "tests/proofs/test_condensing.py",
    ),
    "mcp_config`, `filter_tools_regex": (
        f"{COMPAT}::test_the_tools_of_an_mcp_server",
        "tests/specs/test_mcp.py::test_the_usual_files_are_read",
    ),
    "workspace.execute_command`, `file_upload": (
        "tests/remote/test_commands.py::test_a_command_has_its_result",
        "tests/test_opened.py::test_commands_run_and_files_are_copied",
        "tests/proofs/test_containers.py::test_a_held_container_is_shared_paused_and_outlives_conversations",
    ),
    "X-Session-API-Key": ("tests/server/auth/test_access.py",),
    "none": ("tests/server/streams/test_sse.py",),
}
"""The tests of each line, by a part of its first column."""


def promises() -> list[str]:
    """The first columns of the lines of tables that say that something is the same."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE.read_text(), re.MULTILINE)
    return [left for left, right in rows if re.search(r"\bthe same\b", right)]


def test_each_promise_has_a_test() -> None:
    lines = promises()
    assert len(lines) > 12
    for line in lines:
        found = [part for part in PROOFS if part.strip("`") in line]
        assert found, f"no test for: {line}"
        for test in PROOFS[found[0]]:
            path, _, name = test.partition("::")
            assert (ROOT / path).exists(), test
            assert not name or f"def {name}(" in (ROOT / path).read_text(), test

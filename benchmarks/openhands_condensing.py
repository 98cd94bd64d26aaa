# mypy: disable-error-code="import-not-found, misc"
"""The work of `bench_condensing` for the OpenHands SDK, with its default condenser; runs under its interpreter.

    python - '{"steps": 200, "window": 32000, "url": "http://127.0.0.1:1/v1"}' < openhands_condensing.py

The last line of the output is how the run ended.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
os.environ["LOG_LEVEL"] = "ERROR"

from openhands.sdk import LLM, Action, Agent, Conversation, Observation, Tool, ToolDefinition, register_tool
from openhands.sdk.tool import ToolExecutor
from openhands.tools.preset.default import get_default_condenser
from pydantic import Field, SecretStr


def seen(n: int) -> str:
    """What a step shows: between a line and some pages, the same on both sides."""
    chance = random.Random(n)
    lines = chance.choice((2, 4, 8, 8, 16, 40))
    words = ("def", "return", "value", "index", "parser", "token", "None", "state", "self", "error", "line", "import")
    return "\n".join(f"{at}: {' '.join(chance.choices(words, k=10))}" for at in range(lines))


class LookAction(Action):
    """Arguments of the tool."""

    n: int = Field(description="Its number.")


class LookObservation(Observation):
    """Its result."""


class LookExecutor(ToolExecutor):
    """Answers at once."""

    def __call__(self, action: LookAction, conversation: Any = None) -> LookObservation:
        return LookObservation.from_text(text=seen(action.n))  # type: ignore[no-any-return]


class LookTool(ToolDefinition[LookAction, LookObservation]):
    """A tool that shows a module."""

    @classmethod
    def create(cls, conv_state: Any = None, **params: Any) -> Sequence[LookTool]:
        """The one tool."""
        kinds = {"action_type": LookAction, "observation_type": LookObservation}
        return [cls(description="Look at a module.", executor=LookExecutor(), **kinds)]


def main() -> None:
    """Run it."""
    given = json.loads(sys.argv[1])
    logging.disable(logging.ERROR)
    register_tool("look", LookTool)
    llm = LLM(
        model="openai/scripted",
        base_url=given["url"],
        api_key=SecretStr("none"),
        max_input_tokens=given["window"],
        usage_id="agent",
        num_retries=0,
    )
    condenser = get_default_condenser(llm.model_copy(update={"usage_id": "condenser"}))
    with tempfile.TemporaryDirectory() as directory:
        conversation = Conversation(
            agent=Agent(llm=llm, tools=[Tool(name="look")], condenser=condenser),
            workspace=directory,
            persistence_dir=os.path.join(directory, "store"),
            visualizer=None,
            stuck_detection=False,
            max_iteration_per_run=given["steps"] + 500,
        )
        conversation.send_message("Look at every module, and note what is wrong in it.")
        conversation.run()
        status = conversation.state.execution_status.value
    print(f"{status} (max_size {condenser.max_size}, keep_first {condenser.keep_first})")


main()

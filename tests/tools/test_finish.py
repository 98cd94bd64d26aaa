"""`finish` with an output of a given shape."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta

from agentrt import LLM, Agent, Conversation, ExecutionStatus
from agentrt.context.replies import BadCall
from agentrt.errors import ConfigurationError
from agentrt.events import AgentErrorEvent
from agentrt.specs import LocalWorkspace, Tool
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.tools import Tools, output_schema, structured
from agentrt.tools.finish import finish as plain_finish

pytestmark = pytest.mark.pure


class File(msgspec.Struct):
    """A file that was changed."""

    path: str
    lines: Annotated[int, Meta(ge=0)]


class Report(msgspec.Struct):
    """What was done."""

    summary: str
    files: list[File]
    risk: float | None = None


KIND = structured(plain_finish, output_schema(Report))
TOOLS = Tools([Tool("finish")], {"finish": KIND}, LocalWorkspace("/work"))


def test_the_model_is_offered_the_shape() -> None:
    shape = msgspec.json.decode(KIND.definition.parameters)
    assert shape["required"] == ["message", "output"]
    assert shape["properties"]["output"]["properties"].keys() == {"summary", "files", "risk"}
    assert shape["$defs"].keys() == {"File"}
    assert "output" not in msgspec.json.decode(plain_finish.definition.parameters)["properties"]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"summary": "s", "files": [{"path": "a", "lines": -1}]}, r"output\.files\[0\]\.lines: -1 is less than"),
        ({"summary": 5, "files": []}, r"output\.summary: 5 is not of type 'string'"),
        ({"files": []}, r"output: 'summary' is a required property"),
        ("words", r"output: 'words' is not of type 'object'"),
        (None, r"missing required field `output`|is not of type 'object'"),
    ],
)
def test_what_does_not_fit_is_told_in_detail(output: object, said: str) -> None:
    given = {"message": "m"} if output is None else {"message": "m", "output": output}
    with pytest.raises(BadCall, match=said):
        TOOLS.parse("finish", msgspec.Raw(msgspec.json.encode(given)))


def test_only_an_object_can_be_an_output() -> None:
    with pytest.raises(ConfigurationError, match=r"an output is a JSON object"):
        structured(plain_finish, {"type": "array"})


@pytest.mark.simulated
async def test_a_conversation_gives_its_output_once_it_fits(tmp_path: Path) -> None:
    good = {"summary": "Mended.", "files": [{"path": "a.py", "lines": 3}]}
    client = ScriptedLLM(
        [
            finish("Done."),
            call("finish", message="Done.", output={"summary": "Mended."}),
            call("finish", message="Done.", output=good),
        ]
    )
    agent = Agent(llm=LLM(model="scripted"), tools=(), output=output_schema(Report))
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("Mend it.")
        assert await conversation.output(Report) is None
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        assert await conversation.output(Report) == Report("Mended.", [File("a.py", 3)])
        errors = [event.error async for event in conversation.events() if isinstance(event, AgentErrorEvent)]
        name = conversation.id
    assert len(errors) == 2
    assert "missing required field `output`" in errors[0]
    assert "'files' is a required property" in errors[1]
    async with Conversation(id=name, store=tmp_path / "s", client=client) as conversation:
        assert await conversation.output(Report) == Report("Mended.", [File("a.py", 3)])


@pytest.mark.simulated
async def test_without_a_shape_there_is_no_output(tmp_path: Path) -> None:
    client = ScriptedLLM([finish("Done.")])
    agent = Agent(llm=LLM(model="scripted"), tools=())
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        assert await conversation.output(Report) is None

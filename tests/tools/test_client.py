"""Tools that a client executes: their arguments are held against the schema before it is asked."""

from __future__ import annotations

import msgspec
import pytest

from agentrt.context.replies import BadCall
from agentrt.errors import ConfigurationError
from agentrt.specs import ClientTool, LocalWorkspace
from agentrt.tools.client import client_tool
from agentrt.tools.definition import Tools

pytestmark = pytest.mark.pure

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}


@pytest.mark.parametrize("arguments", ["{}", '{"label": 5}'])
def test_what_does_not_fit_is_told_to_the_model(arguments: str) -> None:
    tools = Tools((), {}, LocalWorkspace("/"))
    tools.learn([client_tool(ClientTool("press", "Press.", SCHEMA))])
    assert tools.resources("press", msgspec.Raw(b'{"label": "OK"}')) == ()
    with pytest.raises(BadCall, match="the arguments of press do not fit"):
        tools.resources("press", msgspec.Raw(arguments.encode()))


def test_the_name_of_a_tool_that_every_agent_has_is_taken() -> None:
    with pytest.raises(ConfigurationError, match="reserved"):
        ClientTool("think", "Think.")

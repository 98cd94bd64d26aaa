"""What a conversation is open with when several open it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt import ToolType, tool
from agentrt.errors import ConfigurationError
from agentrt.host import NOTHING, Opening
from agentrt.host.opening import agreed
from agentrt.secrets import SecretRegistry

pytestmark = pytest.mark.pure


def _tool(called: str) -> ToolType:
    @tool(name=called)
    async def made() -> str:
        """Do it."""
        return "done"

    return made


ONE, TWO, REGISTRY, OTHER = _tool("one"), _tool("two"), SecretRegistry(), SecretRegistry()

openings = st.builds(
    Opening,
    tools=st.lists(st.sampled_from([ONE, TWO]), unique_by=id, max_size=2).map(tuple),
    secrets=st.sampled_from([None, REGISTRY, OTHER]),
    delegates=st.booleans(),
)


def test_who_brings_nothing_shares_what_is_there() -> None:
    there = Opening((ONE,), REGISTRY)
    assert agreed("c", NOTHING, there, [Opening(delegates=True)]) is there
    assert agreed("c", NOTHING, NOTHING, []) is NOTHING
    assert agreed("c", Opening((ONE,)), there, [there]) is there, "or what is there already"


def test_the_first_who_brings_something_has_it() -> None:
    assert agreed("c", Opening((ONE,)), NOTHING, [NOTHING]) == Opening((ONE,))
    assert agreed("c", Opening((), REGISTRY), Opening((ONE,)), [Opening((ONE,))]) == Opening((ONE,), REGISTRY)
    assert agreed("c", Opening((TWO,)), Opening((ONE,), REGISTRY), [NOTHING]) == Opening((TWO,), REGISTRY)


def test_what_contradicts_is_refused() -> None:
    for there in (Opening((ONE,)), Opening((ONE,), delegates=True), Opening(delegates=True)):
        with pytest.raises(ConfigurationError, match="'c' is open here with other tools"):
            agreed("c", Opening((TWO,)), Opening(there.tools), [NOTHING, there])
    with pytest.raises(ConfigurationError):
        agreed("c", Opening((), OTHER), Opening((), REGISTRY), [Opening((), REGISTRY, delegates=True)])


@given(openings, openings, st.lists(openings, max_size=3))
def test_the_one_that_delegates_comes_first(comes: Opening, there: Opening, others: list[Opening]) -> None:
    """Law: with it there, it is open with what that one brings, whoever comes after it."""
    parent = Opening(comes.tools, comes.secrets, delegates=True)
    taken = agreed("c", parent, there, others)
    assert taken.tools == parent.tools
    assert taken.secrets is parent.secrets
    for other in others:
        if not other.delegates:
            try:
                assert agreed("c", other, taken, [parent, *others]) is taken
            except ConfigurationError:
                assert not set(other.tools) <= set(taken.tools) or other.secrets not in (None, taken.secrets)

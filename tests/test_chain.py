"""`Chain` keeps every older value while it grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.chain import Chain

pytestmark = pytest.mark.pure


@given(st.lists(st.tuples(st.integers(0, 5), st.integers())))
def test_every_chain_keeps_its_value_however_others_grow(steps: list[tuple[int, int]]) -> None:
    """Appending to any older chain (a rewind) never changes another one."""
    chains: list[Chain[int]] = [Chain()]
    values: list[list[int]] = [[]]
    for back, item in steps:
        place = max(0, len(chains) - 1 - back)
        chains.append(chains[place].append(item))
        values.append([*values[place], item])
    assert [list(chain) for chain in chains] == values


@given(st.lists(st.integers(), max_size=8), st.integers(-10, 10))
def test_it_reads_as_a_sequence(items: list[int], index: int) -> None:
    chain = Chain(items)
    assert len(chain) == len(items)
    assert chain[1:] == items[1:]
    assert chain.since(2) == items[2:]
    assert list(chain.prefix(index)) == items[: max(index, 0)]
    if -len(items) <= index < len(items):
        assert chain[index] == items[index]
    else:
        with pytest.raises(IndexError):
            chain[index]


def test_a_chain_continues_what_it_grew_out_of() -> None:
    first = Chain([1])
    second = first.append(2)
    other = first.append(3)
    assert second.continues(first)
    assert not first.continues(second)
    assert not other.continues(second)
    assert second == Chain([1, 2]) != other

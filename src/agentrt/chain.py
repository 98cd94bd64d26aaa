"""`Chain`: an immutable sequence with an O(1) append, for histories that only grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar, overload

T = TypeVar("T")


class Chain(Sequence[T]):
    """A prefix of a list that its successors share.

    The chain that reaches the end of the shared list extends it in place; any other copies its own prefix first. So
    growing a history is O(1), and every older chain keeps its value. Not for use from several threads.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Sequence[T] = ()) -> None:
        self._items: list[T] = list(items)
        self._length = len(self._items)

    @classmethod
    def _of(cls, items: list[T], length: int) -> Chain[T]:
        chain: Chain[T] = cls.__new__(cls)
        chain._items, chain._length = items, length
        return chain

    @staticmethod
    def split(chains: Iterable[Chain[T]]) -> tuple[list[list[T]], list[tuple[int, int]]]:
        """Return the lists that chains share, and for each chain the index of its list and the chain's length."""
        lists: dict[int, tuple[int, list[T]]] = {}
        places = []
        for chain in chains:
            number, _ = lists.setdefault(id(chain._items), (len(lists), chain._items))
            places.append((number, chain._length))
        longest = [max(length for of, length in places if of == number) for number in range(len(lists))]
        return [items[: longest[number]] for number, items in lists.values()], places

    @staticmethod
    def join(lists: Sequence[list[T]], places: Iterable[tuple[int, int]]) -> list[Chain[T]]:
        """Return the chains that `split` took apart; the lists are theirs from now on."""
        return [Chain._of(lists[number], length) for number, length in places]

    def append(self, item: T) -> Chain[T]:
        """Return this chain with one more item."""
        items = self._items if self._length == len(self._items) else self._items[: self._length]
        items.append(item)
        return Chain._of(items, self._length + 1)

    def prefix(self, length: int) -> Chain[T]:
        """Return the chain of the first `length` items."""
        return Chain._of(self._items, min(max(length, 0), self._length))

    def since(self, start: int) -> list[T]:
        """Return the items from position `start` on."""
        return self._items[start : self._length]

    def continues(self, other: Chain[T]) -> bool:
        """Return whether this chain grew out of `other`, by the shared list: O(1), and False for an equal copy."""
        return self._items is other._items and self._length >= other._length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return self._items[: self._length][index]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._items[index + self._length if index < 0 else index]

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Chain)
            and self._length == other._length
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    def __hash__(self) -> int:
        return hash(self._length)

    def __repr__(self) -> str:
        return f"Chain({self._items[: self._length]!r})"

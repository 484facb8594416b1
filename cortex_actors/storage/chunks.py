"""Long lists in pieces that one statement takes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

#: Values bound to one statement: SQLite takes some 32,000, and a long list costs time to compile.
BOUND = 1_000


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most `BOUND`; nothing for no items."""
    left = iter(items)
    while found := list(islice(left, BOUND)):
        yield found

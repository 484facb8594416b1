"""A result that a reader can afford: as many hits as a budget of tokens holds.

A token is reckoned as four characters, which needs no model and is near enough for a page; a hit
costs one more than its text, for what stands around it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from cortex_actors.rules.seating import Seating, Seats

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.domain.hit import Hit
    from cortex_actors.rules.storefusion import Placed

#: Characters of a token.
CHARACTERS: Final = 4

#: Tokens of what stands around a hit: its place, its store.
AROUND: Final = 1

#: Tokens of a short hit: every store is asked for as many as could fill a budget by itself.
SHORT: Final = 16


@dataclass(slots=True)
class Purse:
    """What is left of a budget, for all and for each store.

    Attributes:
        left: tokens for all.
        each: tokens that a store which is named may cost, but for its first hit.

    """

    left: int
    each: float = math.inf
    _spent: Counter[str] = field(default_factory=Counter)

    def pays(self, hit: Hit, store: str = "") -> bool:
        """Pay for a hit, if there is enough; tell whether there was."""
        price, spent = cost(hit), self._spent[store]
        if price > self.left or (store and spent and spent + price > self.each):
            return False
        self.left -= price
        self._spent[store] += price
        return True


def tokens(text: str) -> int:
    """Return what a text costs: a quarter of its characters, rounded up, and at least 1."""
    return max(math.ceil(len(text) / CHARACTERS), 1)


def cost(hit: Hit) -> int:
    """Return what a hit costs: its text, the text it was found by if that is another, and 1."""
    metadata = hit.extra.get("metadata")
    via = metadata.get("matched_via") if isinstance(metadata, Mapping) else None
    return tokens(hit.text) + sum(tokens(text) for text in _texts(via)) + AROUND


def packed(fused: Sequence[Placed], budget: int, seats: Seats) -> list[Placed]:
    """Return the hits that a budget pays for, in the order of the fused list.

    Seats are given as without a budget: some to every store, the rest to the best, `seats.limit`
    at most. A hit that is too dear is passed over, and the next one may have its seat. A limit of
    a store's share is one of the budget as well.
    """
    purse = Purse(budget, each=budget * seats.max_share if seats.max_share < 1 else math.inf)
    return Seating(seats, partial(_pays, purse)).given(fused)


def beside(hits: Iterable[Hit], left: int) -> list[Hit]:
    """Return, of what was found beside a result, what the rest of its budget pays for, in order."""
    purse = Purse(left)
    return [hit for hit in hits if purse.pays(hit)]


def asks(limit: int, *, multiplier: int, budget: int | None = None) -> int:
    """Return how many hits every store is asked for, before its own limit.

    Never fewer than are wanted, and enough short ones to fill a budget.
    """
    short = 0 if budget is None else math.ceil(budget / SHORT)
    return max(limit, limit * multiplier, short)


def _pays(purse: Purse, one: Placed) -> bool:
    """Pay for a hit out of the share of its store, or out of the whole."""
    return purse.pays(one.hit, one.store if one.capped else "")


def _texts(via: object) -> list[str]:
    """Return the texts of what a store says a hit was found by."""
    if isinstance(via, str):
        return [via] if via else []
    if isinstance(via, Mapping):
        return _texts(via.get("content"))
    if isinstance(via, Sequence):
        return [text for each in via for text in _texts(each)]
    return []

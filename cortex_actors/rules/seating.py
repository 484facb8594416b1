"""Which hits of a fused list are in the result: so many, and of every store some.

A heavy store could fill the result by itself. Every store is first given a few seats, the rest
goes to the best; a limit of a store's share, where one is set, holds for both.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.rules.storefusion import Placed

#: What 100 x 0.29 lacks to be 29.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Seats:
    """How the seats of a result are given.

    Attributes:
        limit: how many there are; None for as many as there are hits.
        min_per_store: seats that every store is given before the rest goes to the best.
        max_share: what part of `limit` one store may have, at least one seat; 1 is no limit.

    """

    limit: int | None = None
    min_per_store: int = 1
    max_share: float = 1.0

    @property
    def most(self) -> float:
        """Seats that a capped store may have."""
        if self.limit is None or self.max_share >= 1:
            return math.inf
        return max(math.floor(self.limit * self.max_share + _ROUNDING), 1)


@dataclass(slots=True)
class Seating:
    """Gives seats to hits, in two rounds, while there are any.

    Attributes:
        fits: says of a hit that may be seated whether there is room for it, and keeps the room.

    """

    seats: Seats
    fits: Callable[[Placed], bool] = field(default=lambda _: True)
    _free: float = 0
    _taken: list[bool] = field(default_factory=list)
    _each: Counter[str] = field(default_factory=Counter)

    def given(self, fused: Sequence[Placed]) -> list[Placed]:
        """Return who has a seat, in the order of the fused list."""
        self._free = math.inf if self.seats.limit is None else self.seats.limit
        self._taken = [False] * len(fused)
        self._each.clear()
        self._round(fused, self.seats.min_per_store)
        self._round(fused, math.inf)
        return [one for one, taken in zip(fused, self._taken, strict=True) if taken]

    def _round(self, fused: Sequence[Placed], most: float) -> None:
        """Go through the list once; nobody's store gets more seats than that by it."""
        capped = min(most, self.seats.most)
        for number, one in enumerate(fused):
            if self._free < 1:
                return
            allowed = capped if one.capped else most
            if self._taken[number] or self._each[one.store] >= allowed or not self.fits(one):
                continue
            self._free -= 1
            self._taken[number] = True
            self._each[one.store] += 1


def seated(fused: Sequence[Placed], seats: Seats) -> list[Placed]:
    """Return the hits that have a seat, in the order of the fused list.

    Where there are fewer seats than stores, the best stores have them. No limit, or one that is
    not reached, leaves the list as it is, but for a limit of a store's share.
    """
    return Seating(seats).given(fused)

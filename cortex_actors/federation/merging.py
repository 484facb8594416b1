"""Merging: how much is asked of every store, and one list of what they answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.rules.fusion import Seats, across, alone, asks, packed, seated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.federation.party import Party
    from cortex_actors.federation.spec import Knobs
    from cortex_actors.rules.fusion import Listed, Placed

#: Hits that may be asked for at once.
HITS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much is wanted.

    Attributes:
        rows: hits of the answer.
        ask: hits that every store is asked for.
        budget: tokens that the answer may cost; None for no limit.

    """

    rows: int
    ask: int
    budget: int | None = None


def wanted(whom: Party, knobs: Knobs) -> Wanted:
    """Return how much of an answer is wanted, and what every store is asked for.

    Whoever names a budget and no number has as many hits as the budget pays for. What is known here
    is asked for no more than is wanted while nobody else is: nothing of it is pushed out.
    """
    given, budget = whom.question.limit, whom.question.budget_tokens
    most = HITS_LIMIT if budget is not None else knobs.n_results
    rows = most if given is None else given
    multiplier = 1 if whom.is_alone else knobs.fetch_multiplier
    short = knobs.n_results if given is None else given
    ask = asks(short, multiplier=multiplier, budget=budget)
    return Wanted(rows, min(ask, HITS_LIMIT) if whom.is_alone else ask, budget)


def merged(lists: Sequence[Listed], wants: Wanted, knobs: Knobs) -> list[Placed]:
    """Return the hits of the answer, best first."""
    seats = Seats(wants.rows, knobs.min_per_store, knobs.max_store_share)
    if wants.budget is None:
        return seated(fused(lists, knobs), seats)
    return packed(fused(lists, knobs), wants.budget, seats)


def fused(lists: Sequence[Listed], knobs: Knobs) -> list[Placed]:
    """Return the hits of all lists as one.

    While only what is known here has an answer, it stays as its one search has ranked it.
    """
    told = [each for each in lists if each.hits]
    if len(told) == 1 and not told[0].capped:
        return alone(told[0])
    return across(lists, k=knobs.k, mode=knobs.fusion_mode, authority_margin=knobs.authority_margin)

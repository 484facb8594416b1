"""Which store is surest of the first hit it gave.

Places say nothing of how good a hit is: the first of a store that knows the answer and the first of
one that knows nothing are worth the same. How far a store's first hit stands off from its second,
in that store's own measure, says which of the two it is; so does an exact match. Margins are only
ever compared to decide between hits that are worth the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Base relevance from which a hit is an exact match: a store that looks up by key gives 1.
EXACT: Final = 0.999

#: Least margin that counts unless told otherwise; 0 turns authority off.
MARGIN: Final = 0.035


def margin(relevances: Sequence[float]) -> float | None:
    """Return how sure a store is of its first hit, given the base relevances of its hits in order.

    An exact match is as sure as can be, alone or not. A store whose only hit is none abstains
    (None): there is nothing it could stand off from.
    """
    if relevances and relevances[0] >= EXACT:
        return relevances[0]
    return relevances[0] - relevances[1] if len(relevances) > 1 else None


def surest(stores: Iterable[tuple[str, Sequence[float]]], least: float) -> str | None:
    """Return the store with the largest margin, if that is at least `least`; of equals the first.

    A `least` of 0 or less asks nobody.
    """
    found: str | None = None
    widest = least
    for name, relevances in stores if least > 0 else ():
        own = margin(relevances)
        if own is not None and (own > widest or (found is None and own == widest)):
            found, widest = name, own
    return found

"""Several ranked lists to one, by rank alone.

Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): an item is worth the sum of
weight / (k + rank) over the lists that hold it. Scores are not looked at, because a cosine, a BM25
value and another store's number share no scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Ranks by which the first places are levelled; the paper's value.
K = 60


@dataclass(frozen=True, slots=True)
class Ranked:
    """One item of a list that is in order, best first; its score has no say."""

    id: str
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Fused:
    """One item of the fused list.

    Attributes:
        score: 0 to 1; 1 is the first place in every list.
        ranks: list -> the item's place there, from 1.

    """

    id: str
    score: float
    ranks: Mapping[str, int]


def fuse(
    lists: Mapping[str, Sequence[Ranked]],
    *,
    weights: Mapping[str, float] | None = None,
    k: float = K,
    limit: int | None = None,
) -> list[Fused]:
    """Return the items of all lists, best first; equal scores are ordered by id.

    A list without a weight has weight 1, and one of weight 0 takes no part. An item that a list
    holds twice has its better place. An empty list counts as one that was asked and knew nothing;
    leave out those that were not asked or did not answer. Raises `ValueError` for a weight that is
    negative or not finite, or a `k` or `limit` below 0.
    """
    shares = _shares(lists, weights or {}, k=k, limit=limit)
    ranks: dict[str, dict[str, int]] = {}
    for name in sorted(shares):
        for rank, item in enumerate(lists[name], start=1):
            ranks.setdefault(item.id, {}).setdefault(name, rank)
    fused = [Fused(id_, _score(places, shares, k), places) for id_, places in ranks.items()]
    fused.sort(key=lambda item: (-item.score, item.id))
    return fused if limit is None else fused[:limit]


def _score(places: Mapping[str, int], shares: Mapping[str, float], k: float) -> float:
    """Return the item's part of the best possible sum.

    Summed exactly, so that the order of the lists cannot turn a tie into a difference.
    """
    parts = (shares[name] * (k + 1) / (k + rank) for name, rank in places.items())
    return min(math.fsum(parts), 1.0)


def _shares(
    lists: Mapping[str, Sequence[Ranked]],
    weights: Mapping[str, float],
    *,
    k: float,
    limit: int | None,
) -> dict[str, float]:
    """Return what the first place of each list that takes part is worth; together 1."""
    if k < 0 or (limit is not None and limit < 0):
        raise ValueError(f"cannot fuse with k={k} and limit={limit}: neither may be negative")
    given = {name: weights.get(name, 1.0) for name in lists}
    for name, weight in given.items():
        if not math.isfinite(weight) or weight < 0:
            raise ValueError(f"cannot fuse list {name!r} with weight {weight}: give 0 or more")
    total = math.fsum(given.values())
    return {name: weight / total for name, weight in given.items() if weight}

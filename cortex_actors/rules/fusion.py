"""Several ranked lists to one, by rank alone.

Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): an item is worth the sum of
weight / (k + rank) over the lists that hold it. Scores are not looked at, because a cosine, a BM25
value and another store's number share no scale.

What a place is worth (`worth`) is said here once: the lists of one search are fused by it, and the
answers of several stores are (`storefusion`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Ranks by which the first places are levelled; the paper's value.
K = 60

#: The lists of one search: near in meaning, or sharing words; each text by itself, or with what
#: was said before it.
DENSE_ALONE = "dense_alone"
WORDS_ALONE = "words_alone"
DENSE_PAIRED = "dense_paired"
WORDS_PAIRED = "words_paired"

#: In the order in which they are shown.
LISTS = (DENSE_ALONE, WORDS_ALONE, DENSE_PAIRED, WORDS_PAIRED)


@dataclass(frozen=True, slots=True)
class Profile:
    """A way to fuse the lists of one search; a list of weight 0 is not even asked.

    Attributes:
        first: what the first place of a list is counted as, 0 or 1.
        absent_last: an item that a list does not hold stands there behind all that there are,
            instead of nowhere; then even the last has a share.

    """

    name: str
    k: float
    weights: Mapping[str, float]
    first: int = 1
    absent_last: bool = False

    @property
    def lists(self) -> tuple[str, ...]:
        """The lists that take part."""
        return tuple(name for name in LISTS if self.weights.get(name, 0.0) > 0)


#: What finds most on conversations and on abstracts alike (docs/search.md says how it was chosen).
MEASURED = Profile(
    "measured",
    5,
    {DENSE_ALONE: 1.0, WORDS_ALONE: 1.0, DENSE_PAIRED: 1.0, WORDS_PAIRED: 2.0},
)

#: What the documents promise: two lists of equal weight, places counted from 0, and an item that
#: a list lacks counted at the end of it.
DOCUMENT = Profile("document", K, {DENSE_ALONE: 1.0, WORDS_ALONE: 1.0}, first=0, absent_last=True)


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


def worth(rank: int, *, best: float, weight: float = 1.0) -> float:
    """Return what a place is worth: weight / (k + rank), where `best` is k + 1.

    `best` is what the first place is divided by. With it as the weight, too, the first place is
    worth exactly 1 and every other one its share of that.
    """
    return weight / (best + rank - 1)


def check(name: str, weight: float) -> None:
    """Raise `ValueError` for a weight that is negative or not finite."""
    if not math.isfinite(weight) or weight < 0:
        raise ValueError(f"cannot fuse list {name!r} with weight {weight}: give 0 or more")


def fuse(
    lists: Mapping[str, Sequence[Ranked]],
    *,
    weights: Mapping[str, float] | None = None,
    k: float = K,
    limit: int | None = None,
    first: int = 1,
    absent: int | None = None,
) -> list[Fused]:
    """Return the items of all lists, best first; equal scores are ordered by id.

    A list without a weight has weight 1, and one of weight 0 takes no part. An item that a list
    holds twice has its better place. An empty list counts as one that was asked and knew nothing;
    leave out those that were not asked or did not answer. Places are counted from `first`; an item
    that a list lacks has no share in it, or that of place `absent` (from 1). Raises `ValueError`
    for a weight that is negative or not finite, or a `k` or `limit` below 0.
    """
    shares = _shares(lists, weights or {}, k=k, limit=limit)
    best = k + first
    worst = 0.0 if absent is None else worth(absent, best=best, weight=best)
    ranks: dict[str, dict[str, int]] = {}
    for name in sorted(shares):
        for rank, item in enumerate(lists[name], start=1):
            ranks.setdefault(item.id, {}).setdefault(name, rank)
    fused = [
        Fused(id_, _score(places, shares, best, worst), places) for id_, places in ranks.items()
    ]
    fused.sort(key=lambda item: (-item.score, item.id))
    return fused if limit is None else fused[:limit]


def _score(
    places: Mapping[str, int], shares: Mapping[str, float], best: float, worst: float
) -> float:
    """Return the item's part of the best possible sum; `worst` is the part of a list it lacks.

    Summed exactly, so that the order of the lists cannot turn a tie into a difference.
    """
    parts = (
        share * (worth(places[name], best=best, weight=best) if name in places else worst)
        for name, share in shares.items()
    )
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
        check(name, weight)
    total = math.fsum(given.values())
    return {name: weight / total for name, weight in given.items() if weight}

"""What several stores answered, as one list.

A hit is worth what its place in its own store's list is worth (reciprocal rank fusion, `fusion`),
times the weight of the store. Nothing that a store measured decides: two stores with two embedders
share no scale, and one that changes its embedder moves nothing as long as its order stays. There
are two exceptions, and both can be turned off: a floor leaves out what is hardly related, and among
hits that are worth the same the store that is surest of its first one leads (`authority`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from cortex_actors.errors import BadInput
from cortex_actors.rules.authority import MARGIN, surest
from cortex_actors.rules.fusion import K, check, worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.hit import Hit

#: The percentile of the first place, however long the list is.
_TOP: Final = 100.0

#: Scores that are no further apart are equal. One place makes more than that (1e-5 at the hundredth
#: with k = 60), rounding less.
TIE: Final = 1e-9


class Mode(StrEnum):
    """How places become scores."""

    #: weight / (k + rank)
    RRF = "rrf"
    #: weight x percentile: the last of four is worth a quarter of the first, the last of two half.
    PERCENTILE = "percentile"
    #: As `rrf`; of two that are equal, the one with the higher percentile first.
    RRF_PCT = "rrf_pct"


@dataclass(frozen=True, slots=True)
class Listed:
    """What one store answered.

    Attributes:
        store: the name under which it takes part; its hits may name collections of it.
        hits: in the store's own order, which is their rank whatever their scores say.
        weight: how much its places count, 0 or more.
        floor: least base relevance of a hit that takes part; 0 or less lets all of them.
        capped: whether a limit of a store's share of the result is for it, too (`seating`).

    """

    store: str
    hits: Sequence[Hit]
    weight: float = 1.0
    floor: float = 0.0
    capped: bool = True


class Placed(NamedTuple):
    """One hit in the fused list; there are hundreds for each question, and tuples are made fast.

    Attributes:
        store: the list it comes from.
        hit: as its store gave it.
        rank: its place there, from 1, among those that the floor left.
        score: what the formula gives, comparable within one fused list.
        percentile: share of its store's hits, in percent, that do not stand before it.
        share: the score as a part of the best possible one, 0 to 1.
        capped: as its list.

    """

    store: str
    hit: Hit
    rank: int
    score: float
    percentile: float
    share: float
    capped: bool = True

    @property
    def shown(self) -> Hit:
        """The hit as an answer has it: with its place in its store, and its score in this list."""
        return replace(self.hit, store_rank=self.rank, score=self.share, fused_score=self.score)


def mode_of(text: str) -> Mode:
    """Return the mode of that name; raises `BadInput`, with those there are, for any other."""
    try:
        return Mode(text)
    except ValueError:
        valid = sorted(str(each) for each in Mode)
        raise BadInput(f"unknown fusion_mode {text!r}; valid: {valid}") from None


def base_relevance(distance: float | None) -> float:
    """Return 1 / (1 + distance): 1 for the same, towards 0 for what is far.

    A negative distance counts as 0, and so does none at all, which is what a store of exact keys
    gives. One that is not a number is worth nothing.
    """
    if distance is None:
        return 1.0
    return 0.0 if math.isnan(distance) else 1.0 / (1.0 + max(distance, 0.0))


def across(
    lists: Sequence[Listed],
    *,
    k: float = K,
    mode: Mode | str = Mode.RRF,
    authority_margin: float = MARGIN,
) -> list[Placed]:
    """Return the hits of all stores, best first.

    `lists` are those of the stores that answered, in the configured order: among equal scores the
    earlier store comes first, then the better place; no measure decides between them. Then the
    store that is surest of its first hit (by `authority_margin` at least; 0 asks nobody) has that
    hit in front, if it is worth what the leading one is. A heavier store is never overruled.

    Raises `BadInput` for a mode there is none of, and `ValueError` for a weight or a `k` that is
    negative or not finite.
    """
    how = mode_of(mode)
    if not (math.isfinite(k) and k >= 0):
        raise ValueError(f"cannot fuse stores with k={k}: give 0 or more")
    for each in lists:
        check(each.store, each.weight)
    kept = [(each, _above(each)) for each in lists]
    heaviest = max((each.weight for each in lists), default=0.0)
    placed = [
        one for each, hits in kept for one in _placed(each, hits, k=k, mode=how, heaviest=heaviest)
    ]
    if how is Mode.RRF_PCT:
        placed.sort(key=lambda one: (-one.score, -one.percentile))
    else:
        placed.sort(key=lambda one: -one.score)
    relevances = ((each.store, [hit.base_relevance for hit in hits]) for each, hits in kept)
    return _led(placed, surest(relevances, authority_margin))


def alone(listed: Listed) -> list[Placed]:
    """Return the only list there is as it came: its own order, its own scores, no floor."""
    count = len(listed.hits)
    return [
        Placed(
            listed.store,
            hit,
            rank,
            hit.score,
            _percentile(rank, count),
            share=hit.score,
            capped=False,
        )
        for rank, hit in enumerate(listed.hits, start=1)
    ]


def _above(listed: Listed) -> Sequence[Hit]:
    """Return the hits that reach their store's floor."""
    if listed.floor <= 0:
        return listed.hits
    return [hit for hit in listed.hits if hit.base_relevance >= listed.floor]


def _placed(
    listed: Listed, hits: Sequence[Hit], *, k: float, mode: Mode, heaviest: float
) -> list[Placed]:
    """Return a store's hits with what their places are worth, and of what that is a part."""
    store, weight, capped, count = listed.store, listed.weight, listed.capped, len(hits)
    by_percentile = mode is Mode.PERCENTILE
    most = heaviest * _TOP if by_percentile else worth(1, best=k + 1, weight=heaviest)
    found = []
    for rank, hit in enumerate(hits, start=1):
        if by_percentile:
            score = _percentile(rank, count, weight)
        else:
            score = worth(rank, best=k + 1, weight=weight)
        share = score / most if most else 0.0
        found.append(Placed(store, hit, rank, score, _percentile(rank, count), share, capped))
    return found


def _percentile(rank: int, count: int, weight: float = 1.0) -> float:
    """Return the share of a store's hits, in percent, that do not stand before one, weighed.

    Divided last: three times a sixth of 100 has to be as much as a half of it.
    """
    return weight * _TOP * (count - rank + 1) / count


def _led(placed: list[Placed], store: str | None) -> list[Placed]:
    """Return the list with a store's first hit in front, if it is worth what leads."""
    first = next((n for n, one in enumerate(placed) if one.store == store and one.rank == 1), None)
    if not first or placed[first].score < placed[0].score - TIE:
        return placed
    return [placed[first], *placed[:first], *placed[first + 1 :]]

"""Several ranked lists to one, by rank alone.

Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): an item is worth the sum of
weight / (k + rank) over the lists that hold it. Scores are not looked at, because a cosine, a BM25
value and another store's number share no scale.

What a place is worth (`worth`) is said here once: the lists of one search are fused by it, and the
answers of several stores are (`storefusion`).

What several stores answered, as one list.

A hit is worth what its place in its own store's list is worth (reciprocal rank fusion, `fusion`),
times the weight of the store. Nothing that a store measured decides: two stores with two embedders
share no scale, and one that changes its embedder moves nothing as long as its order stays. There
are two exceptions, and both can be turned off: a floor leaves out what is hardly related, and among
hits that are worth the same the store that is surest of its first one leads (`authority`).

Which hits of a fused list are in the result: so many, and of every store some.

A heavy store could fill the result by itself. Every store is first given a few seats, the rest
goes to the best; a limit of a store's share, where one is set, holds for both.

A result that a reader can afford: as many hits as a budget of tokens holds. What a hit costs is
what it takes to print it (`text.summary.price`).

Which store is surest of the first hit it gave.

Places say nothing of how good a hit is: the first of a store that knows the answer and the first of
one that knows nothing are worth the same. How far a store's first hit is from its second,
in that store's own measure, says which of the two it is; so does an exact match. Margins are only
ever compared to decide between hits that are worth the same.

Scores of what is served to other programs, in the measure of the stores that they know.

What is near counts 1 / (1 + distance); the store of memories weighs that by how deep a memory lies
and how often it was said, the store of facts has 1 for an exact key alone. Neither depends on how
rare a word is.

How a search finds the nearest vectors: which way is cheapest is decided here, and why.

Every way gives the same answer. `exact` compares with all rows at once, `subset` with those that
pass a filter, `index` asks the vector index for candidates, which are compared again.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from cortex_actors.domain.hit import LOCAL, RankedHit
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence


#: Ranks by which the first places are levelled; the paper's value.
K = 60

#: The lists of one search: near in meaning, or sharing words; each text by itself, or with what
#: was said before it.
DENSE_ALONE = "dense_alone"
WORDS_ALONE = "words_alone"
DENSE_PAIRED = "dense_paired"
WORDS_PAIRED = "words_paired"

#: Not fused with them: turns of conversations, read one by one (`rules/ranking/rerank.py`).
TURNS = "turns"

#: In the order in which they are shown.
LISTS = (DENSE_ALONE, WORDS_ALONE, DENSE_PAIRED, WORDS_PAIRED)
SHOWN = (*LISTS, TURNS)


@dataclass(frozen=True, slots=True)
class Profile:
    """A way to fuse the lists of one search; a list of weight 0 is not even asked.

    Attributes:
        first: what the first place of a list is counted as, 0 or 1.
        absent_last: an item that a list does not hold is ranked behind all that there are,
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


#: What finds most on conversations and on abstracts alike (benchmarks/README.md, Retrieval).
MEASURED = Profile(
    "measured", 5, {DENSE_ALONE: 1.0, WORDS_ALONE: 1.0, DENSE_PAIRED: 1.0, WORDS_PAIRED: 2.0}
)

#: What the documents promise: two lists of equal weight, places counted from 0, and an item that
#: a list lacks counted at the end of it.
DOCUMENT = Profile("document", K, {DENSE_ALONE: 1.0, WORDS_ALONE: 1.0}, first=0, absent_last=True)


class Fused(NamedTuple):
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
    lists: Mapping[str, Sequence[str]],
    *,
    weights: Mapping[str, float] | None = None,
    k: float = K,
    limit: int | None = None,
    first: int = 1,
    absent: int | None = None,
) -> list[Fused]:
    """Return the items of all lists, best first; equal scores are ordered by id.

    Lists are ids in order, best first; what scored how much has no say.
    A list without a weight has weight 1, and one of weight 0 takes no part. An item that a list
    holds twice has its better place. An empty list counts as one that was asked and knew nothing;
    leave out those that were not asked or did not answer. Places are counted from `first`; an item
    that a list lacks has no share in it, or that of place `absent` (from 1). Raises `ValueError`
    for a weight that is negative or not finite, or a `k` or `limit` below 0.
    """
    shares = _shares(lists, weights or {}, k=k, limit=limit)
    best = k + first
    # What each place is worth; a list that lacks an item has it at place 0.
    worths = [0.0 if absent is None else worth(absent, best=best, weight=best)]
    most = max(map(len, lists.values()), default=0)
    worths += [worth(rank, best=best, weight=best) for rank in range(1, most + 1)]
    ranks, parts = dict[str, dict[str, int]](), shares.items()
    for name in sorted(shares):
        for rank, item in enumerate(lists[name], start=1):
            ranks.setdefault(item, {}).setdefault(name, rank)
    # Summed exactly, so that the order of the lists cannot turn a tie into a difference.
    fused = [
        Fused(each, min(math.fsum([s * worths[at.get(name, 0)] for name, s in parts]), 1.0), at)
        for each, at in ranks.items()
    ]
    fused.sort(key=lambda item: (-item.score, item.id))
    return fused if limit is None else fused[:limit]


#: What a score is worth of something that belongs to another project than the one from which is
#: asked. Of texts that three projects say alike, the caller's leads from the third place, too
#: (with k = 5 it has 0.75 of the first); what answers much better elsewhere stays before it.
ELSEWHERE = 0.7


def weaken_far(fused: Iterable[Fused], elsewhere: Collection[str]) -> list[Fused]:
    """Return a fused list in which what belongs elsewhere counts less; equals keep their order."""
    weighed = (
        each._replace(score=each.score * ELSEWHERE) if each.id in elsewhere else each
        for each in fused
    )
    return sorted(weighed, key=lambda item: -item.score)


def _shares(
    lists: Mapping[str, Sequence[str]],
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


#: Base relevance from which a hit is an exact match: a store that looks up by key gives 1.
EXACT: Final = 0.999

#: Least margin that counts unless told otherwise; 0 turns authority off.
MARGIN: Final = 0.035


def margin(relevances: Sequence[float]) -> float | None:
    """Return how sure a store is of its first hit, given the base relevances of its hits in order.

    An exact match is as sure as can be, alone or not. A store whose only hit is none abstains
    (None): there is nothing to compare it with.
    """
    if relevances and relevances[0] >= EXACT:
        return relevances[0]
    return relevances[0] - relevances[1] if len(relevances) > 1 else None


def find_surest(stores: Iterable[tuple[str, Sequence[float]]], least: float) -> str | None:
    """Return the store with the largest margin, if that is at least `least`; of equals the first.

    A `least` of 0 or less asks no store.
    """
    found: str | None = None
    widest = least
    for name, relevances in stores if least > 0 else ():
        own = margin(relevances)
        if own is not None and (own > widest or (found is None and own == widest)):
            found, widest = name, own
    return found


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
    hits: Sequence[RankedHit]
    weight: float = 1.0
    floor: float = 0.0
    capped: bool = True


class FusedHit(NamedTuple):
    """One hit in the fused list; there are hundreds for each question, and tuples are made fast.

    Attributes:
        store: the list it comes from.
        hit: as its store gave it.
        rank: its place there, from 1, among those that the floor left.
        score: what the formula gives, comparable within one fused list.
        percentile: share of its store's hits, in percent, that are not before it.
        share: the score as a part of the best possible one, 0 to 1.
        capped: as its list.

    """

    store: str
    hit: RankedHit
    rank: int
    score: float
    percentile: float
    share: float
    capped: bool = True

    @property
    def shown(self) -> RankedHit:
        """The hit as an answer has it: with its place in its store, and its score in this list.

        What is known here keeps the chance that it is an answer, which means the same everywhere.
        """
        score = self.hit.score if self.hit.trust == LOCAL else self.share
        return replace(self.hit, store_rank=self.rank, score=score, fused_score=self.score)


def read_mode(text: str) -> Mode:
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


def fuse_stores(
    lists: Sequence[Listed],
    *,
    k: float = K,
    mode: Mode | str = Mode.RRF,
    authority_margin: float = MARGIN,
) -> list[FusedHit]:
    """Return the hits of all stores, best first.

    `lists` are those of the stores that answered, in the configured order: among equal scores the
    earlier store comes first, then the better place; no measure decides between them. Then the
    store that is surest of its first hit (by `authority_margin` at least; 0 asks none) has that
    hit in front, if it is worth what the leading one is. A heavier store is never overruled.

    Raises `BadInput` for a mode there is none of, and `ValueError` for a weight or a `k` that is
    negative or not finite.
    """
    how = read_mode(mode)
    if not (math.isfinite(k) and k >= 0):
        raise ValueError(f"cannot fuse stores with k={k}: give 0 or more")
    for each in lists:
        check(each.store, each.weight)
    # A store's floor leaves out what is hardly related.
    kept = [
        (each, [h for h in each.hits if each.floor <= 0 or h.base_relevance >= each.floor])
        for each in lists
    ]
    heaviest = max((each.weight for each in lists), default=0.0)
    placed = [
        one for each, hits in kept for one in _placed(each, hits, k=k, mode=how, heaviest=heaviest)
    ]
    by_percentile = how is Mode.RRF_PCT
    placed.sort(key=lambda one: (-one.score, -one.percentile if by_percentile else 0.0))
    relevances = ((each.store, [hit.base_relevance for hit in hits]) for each, hits in kept)
    return _led(placed, find_surest(relevances, authority_margin))


def rank_single(listed: Listed) -> list[FusedHit]:
    """Return the only list there is as it came: its own order, its own scores, no floor."""
    count = len(listed.hits)
    store = listed.store
    return [
        FusedHit(store, hit, rank, hit.score, _percentile(rank, count), hit.score, capped=False)
        for rank, hit in enumerate(listed.hits, start=1)
    ]


def _placed(
    listed: Listed, hits: Sequence[RankedHit], *, k: float, mode: Mode, heaviest: float
) -> list[FusedHit]:
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
        found.append(FusedHit(store, hit, rank, score, _percentile(rank, count), share, capped))
    return found


def _percentile(rank: int, count: int, weight: float = 1.0) -> float:
    """Return the share of a store's hits, in percent, that are not before one, weighed.

    Divided last: three times a sixth of 100 has to be as much as a half of it.
    """
    return weight * _TOP * (count - rank + 1) / count


def _led(placed: list[FusedHit], store: str | None) -> list[FusedHit]:
    """Return the list with a store's first hit in front, if it is worth what leads."""
    first = next((n for n, one in enumerate(placed) if one.store == store and one.rank == 1), None)
    if not first or placed[first].score < placed[0].score - TIE:
        return placed
    return [placed[first], *placed[:first], *placed[first + 1 :]]


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


def choose_seated(
    fused: Sequence[FusedHit], seats: Seats, *, fits: Callable[[FusedHit], bool] | None = None
) -> list[FusedHit]:
    """Return the hits that have a seat, in the order of the fused list.

    Where there are fewer seats than stores, the best stores have them. No limit, or one that is
    not reached, leaves the list as it is, but for a limit of a store's share. `fits` says of a hit
    that may be seated whether there is room for it, and keeps the room.
    """
    free = math.inf if seats.limit is None else seats.limit
    taken: set[int] = set()
    each: Counter[str] = Counter()
    # Twice through the list: no store gets more seats than its least by the first time.
    for most in (seats.min_per_store, math.inf):
        capped = min(most, seats.most)
        for number, one in enumerate(fused):
            if free < 1:
                break
            allowed = capped if one.capped else most
            if number in taken or each[one.store] >= allowed or (fits and not fits(one)):
                continue
            free -= 1
            taken.add(number)
            each[one.store] += 1
    return [one for number, one in enumerate(fused) if number in taken]


#: Tokens of a short hit: every store is asked for as many as could fill a budget by itself.
SHORT: Final = 16

#: Tells what a hit costs, in tokens.
Price: TypeAlias = "Callable[[RankedHit], int]"


@dataclass(slots=True)
class Purse:
    """What is left of a budget, for all and for each store.

    Attributes:
        left: tokens for all.
        price: what a hit costs.
        each: tokens that a store which is named may cost, but for its first hit.

    """

    left: int
    price: Price
    each: float = math.inf
    _spent: Counter[str] = field(default_factory=Counter)

    def pay(self, hit: RankedHit, store: str = "") -> bool:
        """Pay for a hit, if there is enough; tell whether there was."""
        price, spent = self.price(hit), self._spent[store]
        if price > self.left or (store and spent and spent + price > self.each):
            return False
        self.left -= price
        self._spent[store] += price
        return True


def pack_hits(
    fused: Sequence[FusedHit], budget: int, seats: Seats, *, price: Price
) -> list[FusedHit]:
    """Return the hits that a budget pays for, in the order of the fused list.

    Seats are given as without a budget: some to every store, the rest to the best, `seats.limit`
    at most. A hit that is too dear is passed over, and the next one may have its seat. A limit of
    a store's share is one of the budget as well.
    """
    each = budget * seats.max_share if seats.max_share < 1 else math.inf
    purse = Purse(budget, price, each)

    def pays(one: FusedHit) -> bool:
        return purse.pay(one.hit, one.store if one.capped else "")

    return choose_seated(fused, seats, fits=pays)


def pack_beside(hits: Iterable[RankedHit], left: int, *, price: Price) -> list[RankedHit]:
    """Return, of what was found beside a result, what the rest of its budget pays for, in order."""
    purse = Purse(left, price)
    return [hit for hit in hits if purse.pay(hit)]


def compute_asks(limit: int, *, multiplier: int, budget: int | None = None) -> int:
    """Return how many hits every store is asked for, before its own limit.

    Never fewer than are wanted, and enough short ones to fill a budget.
    """
    short = 0 if budget is None else math.ceil(budget / SHORT)
    return max(limit, limit * multiplier, short)


#: Distance of what was not measured: as far as what has nothing in common.
UNMEASURED: Final = 1.0

#: What a tier counts (SerenMemory: what is fresh comes before what was distilled once).
TIERS: Final[Mapping[str, float]] = {"short": 1.0, "near": 0.9, "long": 0.8}

#: What a distilled memory gains with each e-fold of what it was made of (SerenMemory).
EVIDENCE: Final = 0.15

#: What an exact key counts, and the most that anything else does (SerenLoci).
FULL, BELOW = 1.0, 0.99

#: Most hits of one answer.
MOST: Final = 200

#: Digits behind the point that travel.
DIGITS: Final = 6


def distance(cosine: float | None) -> float:
    """Return how far a text is by its cosine, rounded as it travels."""
    return UNMEASURED if cosine is None else round(max(1.0 - cosine, 0.0), DIGITS)


def weigh_memory(far: float, tier: str, *, evidence: int = 1) -> float:
    """Return what a memory counts at a distance, in its tier."""
    boost = 1.0 + math.log(max(evidence, 1)) * EVIDENCE if tier == "long" else 1.0
    return base_relevance(far) * TIERS[tier] * boost


def weigh_fact(far: float) -> float:
    """Return what a fact counts at a distance that was not asked for by its key."""
    return min(base_relevance(far), BELOW)


def order_scores(scores: Sequence[float]) -> list[float]:
    """Return scores that agree with their order, rounded as they travel.

    The order is the search's own, which looks at words as well. What comes before something counts
    at least as much, so each is raised to the most that comes behind it.
    """
    found: list[float] = []
    least = 0.0
    for score in reversed(scores):
        least = max(least, score)
        found.append(round(least, DIGITS))
    return found[::-1]


#: Share of the rows up to which those that pass a filter are gathered before they are compared.
#: Of 100,000 rows, gathering took 3.5 ms of CPU for a tenth, 11.2 for three tenths and 13.9 for
#: four, comparing with all 13.5 (benchmarks/recall.py measures both).
SUBSET_SHARE = 0.35

#: Changes the index has not been told up to which it is asked: what waits is compared exactly, and
#: with more of them that alone costs what the index saves.
MOST_WAITING = 2_000


#: What a search is counted as for which the index was to be asked and did not answer.
AWAY = "index away"


class FusionKind(StrEnum):
    """The ways."""

    EXACT = "exact"
    SUBSET = "subset"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """The way that was chosen, and why, as `explain` shows it.

    `way` is what such searches are counted as; empty for one that is not counted.
    """

    kind: FusionKind
    why: str
    way: str = ""


def plan(
    total: int, allowed: int | None = None, *, waiting: int = 0, index_ready: bool = True
) -> FusionPlan:
    """Return how to search `total` rows; the index names candidates wherever it can.

    Args:
        total: how many there are, of what the search is about.
        allowed: how many of them pass a filter for which the index is of no use, None without one:
            its own filters take up to a hundred times as long.
        waiting: changes that the index has not been told.
        index_ready: whether the index answers, or with a filter was not asked.

    """
    if allowed is not None:
        some = f"{allowed} of {total} rows pass the filter"
        if allowed <= total * SUBSET_SHARE:
            return FusionPlan(FusionKind.SUBSET, some, "narrow filter")
        if not index_ready:
            return FusionPlan(FusionKind.EXACT, f"{some}, and the index does not answer", AWAY)
        return FusionPlan(
            FusionKind.EXACT, f"{some}: too many to gather", "filter not asked before"
        )
    if not index_ready:
        return FusionPlan(
            FusionKind.EXACT, f"the index does not answer; all {total} rows are compared", AWAY
        )
    if waiting > MOST_WAITING:
        return FusionPlan(
            FusionKind.EXACT, f"the index has not been told {waiting} changes", "index behind"
        )
    rest = " and what it was not told" if waiting else ""
    why = f"{total} rows, and the index knows all but {waiting} changes"
    return FusionPlan(FusionKind.INDEX, why, f"index{rest}")

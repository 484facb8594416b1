"""How a search finds the nearest vectors: which way is cheapest is decided here, and why.

Every way gives the same answer. `exact` compares with all rows at once, `subset` with those that
pass a filter, `index` asks the vector index for candidates, which are compared again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: Rows of one collection from which the index is asked. Comparing with all of them in memory takes
#: 0.14 ms for a thousand, asking the index 3.3 to 3.9 ms however many it holds: the two meet here
#: (benchmarks/recall.py measures both).
INDEX_FROM = 25_000

#: Share of the rows up to which those that pass a filter are gathered before they are compared.
#: Of 100,000 rows, gathering took 3.5 ms of CPU for a tenth, 11.2 for three tenths and 13.9 for
#: four, comparing with all 13.5 (benchmarks/recall.py measures both).
SUBSET_SHARE = 0.35

#: Changes the index has not been told up to which it is asked: what waits is compared exactly, and
#: with more of them that alone costs what the index saves.
MOST_WAITING = 2_000


class Kind(StrEnum):
    """The ways."""

    EXACT = "exact"
    SUBSET = "subset"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Plan:
    """The way that was chosen, and why, as `explain` shows it."""

    kind: Kind
    why: str


def plan(
    total: int, allowed: int | None, *, waiting: int = 0, index_ready: bool = True, wanted: int = 10
) -> Plan:
    """Return how to search `total` rows.

    Args:
        total: how many there are, of what the search is about.
        allowed: how many of them pass the filter, None without one. The index is not asked then:
            its own filters take up to a hundred times as long.
        waiting: changes that the index has not been told.
        index_ready: whether the index answers.
        wanted: neighbours that are looked for.

    """
    if allowed is not None:
        if allowed <= total * SUBSET_SHARE:
            return Plan(Kind.SUBSET, f"{allowed} of {total} rows pass the filter")
        return Plan(Kind.EXACT, f"{allowed} of {total} rows pass the filter: too many to gather")
    if total < INDEX_FROM:
        return Plan(Kind.EXACT, f"{total} rows are compared faster than the index is asked")
    if not index_ready:
        return Plan(Kind.EXACT, f"the index does not answer; all {total} rows are compared")
    if waiting > MOST_WAITING:
        return Plan(Kind.EXACT, f"the index has not been told {waiting} changes")
    if wanted > total // 2:
        return Plan(Kind.EXACT, f"{wanted} of {total} rows are wanted")
    return Plan(Kind.INDEX, f"{total} rows, and the index knows all but {waiting} changes")

"""Principles fade in the ledger: rank and status computed again from their evidence of now.

A principle was observed as often as the insights it was derived from, together, as far as files
still say them, and last when the last of those was seen, whether or not a file still says it. An
insight that was merged counts as the one it was merged into.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, literal_column, or_, select

from cortex_actors.domain.principle import LinkType
from cortex_actors.rules import decay, promotion
from cortex_actors.storage.insight_records import count_observed, find_scanned_at
from cortex_actors.storage.ledger.backups import compute_horizon
from cortex_actors.storage.tables import schema as tables
from cortex_actors.storage.tables.columns import change_rows, select_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cortex_actors.sections import OrganisationSettings

#: The insights that a principle comes of, each as the one that it counts for.
_COMES_OF = (
    "(SELECT coalesce(i.superseded_by, i.id) FROM insights AS i"
    " JOIN derivations AS d ON d.insight_id = i.id WHERE d.principle_id = principles.id)"
)

#: When the last of them was seen in a revision of a file.
_SEEN = f"(SELECT max(k.last_seen_at) FROM insights AS k WHERE k.id IN {_COMES_OF})"  # noqa: S608 - ours

#: Ranks nearer to each other than this are one: no list shows so many digits.
CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class DecayScales:
    """What a rank and its fading depend on beside the principle."""

    weights: promotion.RankWeights = promotion.RANK_DEFAULTS
    fading: decay.Fading = decay.DEFAULTS

    @classmethod
    def from_settings(cls, chosen: OrganisationSettings) -> DecayScales:
        """Return what the settings say."""
        return cls(chosen.weights, chosen.fading)


@dataclass(frozen=True, slots=True)
class PrincipleEvidence:
    """What is counted about a principle.

    Attributes:
        observed: days, of each project, on which one of its insights was seen.
        seen_at: when one of these was seen last (UTC microseconds), at first when it was made.
        links: principles it is linked with and does not contradict.

    """

    confidence: float
    quality: float
    observed: int
    seen_at: int
    links: int

    def list_parts(self, now: int, scales: DecayScales) -> tuple[promotion.RankPart, ...]:
        """Return what its rank is made of at a time."""
        return promotion.list_parts(
            self.confidence,
            self.observed,
            recency=self.compute_recency(now, scales),
            quality=self.quality,
            links=self.links,
            weights=scales.weights,
        )

    def rank(self, now: int, scales: DecayScales) -> float:
        """Return its rank at a time."""
        return promotion.compute_rank(self.list_parts(now, scales))

    def compute_recency(self, now: int, scales: DecayScales) -> float:
        """Return how fresh it is at a time."""
        days = decay.count_days(self.seen_at, now)
        return decay.recency(days, self.observed, fading=scales.fading)


@dataclass(frozen=True, slots=True)
class Faded:
    """One principle whose computed state differs from its row."""

    id: str
    rank: float
    status: str
    #: How it stood before.
    before: str
    #: Runs of decay in a row that found it worth pruning.
    strikes: int = 0


#: What holds where nothing else is set.
DEFAULTS = DecayScales()


def get_today(connection: Connection, now: int) -> int:
    """Return the time that ages count to: that of the ledger's last events where `now` is ahead.

    A clock that is wrong for an hour must not make everything old.
    """
    return compute_horizon(connection, now, 0)


def load_evidence(connection: Connection, ids: Iterable[str]) -> dict[str, PrincipleEvidence]:
    """Return what is counted about principles, by id; ids that are not known are left out."""
    return {row.id: _evidence(row) for row in _rows(connection, ids)}


def find_faded(connection: Connection, now: int, scales: DecayScales = DEFAULTS) -> list[Faded]:
    """Return every principle whose rank or status is another one after a run of decay.

    `now` is in UTC microseconds, and what `get_today` gives for the clock.
    """
    return list(_judged(connection.execute(_standing()), now, scales, decay.decay_standing))


def settle(
    connection: Connection, ids: Iterable[str], now: int, scales: DecayScales = DEFAULTS
) -> list[Faded]:
    """Write rank and status of some principles as they are now; return those that changed.

    No run of decay: nothing goes a step further towards being pruned. `now` is as in `faded`.
    """
    found = list(_judged(_rows(connection, ids), now, scales, decay.rank_standing))
    write(connection, found)
    return found


def write(connection: Connection, found: Sequence[Faded]) -> None:
    """Write the rank, status and strikes of principles; none of them is deleted."""
    rows = (
        {"one": each.id, "rank": each.rank, "status": each.status, "strikes": each.strikes}
        for each in found
    )
    change_rows(connection, tables.principles, rows)


def _judged(
    rows: Iterable[Any], now: int, scales: DecayScales, judge: Callable[..., decay.DecayStanding]
) -> Iterator[Faded]:
    """Yield the present state of principles, where it differs from the row."""
    for row in rows:
        found = _evidence(row)
        ranked, days = found.rank(now, scales), decay.count_days(found.seen_at, now)
        before = decay.DecayStanding(row.status, row.strikes)
        after = judge(before, ranked, days=days, fading=scales.fading)
        if after != before or abs(ranked - row.rank) >= CLOSE:
            yield Faded(row.id, ranked, after.status, row.status, after.strikes)


def _evidence(row: Any) -> PrincipleEvidence:
    """Return what is counted in a row."""
    seen = max(row.seen or row.created_at, row.scanned or 0)
    return PrincipleEvidence(row.confidence, row.quality, row.observed, seen, row.links)


def _rows(connection: Connection, ids: Iterable[str]) -> Iterator[Any]:
    """Yield principles with what is counted about each."""
    return select_in(connection, _standing(), tables.principles.c.id, sorted(set(ids)))


def _standing() -> Any:
    """Return the query for principles with what is counted about each."""
    names = ("id", "confidence", "quality", "rank", "status", "strikes", "created_at")
    ends = (tables.principle_links.c.source_id, tables.principle_links.c.target_id)
    links = (
        select(func.count())
        .select_from(tables.principle_links)
        .where(or_(*(end == tables.principles.c.id for end in ends)))
        .where(tables.principle_links.c.type != LinkType.CONTRADICTS)
    )
    return select(
        *(tables.principles.c[name] for name in names),
        links.correlate(tables.principles).scalar_subquery().label("links"),
        literal_column(_SEEN).label("seen"),
        count_observed(f"IN {_COMES_OF}").label("observed"),
        find_scanned_at(f"IN {_COMES_OF}").label("scanned"),
    )

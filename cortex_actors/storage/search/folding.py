"""Folding: of hits that say one thing, or stand in one excerpt, one hit.

It is done before the limit is filled, so that ten hits are ten answers. Other programs get every
statement by itself: they are given what was found, and nothing of what stands around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.domain.insight import Claim, Granularity
from cortex_actors.rules.excerpts import Spot, Standing, around, excerpt, repeats
from cortex_actors.storage import insight_records
from cortex_actors.storage.tables.columns import grouped, rows_in
from cortex_actors.storage.tables.schema import insight_sources, insights

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.hit import Hit


#: Under this name a hit of an insight has its spots until it is folded; the first is its own.
SPOTS: Final = "spots"

#: What sections say now, but for what a person has to look at first.
_SAID = (
    insight_records.places()
    .add_columns(insights.c.content)
    .join(insights, insights.c.id == insight_sources.c.said_id)
    .where(insights.c.review.is_(None), insights.c.granularity == Granularity.STATEMENT)
    .order_by(insight_sources.c.fragment_id, insight_sources.c.ordinal)
)


@dataclass(slots=True)
class _Answer:
    """One hit, what of its section is shown, and which statements of that were found."""

    hit: Hit
    extra: dict[str, Any]
    excerpt: Sequence[Standing] = ()
    found: dict[Spot, str] = field(default_factory=dict)


class Folding:
    """Takes hits, best first, and makes answers of them; only insights are folded."""

    def __init__(self, connection: Connection, question: str) -> None:
        """Begin without any; what of a section is shown is read through the connection."""
        self._connection = connection
        self._question = question
        self._answers: list[_Answer] = []
        self._shown: dict[Spot, _Answer] = {}

    def __len__(self) -> int:
        """Return how many answers there are."""
        return len(self._answers)

    def add(self, hits: Iterable[Hit]) -> None:
        """Take more hits, which stand behind those that were taken before."""
        some = [_Answer(hit, dict(hit.extra)) for hit in hits]
        spots: list[list[Spot]] = [each.extra.pop(SPOTS, []) for each in some]
        column = insight_sources.c.fragment_id
        rows = rows_in(self._connection, _SAID, column, (own[0] for own, *_ in filter(None, spots)))
        said = grouped(
            (row.fragment_id, Standing(insight_records.source(row), row.content)) for row in rows
        )
        for answer, own in zip(some, spots, strict=True):
            if own and self._is_folded(answer, own):
                continue
            self._answers.append(answer)
            if own:
                answer.extra["folded"], answer.found[own[0]] = [], answer.hit.id
                answer.excerpt = around(said.get(own[0][0], ()), own[0], taken=self._shown)
                self._shown |= {each.place.spot: answer for each in answer.excerpt}

    def _is_folded(self, other: _Answer, spots: Sequence[Spot]) -> bool:
        """Mark a statement in the excerpt that has it, or name its places where it is said."""
        spot = next((each for each in spots if each in self._shown), None)
        claim = Claim(other.hit.text, other.hit.heading)
        for answer in self._answers if spot is None else [self._shown[spot]]:
            if spot is not None:
                answer.found.setdefault(spot, other.hit.id)
            elif answer.found and repeats(Claim(answer.hit.text, answer.hit.heading), claim):
                place = f"{other.hit.path}:{other.hit.line_start}"
                answer.extra["also"] = [*answer.extra["also"], place, *other.extra["also"]]
            else:
                continue
            answer.extra["folded"].append(other.hit.id)
            return True
        return False

    def hits(self) -> list[Hit]:
        """Return the answers as hits; the lines are those of all that was found in an excerpt."""
        return [self._told(each) if each.excerpt else each.hit for each in self._answers]

    def _told(self, answer: _Answer) -> Hit:
        """Return an answer with what of its section is shown."""
        found = [each.place for each in answer.excerpt if each.place.spot in answer.found]
        section = excerpt(answer.excerpt, answer.found, question=self._question)
        return replace(
            answer.hit,
            line_start=found[0].line_start,
            line_end=max(each.line_end for each in found),
            extra={**answer.extra, "section": section},
        )

"""Folding: of hits that say one thing, or stand in one excerpt, one hit.

It is done before the limit is filled, so that ten hits are ten answers. Other programs get every
statement by itself: they are given what was found, and nothing of what stands around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from cortex_actors.domain.insight import Claim, Granularity
from cortex_actors.rules.excerpts import Spot, Standing, around, excerpt, repeats
from cortex_actors.storage.tables.columns import grouped, rows_in
from cortex_actors.storage.tables.schema import insight_sources, insights

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.hit import Hit


#: Under this name a hit of an insight has its spots until it is folded; the first is its own.
SPOTS: Final = "spots"

#: What a section says now, but for what a person has to look at first.
_SAID = (
    select(
        insight_sources.c.fragment_id,
        insight_sources.c.ordinal,
        insight_sources.c.heading,
        insight_sources.c.line_start,
        insight_sources.c.line_end,
        insights.c.content,
    )
    .join(insights, insights.c.id == insight_sources.c.said_id)
    .where(insight_sources.c.withdrawn_at.is_(None), insights.c.review.is_(None))
    .where(insights.c.granularity == Granularity.STATEMENT)
    .order_by(insight_sources.c.fragment_id, insight_sources.c.ordinal)
)


@dataclass(slots=True)
class _Answer:
    """One hit, with what of its section is shown and which other hits it stands for."""

    hit: Hit
    excerpt: Sequence[Standing] = ()
    found: dict[Spot, str] = field(default_factory=dict)
    also: list[str] = field(default_factory=list)
    folded: list[str] = field(default_factory=list)

    @property
    def claim(self) -> Claim:
        """What it says."""
        return Claim(self.hit.text, self.hit.heading)


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
        some = list(hits)
        said = self._read(spots[0][0] for each in some if (spots := _spots(each)))
        for hit in some:
            spots = _spots(hit)
            if not spots:
                self._answers.append(_Answer(hit))
            elif not (self._is_shown(hit, spots) or self._is_repeat(hit)):
                self._begin(hit, spots[0], said)

    def hits(self) -> list[Hit]:
        """Return the answers as hits."""
        return [self._told(each) for each in self._answers]

    def _read(self, fragments: Iterable[str]) -> Mapping[str, Sequence[Standing]]:
        """Return the statements of fragments in their order."""
        rows = rows_in(self._connection, _SAID, insight_sources.c.fragment_id, fragments)
        return grouped(
            (
                row.fragment_id,
                Standing(
                    (row.fragment_id, row.ordinal),
                    row.heading or "",
                    row.line_start,
                    row.line_end,
                    row.content,
                ),
            )
            for row in rows
        )

    def _is_shown(self, hit: Hit, spots: Iterable[Spot]) -> bool:
        """Mark a statement that stands in an excerpt already; tell whether it does."""
        for spot in spots:
            if (answer := self._shown.get(spot)) is not None:
                answer.found.setdefault(spot, hit.id)
                answer.folded.append(hit.id)
                return True
        return False

    def _is_repeat(self, hit: Hit) -> bool:
        """Name a hit's places at the answer that says the same; tell whether there is one."""
        claim = Claim(hit.text, hit.heading)
        for answer in self._answers:
            if answer.found and repeats(answer.claim, claim):
                answer.also += [f"{hit.path}:{hit.line_start}", *_also(hit)]
                answer.folded.append(hit.id)
                return True
        return False

    def _begin(self, hit: Hit, spot: Spot, said: Mapping[str, Sequence[Standing]]) -> None:
        """Make an answer of a hit, with what stands around it and is not shown elsewhere."""
        answer = _Answer(hit, around(said.get(spot[0], ()), spot, taken=self._shown))
        answer.found[spot], answer.also = hit.id, _also(hit)
        self._answers.append(answer)
        self._shown |= {each.spot: answer for each in answer.excerpt}

    def _told(self, answer: _Answer) -> Hit:
        """Return an answer as one hit: its lines are those of all that was found in its excerpt."""
        hit = answer.hit
        if not answer.found:
            return hit
        extra: dict[str, Any] = {name: hit.extra[name] for name in hit.extra if name != SPOTS}
        extra |= {"also": answer.also, "folded": answer.folded}
        marked = [each for each in answer.excerpt if each.spot in answer.found]
        if not marked:
            return replace(hit, extra=extra)
        made = excerpt(answer.excerpt, answer.found, question=self._question)
        if made is not None:
            extra["section"] = made
        first, last = marked[0].line_start, max(each.line_end for each in marked)
        return replace(hit, extra=extra, line_start=first, line_end=last)


def _spots(hit: Hit) -> list[Spot]:
    """Return the spots of an insight that is to be folded; none of any other hit."""
    found = hit.extra.get(SPOTS)
    return list(found) if isinstance(found, list) else []


def _also(hit: Hit) -> list[str]:
    """Return the other places of a hit."""
    also = hit.extra.get("also")
    return list(also) if isinstance(also, list) else []

"""Organisation: what one run found, and how it is written.

Between the look and the commit a file may have been read again, or a person may have spoken. So
each principle is checked once more: what is not said any more, was turned down or taken back makes
none, and what it was to take the place of stays. The event of whatever happened meanwhile leads to
a run of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.domain.project import Decision
from cortex_actors.pipeline.linking import Linked
from cortex_actors.storage import (
    embeddings,
    insight_evidence,
    insights,
    principle_decay,
    principles,
    reviews,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cortex_actors.pipeline.forming import Formed
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.principle_decay import Scales


@dataclass(frozen=True, slots=True)
class Organisation:
    """What one run found.

    Attributes:
        formed: the principles that were looked at, as they are to be.
        standing: the insights that files said and that nothing spoke against, of those they come
            of.
        gone: principles that are none any more, but those that another one takes the place of.
        moved: principles whose rank is another one by now.
        rows: vectors that the ledger has not got yet.
        model: whose vectors those are.

    """

    formed: Sequence[Formed] = ()
    standing: Collection[str] = ()
    gone: Collection[str] = ()
    moved: Collection[str] = ()
    linked: Linked = field(default_factory=Linked)
    rows: Mapping[bytes, Matrix] = field(default_factory=dict)
    model: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> list[Formed]:
        """The principles that are to be written."""
        return [each for each in self.formed if each.is_changed or each.replaces]

    @property
    def changed_ids(self) -> tuple[str, ...]:
        """Return the principles that came, went, or stand otherwise, in order."""
        found = {each.principle.id for each in self.changed}
        found |= {name for each in self.formed for name in each.replaces}
        return tuple(sorted({*found, *self.gone, *self.moved, *self.linked.drawn.ends}))

    def write(self, connection: Connection, *, at: int, now: int, scales: Scales) -> None:
        """Write it, in the transaction that acknowledges what led to it.

        `at` is the time of the run, `now` the time to which ages count.
        """
        embeddings.keep_vectors(connection, self.model, self.rows)
        back = reviews.principles(connection)
        made = self._holding(connection, back)
        principles.forget(connection, {*self.gone, *_replaced(made)} - back)
        principles.add(connection, [each.principle for each in made])
        principles.derive(connection, [owed for each in made for owed in each.derivations])
        others = self.linked.write(connection, at=at)
        looked_at = {each.principle.id for each in self.formed}
        principle_decay.settle(connection, {*looked_at, *others}, now, scales)

    def _holding(self, connection: Connection, back: Collection[str]) -> list[Formed]:
        """Return what is to be written and still holds; `back` was taken back, and stays."""
        some = self.changed
        members = {owed.insight_id for each in some for owed in each.derivations}
        barred = reviews.decided(connection, Decision.REJECTED)
        barred |= reviews.insights(connection, members)
        barred |= insights.representatives(connection, members).keys()
        barred |= set(self.standing) - insight_evidence.active_among(connection, members)
        taken = _taken(connection, some)
        return [
            each
            for each in some
            if each.principle.id in back
            or not (each.principle.id in taken or _names(each) & barred)
        ]


def _names(formed: Formed) -> set[str]:
    """Return the insights that a principle comes of."""
    return {formed.voice, *(each.insight_id for each in formed.derivations)}


def _replaced(made: Iterable[Formed]) -> set[str]:
    """Return what principles take the place of."""
    return {name for each in made for name in each.replaces}


def _taken(connection: Connection, some: Iterable[Formed]) -> set[str]:
    """Return which new principles are there already: somebody else's words are the same.

    One that comes of nothing is nobody's, and is taken up.
    """
    new = [each.principle.id for each in some if each.is_new]
    return set(principles.load_derivations(connection, new))

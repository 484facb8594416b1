"""Reconciliation: what one run found, and how it is written.

Between the look and the commit files may have been read again. So what depends on a text being said
is checked once more: what is not said any more stands for nobody, and who has just begun to count
for a text that now counts for another one stands alone until its own event has been handled. Those
events come anyway, and each leads to a run of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cortex_actors.storage import contradictions, insight_evidence, insight_records, insights

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.pipeline.weighing import Weighed
    from cortex_actors.rules.clustering import Cluster
    from cortex_actors.storage.contradictions import Contradiction, Mark
    from cortex_actors.storage.ledger.actor import Connection


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What one run found.

    Attributes:
        visited: texts that were looked at.
        leads: text -> the one that stands for it.
        slots: insight -> what it takes a stand on.
        found: contradictions of what was visited.
        detected: those of them that are new.
        altered: those that were known as another type.
        ended: those that do not hold any more.
        made: the clusters of what was visited.
        derived: insights, of those that were looked at, which principles come of.
        model: whose vectors were compared.

    """

    visited: Collection[str]
    leads: Mapping[str, str]
    slots: Mapping[str, Collection[str]]
    found: Sequence[Contradiction]
    detected: Sequence[Contradiction]
    altered: Sequence[Contradiction]
    ended: Sequence[Contradiction]
    made: Sequence[Cluster]
    weighed: Weighed
    derived: Sequence[str]
    mark: Mark
    model: str
    at: int
    counts: dict[str, int] = field(default_factory=dict)

    def write(self, connection: Connection) -> None:
        """Write it, in the transaction that acknowledges what led to it."""
        self._merge(connection)
        contradictions.replace(connection, self.found, self.ended)
        differing = (*self.detected, *self.altered, *self.ended)
        sides = {side for each in differing for side in each.pair}
        insight_records.settle(connection, sides | {self.leads.get(side, side) for side in sides})
        contradictions.replace_clusters(
            connection, self.visited, self.made, model=self.model, at=self.at
        )
        insight_evidence.replace(connection, self.visited, self.slots)
        insights.weigh(connection, self.weighed.changed)
        contradictions.note(connection, self.mark)

    def _merge(self, connection: Connection) -> None:
        """Let each text count for who stands for it, if both are still said."""
        live = insight_evidence.live_among(connection, self.visited)
        wanted: dict[str, str | None] = {
            said: lead if lead != said and {said, lead} <= live else None
            for said, lead in self.leads.items()
        }
        wanted |= dict.fromkeys(set(self.visited) - wanted.keys())
        following = [said for said, lead in wanted.items() if lead is not None]
        new = insights.followers(connection, following).keys() - wanted.keys()
        insights.assign(connection, {**wanted, **dict.fromkeys(new)})

"""The verbs by which other programs are answered: only what is everybody's, whoever asks.

No memory of the private realm or of a bridge is in an answer, no crumb, and nothing that a file of
one person's own says: `Where.outward` has the ledger leave these out before anything is ranked.
Other stores are not asked: two daemons that ask each other would go on for ever. Nor does an answer
count as reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cortex_actors import narrowing, outsidefacts, outsideviews
from cortex_actors.domain.memory import Layer
from cortex_actors.federation.store import LOCAL, Question
from cortex_actors.rules import sameness
from cortex_actors.rules.fusion import MOST
from cortex_actors.storage import insight_records, memory_records, projects, resolutions
from cortex_actors.storage.search.hits import tagged
from cortex_actors.storage.search.query import Where
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.hit import Recall
    from cortex_actors.storage.ledger.actor import Connection

#: Where memories lie.
_MEMORIES: Final = tuple(memory_records.COLLECTIONS.values())

#: Topics of one question that are looked for.
TOPICS: Final = 100


class OutsideVerbs(Verbs):
    """Part of the front desk."""

    async def outside_recall(self, query: str, limit: int = 10) -> dict[str, Any]:
        """Return what is everybody's about a question, from every collection, best first.

        Raises `BadInput`.
        """
        found = await self._outside(query, limit)
        roots = await self._roots()
        return {
            "query": query,
            "hits": [outsideviews.found(hit, roots) for hit in found.hits[:limit]],
            "skipped": _gaps(found),
        }

    async def outside_memories(
        self,
        query: str,
        limit: int = 5,
        *,
        layers: Sequence[str] = (),
        surroundings: bool = False,
    ) -> dict[str, Any]:
        """Return memories of the village about a question, best first.

        `surroundings` tells of each what it was made of, and what it replaced. Raises `BadInput`.
        """
        where = Where(outward=True, layers=_layers(layers))
        found = await self._outside(query, limit, where=where, collections=_MEMORIES)
        hits = [outsideviews.memory(hit) for hit in found.hits[:limit]]
        if surroundings and hits:
            ids = [each["id"] for each in hits]
            around = await self._parts.records.read(lambda c: outsideviews.surroundings(c, ids))
            hits = [{**each, "surroundings": around[each["id"]]} for each in hits]
        return {"query": query, "hits": hits, "skipped": _gaps(found)}

    async def outside_topics(
        self,
        topics: Sequence[str],
        limit: int = 5,
        *,
        layers: Sequence[str] = (),
        exclude_ids: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return memories of the village that have any of those tags; most of them, then newest.

        Of many topics the first `TOPICS` are looked for: a Callosum sends those of a whole answer.
        Raises `BadInput`.
        """
        where, now = Where(outward=True, layers=_layers(layers)), self._parts.clock.now()
        some, most = list(topics[:TOPICS]), min(limit, MOST)
        found = await self._parts.records.read(
            lambda c: tagged(c, some, limit=most, where=where, exclude=exclude_ids, now=now)
        )
        hits = [{**outsideviews.memory(each.hit), "matched": list(each.matched)} for each in found]
        return {"topics": list(topics), "hits": hits}

    async def outside_facts(
        self,
        query: str,
        limit: int = 10,
        *,
        project: str | None = None,
        fundamentals: bool = True,
    ) -> dict[str, Any]:
        """Return principles (of the project `*`) and what projects say, as facts with a key.

        What has the question for its key leads. `fundamentals` adds principles to what one project
        says. An unknown project has no facts. Raises `BadInput`.
        """
        if limit < 1:
            return {"query": query, "project": project, "facts": [], "skipped": []}
        records = self._parts.records
        asked = await records.read(
            lambda c: outsidefacts.sought(
                c, query, min(limit, MOST), project=project, fundamentals=fundamentals
            )
        )
        found = [
            await self._outside(
                query, asked.depth, where=look.where, collections=(insight_records.COLLECTION,)
            )
            for look in asked.looks
        ]
        facts = await records.read(
            lambda c: outsidefacts.facts(c, asked, [each.hits for each in found])
        )
        skipped = [why for each in found for why in _gaps(each)]
        return {"query": query, "project": project, "facts": facts[:limit], "skipped": skipped}

    async def outside_counts(self) -> dict[str, Any]:
        """Return how much there is that other programs may be told."""

        def look(connection: Connection) -> dict[str, Any]:
            return {
                "memories": memory_records.count_shared(connection),
                "facts": resolutions.count_facts(connection),
            }

        return await self._parts.records.read(look)

    async def _outside(self, query: str, limit: int, **narrowed: Any) -> Recall:  # noqa: ANN401
        """Ask the collections that are kept here for what is everybody's."""
        asked: dict[str, Any] = {"where": Where(outward=True), **narrowed}
        question = Question(query, min(limit, MOST), stores=(LOCAL,), hops=1, **asked)
        return await self._parts.recall(question)

    async def _roots(self) -> list[str]:
        """Return the folders of projects."""
        known = await self._parts.records.read(projects.followed)
        return [each.root for each in known]


def _gaps(found: Recall) -> list[str]:
    """Return which parts of a search were left out, and why; how it went is nobody's business."""
    told = (*found.failed, *found.skipped)
    return [why for _, why in told if sameness.is_gap(why)]


def shut(door: Mapping[str, Any]) -> list[str]:
    """Return why the daemon is degraded by the door that it should have for others."""
    return [f"http: {door['reason']}"] if door.get("reason") else []


def _layers(given: Sequence[str]) -> tuple[Layer, ...]:
    """Return layers; raises `BadInput` naming those there are."""
    return tuple(dict.fromkeys(narrowing.word(Layer, each, name="layer") for each in given))

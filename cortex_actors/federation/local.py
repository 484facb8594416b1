"""The daemon's own collections as stores: all of them as one, or each by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.federation.store import LOCAL, Answer
from cortex_actors.rules.fusion import base_relevance
from cortex_actors.storage.search.hits import rare, tagged
from cortex_actors.storage.search.query import Query
from cortex_actors.storage.search.scope import COLLECTIONS, ROOMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.hit import Hit
    from cortex_actors.federation.store import Question
    from cortex_actors.storage.search.hits import Tagged
    from cortex_actors.storage.search.search import Search

#: Hits that the ledger gives at most: the most that can be asked for, five times over.
MOST = 1_000

#: Memories that may have a topic which is looked up beside an answer: comparing 20,000 took 27 to
#: 115 ms, and what so many share tells nothing.
COMMON = 1_000

#: Each collection is a store of its own (`federation.local`).
SEPARATE = "separate"


class LocalStore:
    """Some of the daemon's own collections: one embedder, so one ranked list.

    All of them together are all but the principles: what these say, insights say with their places.
    """

    kind = LOCAL
    most = MOST
    has_topics = True

    def __init__(self, search: Search, collection: str | None = None) -> None:
        """Answer from the ledger and its index: from one collection, or from all."""
        self._search = search
        self._only = collection
        self.name = collection or LOCAL

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections that are searched here."""
        return COLLECTIONS if self._only is None else (self._only,)

    @property
    def whole(self) -> LocalStore:
        """The store of all collections, of which this is one, or which it is itself."""
        return self if self._only is None else LocalStore(self._search)

    def room(self, collection: str) -> LocalStore:
        """Return the store of one collection."""
        return LocalStore(self._search, collection)

    def unmet(self, question: Question) -> str:
        """Return nothing: every condition is one of the ledger's."""
        return ""

    async def recall(self, question: Question, *, limit: int, seconds: float) -> Answer:
        """Return what is nearest in the collections; each hit keeps its own as its store."""
        query = Query(
            question.text,
            question.vector,
            question.model,
            limit,
            collections=question.collections if self._only is None else (self._only,),
            where=question.where,
            explain=question.explain,
            why=question.why,
            now=question.now,
            past=question.past,
        )
        found = await self._search.find(query)
        hits = tuple(_measured(hit) for hit in found.hits)
        return Answer(hits, tuple(reason for _, reason in found.skipped))

    async def by_topic(
        self,
        topics: Sequence[str],
        *,
        limit: int,
        exclude_ids: Sequence[str],
        question: Question,
        seconds: float,
    ) -> Answer:
        """Return memories with any of those tags that whoever asks may read.

        Nothing but memories is filed by hand; what most of the topics name comes first. A topic of
        more than `COMMON` memories is none: it tells nothing of what belongs to what. A condition
        that memories cannot meet leaves them out here as well.
        """
        if question.where.of_insights or question.where.of_knowledge:
            return Answer(())
        found = await self._search.records.read(
            lambda c: tagged(
                c,
                rare(c, topics, most=COMMON, where=question.where),
                limit=limit,
                where=question.where,
                exclude=exclude_ids,
                now=question.now,
            )
        )
        hits = (_filed(each) for each in found)
        return Answer(tuple(hit for hit in hits if hit.store in self.collections))

    async def close(self) -> None:
        """Let go of nothing: the ledger is not its own."""


def members(search: Search, local: str) -> tuple[LocalStore, ...]:
    """Return the stores that are always asked, `together` or `separate`."""
    if local == SEPARATE:
        return tuple(LocalStore(search, name) for name in ROOMS)
    return (LocalStore(search),)


def _filed(found: Tagged) -> Hit:
    """Return a memory with the topics that it was found by, as other stores name them."""
    extra = {**found.hit.extra, "matched_topics": list(found.matched)}
    return replace(found.hit, extra=extra, native_score=float(len(found.matched)))


def _measured(hit: Hit) -> Hit:
    """Return a hit with how near it is, as every store tells it.

    What was found by its words alone was not measured, and is worth nothing there: an answer that
    is exact leads others of its place, and this must not pass for one.
    """
    cosine = hit.extra.get("cosine")
    if not isinstance(cosine, float):
        return replace(hit, base_relevance=0.0)
    distance = max(1.0 - cosine, 0.0)
    return replace(hit, base_relevance=base_relevance(distance), raw_distance=distance)

"""Edges: what is filed under the topics of an answer, in every store that can be asked by topic.

A store is asked about topics of what other programs said and of what the village knows; what is
known here is also asked about its own. What comes of it stands beside the answer, where it moves
nothing: it was found by a word that somebody filed it under, and compared with no question.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.federation.asking import within
from cortex_actors.federation.outward import is_public, topics
from cortex_actors.federation.store import LOCAL, TopicStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.domain.hit import Hit
    from cortex_actors.federation.spec import Member
    from cortex_actors.federation.store import Question
    from cortex_actors.rules.fusion import Placed

#: What such a hit says of where it comes from.
SOURCE = "topic-edge"

#: Seconds that all of them may take: nobody waits long for what stands beside an answer.
LONGEST = 1.0


@dataclass(frozen=True, slots=True)
class Topics:
    """What the hits of an answer are filed under, and which hits those are.

    Attributes:
        theirs: topics that other programs may be asked about.
        ours: topics of all hits.
        known: store -> ids of it that the answer has.

    """

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    known: dict[str, tuple[str, ...]]

    def of(self, member: Member) -> tuple[str, ...]:
        """Return what a member is asked about."""
        return self.ours if member.store.kind == LOCAL else self.theirs


def topics_of(packet: Sequence[Placed]) -> Topics:
    """Return the topics of an answer."""
    known: dict[str, tuple[str, ...]] = {}
    for one in packet:
        known[one.store] = (*known.get(one.store, ()), one.hit.id)
    hits = [one.hit for one in packet]
    theirs = topics(hit for hit in hits if is_public(hit))
    return Topics(tuple(theirs), tuple(topics(hits)), known)


async def edges(
    members: Sequence[Member],
    question: Question,
    filed: Topics,
    *,
    budget: int,
    seconds: float,
    clock: Clock,
) -> list[Hit]:
    """Return at most `budget` hits that share a topic: each store's first, then each one's second.

    Of one place what shares most comes first, then what is configured first. How much a hit shares
    is its store's word, so that decides no more. A store that fails or is late has
    none, and nothing is said of it: the answer is whole without.
    """
    seconds = min(seconds, LONGEST)

    async def ask(member: Member, store: TopicStore) -> list[Hit]:
        told = await within(
            member.store.name,
            lambda: store.by_topic(
                filed.of(member),
                limit=budget,
                exclude_ids=filed.known.get(member.store.name, ()),
                question=question,
                seconds=seconds,
            ),
            seconds=seconds,
            clock=clock,
        )
        return [] if told.answer is None else _edges(told.answer.hits, filed.of(member))

    jobs = [
        ask(each, each.store)
        for each in members
        if isinstance(each.store, TopicStore) and each.store.has_topics and filed.of(each)
    ]
    found = [hit for some in await asyncio.gather(*jobs) for hit in some]
    return sorted(found, key=lambda hit: (hit.store_rank, -(hit.native_score or 0.0)))[:budget]


def _edges(hits: Sequence[Hit], asked: Sequence[str]) -> list[Hit]:
    """Return what a store has under some topics, marked as what stands beside an answer."""
    found = []
    for rank, hit in enumerate(hits, start=1):
        shared = _matched(hit, asked)
        overlap = float(len(shared))
        extra = {**hit.extra, "source": SOURCE, "matched_topics": shared, "overlap": overlap}
        found.append(
            replace(
                hit,
                score=0.0,
                base_relevance=0.0,
                store_rank=rank,
                native_score=overlap,
                extra=extra,
            )
        )
    return found


def _matched(hit: Hit, asked: Sequence[str]) -> list[str]:
    """Return which of some topics a hit was found by: those its store names, else those it has."""
    metadata = hit.extra.get("metadata")
    said = metadata.get("matched_topics") if isinstance(metadata, dict) else None
    named = hit.extra.get("matched_topics") or said
    some = named if isinstance(named, list) and named else topics([hit])
    known = {" ".join(each.lower().split()) for each in some if isinstance(each, str)}
    return [each for each in asked if each in known]

"""The daemon's own collections as stores: all of them as one, or each by itself.

Outward: what of a question may leave this machine, and what of what is known here.

Other programs are asked with the asker's own words, without the secrets in them. Of what is known
here nothing goes out but what every agent may read (the village) and what other programs have said
themselves: what is private is neither sent nor shines through in what is asked next. In doubt
nothing leaves.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.hit import REMOTE, RankedHit
from cortex_actors.domain.memory import Realm
from cortex_actors.federation.store import LOCAL, Answer, ByTopic, Question
from cortex_actors.rules.ranking.fusion import base_relevance
from cortex_actors.storage.search.hits import filter_rare, list_tagged
from cortex_actors.storage.search.query import Query
from cortex_actors.storage.search.scope import COLLECTIONS, ROOMS
from cortex_actors.text.hazards import drop_hidden, mask_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cortex_actors.storage.search.search import Search


#: Hits that the ledger gives at most: the most that can be asked for, five times over.
MOST = 1_000

#: Memories that may have a topic which is looked up beside an answer: comparing 20,000 took 27 to
#: 115 ms, and what so many share tells nothing.
COMMON = 1_000

#: What is searched for as it was asked.
_SAME = (
    *("text", "vector", "model", "where", "explain"),
    *("why", "now", "past", "here", "about", "sure"),
)

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

    def open_room(self, collection: str) -> LocalStore:
        """Return the store of one collection."""
        return LocalStore(self._search, collection)

    def explain_unmet(self, question: Question) -> str:
        """Return nothing: every condition is one of the ledger's."""
        return ""

    async def recall(self, question: Question, *, limit: int, seconds: float) -> Answer:
        """Return what is nearest in the collections; each hit keeps its own as its store."""
        same: dict[str, Any] = {name: getattr(question, name) for name in _SAME}
        searched = question.collections if self._only is None else (self._only,)
        found = await self._search.find(Query(limit=limit, collections=searched, **same))
        hits = tuple(_measured(hit) for hit in found.hits)
        return Answer(hits, tuple(reason for _, reason in found.skipped))

    async def find_by_topic(self, asked: ByTopic, question: Question) -> Answer:
        """Return memories with any of those tags that the caller may read.

        Nothing but memories is filed by hand; what most of the topics name comes first. A topic of
        more than `COMMON` memories is none: it tells nothing of what belongs to what. A condition
        that memories cannot meet leaves them out here as well.
        """
        if question.where.of_knowledge:
            return Answer(())
        found = await self._search.records.read(
            lambda c: list_tagged(
                c,
                filter_rare(c, asked.topics, most=COMMON, where=question.where),
                limit=asked.limit,
                where=question.where,
                exclude=asked.exclude_ids,
                now=question.now,
            )
        )
        # Each with the topics that it was found by, as other stores name them.
        hits = (
            replace(
                each.hit,
                extra={**each.hit.extra, "matched_topics": list(each.matched)},
                native_score=float(len(each.matched)),
            )
            for each in found
        )
        return Answer(tuple(hit for hit in hits if hit.store in self.collections))


def make_members(search: Search, local: str) -> tuple[LocalStore, ...]:
    """Return the stores that are always asked, `together` or `separate`."""
    if local == SEPARATE:
        return tuple(LocalStore(search, name) for name in ROOMS)
    return (LocalStore(search),)


def _measured(hit: RankedHit) -> RankedHit:
    """Return a hit with how near it is, as every store tells it.

    What was found by its words alone was not measured, and is worth nothing there: an answer that
    is exact leads others of its place, and this must not pass for one.
    """
    cosine = hit.extra.get("cosine")
    if not isinstance(cosine, float):
        return replace(hit, base_relevance=0.0)
    distance = max(1.0 - cosine, 0.0)
    return replace(hit, base_relevance=base_relevance(distance), raw_distance=distance)


log = logging.getLogger("cortex.federation")

#: Why nothing leaves when the check itself fails: a text that may hold a secret is not sent.
UNCHECKED = "the question was not sent: it could not be checked for secrets"

#: Why nothing leaves when the question is nothing but what may not.
EMPTY = "the question was not sent: nothing is left of it without its invisible characters"

#: Topics that a store is asked about, and characters that each may have. To look through so much
#: for secrets takes the loop 12 ms; topics as they are in fact take less than 2 ms.
TOPICS, TOPIC = 100, 256


def clean_text(text: str) -> tuple[str, str]:
    """Return what of a text may be sent, and why not if nothing may; one of them is empty.

    That is the text without what is secret in it, and without characters that are not seen. These
    go first: a key with one of them inside has no key's shape, and is one all the same. What a
    marker then means is not sent in any form.
    """
    try:
        found = mask_secrets(drop_hidden(text)).text
    except Exception as error:
        log.warning("a question was not sent to other stores", exc_info=error)
        return "", UNCHECKED
    return (found, "") if found.strip() else ("", EMPTY)


def is_public(hit: RankedHit) -> bool:
    """Return whether a hit may be made part of what is sent: everybody may read it anyway.

    That is what another program said, and a memory of the village. Of everything else known here
    that is not known: what a bridge's agents share, what a file says, a document, a crumb.
    """
    return hit.trust == REMOTE or hit.extra.get("realm") == Realm.VILLAGE


def list_topics(hits: Iterable[RankedHit]) -> list[str]:
    """Return what some hits are filed under, each topic once: every hit's first, then the second.

    Small letters, and else as the store writes them: it compares whole topics. What it writes as
    one text is several topics with commas between them. What looks like a secret is none. Of one
    hit no more are looked at than a store is asked about: a store may file a hit under thousands,
    each is checked on the loop, and others have topics too.
    """
    each_of = (islice(_topics_of(hit), TOPICS) for hit in hits)
    found = dict.fromkeys(filter(None, chain.from_iterable(zip_longest(*each_of))))
    plain = (each for each in found if len(each) <= TOPIC and clean_text(each) == (each, ""))
    return list(islice(plain, TOPICS))


def _topics_of(hit: RankedHit) -> Iterator[str]:
    """Yield what one hit is filed under: by its agent here, by its store elsewhere."""
    metadata = hit.extra.get("metadata")
    said = metadata.get("topic") if isinstance(metadata, dict) else hit.extra.get("tags")
    for text in said if isinstance(said, list | tuple) else [said]:
        for topic in text.split(",") if isinstance(text, str) else ():
            yield topic.strip().lower()

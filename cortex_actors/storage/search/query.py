"""A search, what it is narrowed to, and what it found.

The lists of one search, and the one list that becomes of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from cortex_actors.rules.decay import DECAYS, Decay
from cortex_actors.rules.ranking.fusion import (
    DOCUMENT,
    MEASURED,
    SHOWN,
    Fused,
    FusionPlan,
    Profile,
    fuse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.hit import RankedHit
    from cortex_actors.domain.memory import Layer, MemoryType, Realm
    from cortex_actors.sections import MemorySettings
    from cortex_actors.storage.embeddings import Matrix


@dataclass(frozen=True, slots=True)
class Where:
    """What a search is narrowed to; what is left out narrows nothing.

    A condition that a kind of thing cannot meet leaves that kind out: documents and principles
    belong to no project, only memories have a layer, only knowledge has a source.

    Attributes:
        reader: the agent who asks: memories it may not read do not exist for it. None is the
            owner, who reads everything.
        outward: the answer leaves for another program: it holds only what every agent may read,
            for any reader. That is the village's memories, what shared files say, documents, and
            principles that projects may be given.
        project_id: what its files say, and what was remembered or left for it.
        agent_id: who wrote the memory.
        tags: all of them.
        since: UTC microseconds, the first that counts: when an insight was last said, a memory
            made, a document read.
        until: UTC microseconds, the first that counts no more.
        attention: the least a memory has at the moment of the search.
        source: a document's path or address.
        code: whether a piece of a document is code.

    """

    reader: str | None = None
    outward: bool = False
    project_id: str | None = None
    realm: Realm | None = None
    agent_id: str | None = None
    layers: tuple[Layer, ...] = ()
    types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    thread: str | None = None
    since: int | None = None
    until: int | None = None
    attention: float | None = None
    topic: str | None = None
    source: str | None = None
    code: bool | None = None
    language: str | None = None

    @property
    def of_memories(self) -> bool:
        """Whether something is asked that only memories have."""
        asked = (self.realm, self.agent_id, self.thread, self.attention)
        return bool(self.layers or self.types) or any(each is not None for each in asked)

    @property
    def of_knowledge(self) -> bool:
        """Whether something is asked that only knowledge has."""
        asked = (self.topic, self.source, self.code, self.language)
        return any(each is not None for each in asked)


#: No condition at all.
EVERYTHING = Where()


@dataclass(frozen=True, slots=True)
class Past:
    """Memories that are not looked for today, or not as they are today.

    Attributes:
        as_of: those that were active at that moment (UTC microseconds), whatever became of them.
        original: those that were said and not made of others, active or not.

    """

    as_of: int | None = None
    original: bool = False


@dataclass(frozen=True, slots=True)
class AskedAbout:
    """What a question is about, where it names followed projects.

    Attributes:
        text: the question without their names, which say where to look and match no text.
        named: their ids; what is theirs is preferred.
        vector: that of the text, as the question's own.

    """

    text: str
    named: frozenset[str]
    vector: Matrix | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        vector: the text in the space of `model`; None searches by words alone.
        why: why there is no vector.
        here: the project from which is asked (its id): its texts and global memories are preferred,
            and nothing is left out; None for none.
        about: what it is about where it names projects; None where it names none.
        sure: leave out what is hardly an answer (`relevance.WEAK`).
        collections: where to look; empty for everywhere.
        explain: let each hit say which list found it at which place.
        now: UTC microseconds of the question: attention is what it is then.
        decays: how memories fade until then; a search puts its own here.
        past: memories of another time are searched, and nothing but memories; None for what is
            known now.

    """

    text: str
    vector: Matrix | None
    model: str
    limit: int
    collections: tuple[str, ...] = ()
    where: Where = EVERYTHING
    explain: bool = False
    why: str = "the question has no vector"
    now: int = 0
    past: Past | None = None
    here: str | None = None
    about: AskedAbout | None = None
    sure: bool = False
    decays: Mapping[Layer, Decay] = field(default_factory=lambda: DECAYS, hash=False)

    @property
    def near(self) -> frozenset[str]:
        """The projects whose memories are preferred: those named, else the one asked from."""
        if self.about is not None:
            return self.about.named
        return frozenset() if self.here is None else frozenset((self.here,))


@dataclass(frozen=True, slots=True)
class SearchHits:
    """What a search found, best first.

    Attributes:
        plan: how vectors were compared; None when none were, or when it is an agent who asks.
        skipped: (part of the search, what was not done and why).

    """

    hits: tuple[RankedHit, ...]
    plan: FusionPlan | None = None
    skipped: tuple[tuple[str, str], ...] = ()


class ListedItem(NamedTuple):
    """An item that a list holds, and how near it is in the list's own measure.

    Cosines and BM25 share no scale.
    """

    collection: str
    item_id: str
    score: float


@dataclass(slots=True)
class Lists:
    """What each list that was asked said, best first."""

    said: dict[str, Sequence[ListedItem]] = field(default_factory=dict)
    #: What was looked at beside the lists: its collection.
    beside: dict[str, str] = field(default_factory=dict)
    #: Cosines of what the lists of meaning do not hold.
    cosines: dict[str, float] = field(default_factory=dict)

    @property
    def items(self) -> dict[str, str]:
        """The collection of each item that any list holds, or that was looked at beside them."""
        found = {each.item_id: each.collection for some in self.said.values() for each in some}
        return self.beside | found

    def fuse(self, profile: Profile, *, total: int | None = None) -> list[Fused]:
        """Return one list, best first; `total` counts the items that could be in a list."""
        lists = {name: [each.item_id for each in found] for name, found in self.said.items()}
        absent = None if total is None else total + 1
        return fuse(lists, weights=profile.weights, k=profile.k, first=profile.first, absent=absent)

    def list_holding(self, item: Fused) -> list[str]:
        """Return the lists that hold an item."""
        return [name for name in SHOWN if name in item.ranks]

    def find_measure(self, name: str, item: Fused) -> float | None:
        """Return what a list measured of an item; None where the list does not hold it."""
        rank = item.ranks.get(name)
        return None if rank is None else round(self.said[name][rank - 1].score, 4)

    def explain(self, item: Fused, *, weighed: bool) -> dict[str, dict[str, Any]]:
        """Return each list's place for an item; `weighed` adds what the list measured.

        Not for agents what words weigh: that comes from what they may read, and is not needed.
        """
        places = {name: {"rank": item.ranks[name]} for name in self.list_holding(item)}
        return {
            name: place | {"score": self.find_measure(name, item)}
            if weighed or name.startswith("dense")
            else place
            for name, place in places.items()
        }


def profile_of(settings: MemorySettings) -> Profile:
    """Return the ranking that the settings name."""
    fixed: Mapping[str, Profile] = {each.name: each for each in (MEASURED, DOCUMENT)}
    if settings.profile in fixed:
        return fixed[settings.profile]
    weights = {name: getattr(settings, f"weight_{name}") for name in MEASURED.weights}
    return Profile("custom", settings.rrf_k, weights)

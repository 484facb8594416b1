"""What a store has to offer to be asked, and what it is asked: ports and plain values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cortex_actors.storage.search.query import EVERYTHING, Past, Where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.hit import Hit
    from cortex_actors.storage.embeddings import Matrix

#: The name under which the local collections take part.
LOCAL = "local"

#: What asks for no other time.
_PRESENT = Past()


@dataclass(frozen=True, slots=True)
class Outward:
    """What of a question may leave this machine.

    Attributes:
        text: the question without what is secret.
        vector: of that text, in the space of `model`; None while no text can be embedded.

    """

    text: str
    vector: Matrix | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every store.

    Attributes:
        limit: hits that are wanted; None for as many as the knobs say, or a budget has room for.
        where: what the answer is narrowed to, and through whose eyes it is looked for.
        collections: the collections that are searched; empty for all.
        stores: the stores that are asked; empty for all.
        past: memories of another time are looked for; None for what is known now.
        explain: let each hit say how it was found.
        hops: times that the stores are asked; None for as often as the knobs say.
        budget_tokens: what the answer may cost a reader; None for no limit.
        vector: the text in the space of `model`; None while the embedder is away. Like what
            follows it is put in by the federation.
        why: why there is no vector.
        now: UTC microseconds when it was asked.
        outward: what other programs are asked; None when nothing may leave this machine.
        why_not: why nothing may.

    """

    text: str
    limit: int | None = None
    where: Where = EVERYTHING
    collections: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    past: Past | None = None
    explain: bool = False
    hops: int | None = None
    budget_tokens: int | None = None
    vector: Matrix | None = None
    model: str = ""
    why: str = ""
    now: int = 0
    outward: Outward | None = None
    why_not: str = ""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of what the answer is narrowed to, for stores that cannot meet all of it."""
        return (
            *_differing(self.where, EVERYTHING),
            *_differing(self.past or _PRESENT, _PRESENT),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a store knows, best first, and what of it did not take part, and why."""

    hits: tuple[Hit, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one ask of one store ended.

    Attributes:
        seconds: how long it took.
        reason: why there is no answer; empty when there is one.

    """

    store: str
    seconds: float
    reason: str = ""


class RecallStore(Protocol):
    """One store: local collections, or another program."""

    @property
    def name(self) -> str:
        """What the answer calls it."""

    @property
    def kind(self) -> str:
        """Its type, as the settings call it."""

    @property
    def most(self) -> int:
        """Hits that it gives at most."""

    def unmet(self, question: Question) -> str:
        """Return why a question cannot be put to it; empty when it can.

        A store that cannot narrow its answer as asked is not asked at all: hits that should have
        been left out would be worse than none.
        """

    async def recall(self, question: Question, *, limit: int, seconds: float) -> Answer:
        """Return at most that many hits, best first; whatever goes wrong is raised.

        `seconds` is how long it may take; a store that has no limit of its own is given up then.
        """

    async def close(self) -> None:
        """Let go of what was opened."""


@runtime_checkable
class TopicStore(Protocol):
    """A store that can be asked by topic as well."""

    @property
    def has_topics(self) -> bool:
        """Whether it can, being of the kind that it is."""

    async def by_topic(
        self,
        topics: Sequence[str],
        *,
        limit: int,
        exclude_ids: Sequence[str],
        question: Question,
        seconds: float,
    ) -> Answer:
        """Return what is filed under any of some topics, but for what is known already.

        `exclude_ids` are ids of its own; `question` says through whose eyes it is looked at.
        """


def _differing(given: Where | Past, plain: Where | Past) -> list[str]:
    """Return the names of the fields in which two differ."""
    names = [each.name for each in fields(plain)]
    return [name for name in names if getattr(given, name) != getattr(plain, name)]

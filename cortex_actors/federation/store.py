"""What a store has to offer to be asked, and what it is asked: ports and plain values.

What is known of the stores and of the fan over them: plain values, checked by who makes them.

How a store has been doing, as a value: what was asked of it, how long it took, what went wrong.

Only questions that reached it count. What was not asked of it (the breaker is open, a condition it
does not know) says nothing about it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.sections import FederationSettings
from cortex_actors.storage.search.query import EVERYTHING, AskedAbout, Past, Where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.hit import RankedHit
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
        here: the project from which is asked (its id), which the daemon's own collections prefer.
            Other programs do not get it.
        about: what it is about where it names followed projects; only the daemon's own collections
            get it. Its vector is put in by the federation.
        sure: leave out what is hardly an answer, of the daemon's own collections.
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
    here: str | None = None
    about: AskedAbout | None = None
    sure: bool = False
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
        return (*_differing(self.where, EVERYTHING), *_differing(self.past or _PRESENT, _PRESENT))


@dataclass(frozen=True, slots=True)
class ByTopic:
    """What is asked for by topics.

    Attributes:
        limit: hits that are wanted.
        exclude_ids: ids that are known already.
        seconds: how long the answer may take.

    """

    topics: Sequence[str]
    _: KW_ONLY
    limit: int
    exclude_ids: Sequence[str] = ()
    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a store knows, best first, and what of it did not take part, and why."""

    hits: tuple[RankedHit, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskOutcome:
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

    #: What the answer calls it.
    name: str
    #: Its type, as the settings call it.
    kind: str
    #: Hits that it gives at most.
    most: int
    #: Whether it can be asked by topic, being of the kind that it is.
    has_topics: bool

    def explain_unmet(self, question: Question) -> str:
        """Return why a question cannot be put to it; empty when it can.

        A store that cannot narrow its answer as asked is not asked at all: hits that should have
        been left out would be worse than none.
        """

    async def recall(self, question: Question, *, limit: int, seconds: float) -> Answer:
        """Return at most that many hits, best first; whatever goes wrong is raised.

        `seconds` is how long it may take; a store that has no limit of its own is given up then.
        """

    async def find_by_topic(self, asked: ByTopic, question: Question) -> Answer:
        """Return what is filed under any of some topics, but for what is known already.

        `exclude_ids` are ids of its own; `question` says through whose eyes it is looked at.
        """


def _differing(given: Where | Past, plain: Where | Past) -> list[str]:
    """Return the names of the fields in which two differ."""
    names = [each.name for each in fields(plain)]
    return [name for name in names if getattr(given, name) != getattr(plain, name)]


@dataclass(frozen=True, slots=True)
class Auth:
    """Where a store's token comes from, in the order in which they win.

    Attributes:
        token: the token itself.
        token_keyring: `service/user` in the keyring of the operating system.
        token_env: the variable of the daemon's environment that holds it.

    """

    token: str = field(default="", repr=False)
    token_keyring: str = ""
    token_env: str = ""

    def __bool__(self) -> bool:
        """Whether there is a token at all."""
        return bool(self.token or self.token_keyring or self.token_env)


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """One store, as a person has described it.

    Attributes:
        type: which adapter speaks to it.
        url: its address, without a slash at the end.
        weight: how much its places count.
        floor: base relevance below which its hits do not count; 0 lets all of them.
        options: what only its adapter understands.
        managed: added while the daemon ran, and so removable; else it is of the settings.

    """

    name: str
    type: str
    url: str
    weight: float = 1.0
    floor: float = 0.0
    enabled: bool = True
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    managed: bool = False
    auth: Auth = Auth()


@dataclass(frozen=True, slots=True)
class Member:
    """One store that takes part, and what its hits count."""

    store: RecallStore
    weight: float = 1.0
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Fan:
    """Everything one question needs to know; a change of a setting makes another one.

    Attributes:
        members: the stores to ask, in the configured order, what is known here first.
        knobs: how they are asked: the settings, with what was turned.
        unbindable: (name, reason) of stores that cannot be asked as they are described.

    """

    members: tuple[Member, ...] = ()
    knobs: FederationSettings = field(default_factory=FederationSettings)
    unbindable: tuple[tuple[str, str], ...] = ()


#: What the newest answer counts in the mean of the times: a fifth (the document's).
NEWEST = 0.2

#: Characters of a reason that are kept.
SHOWN = 120

#: Share of answers from which on a store is healthy, or only degraded (the document's).
HEALTHY, DEGRADED = 0.9, 0.7

#: Failures in a row with which a store is unhealthy, however it did before (the document's).
IN_A_ROW = 3


class StoreStanding(StrEnum):
    """How far a store can be relied on."""

    #: It was never asked.
    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """How one store has been doing since the daemon started.

    Attributes:
        mean_s: seconds an answer takes, the newer the more it counts; it begins with the first
            one. (To begin with 0 understates it for the first dozen answers.)
        reason: why the last ask failed; empty when it was answered.
        last_error: why the last ask that failed did, whatever came after it.
        asked_at: when it was asked last (UTC microseconds); None if it never was.
        answered_at: when it answered last, likewise.

    """

    name: str
    answered: int = 0
    failed: int = 0
    in_a_row: int = 0
    mean_s: float = 0.0
    last_s: float = 0.0
    longest_s: float = 0.0
    reason: str = ""
    last_error: str = ""
    asked_at: int | None = None
    answered_at: int | None = None

    @property
    def rate(self) -> float:
        """The share of questions that it answered; 0 for one that was never asked."""
        asked = self.answered + self.failed
        return self.answered / asked if asked else 0.0

    @property
    def standing(self) -> StoreStanding:
        """How far it can be relied on."""
        if not self.answered + self.failed:
            return StoreStanding.UNKNOWN
        if self.rate >= HEALTHY and not self.in_a_row:
            return StoreStanding.HEALTHY
        if self.rate >= DEGRADED and self.in_a_row < IN_A_ROW:
            return StoreStanding.DEGRADED
        return StoreStanding.UNHEALTHY

    def note_ask(self, seconds: float, reason: str, *, at: int | None = None) -> StoreHealth:
        """Return its health after an ask at that time; `reason` is empty when it was answered.

        The times are those of answers: how long a store did not answer is our own patience.
        """
        if reason:
            why = reason[:SHOWN]
            failed, in_a_row = self.failed + 1, self.in_a_row + 1
            return replace(
                self, failed=failed, in_a_row=in_a_row, reason=why, last_error=why, asked_at=at
            )
        mean = self.mean_s + NEWEST * (seconds - self.mean_s) if self.answered else seconds
        return replace(
            self,
            answered=self.answered + 1,
            in_a_row=0,
            mean_s=mean,
            last_s=seconds,
            longest_s=max(self.longest_s, seconds),
            reason="",
            asked_at=at,
            answered_at=at,
        )

    def as_answer(self) -> dict[str, Any]:
        """Return it as clients get it; times in milliseconds."""
        return {
            "name": self.name,
            "status": str(self.standing),
            "up": not self.reason,
            "total": self.answered + self.failed,
            "succeeded": self.answered,
            "failed": self.failed,
            "success_rate": round(self.rate, 4),
            "latency_ms": round(self.mean_s * 1_000, 3),
            "last_latency_ms": round(self.last_s * 1_000, 3),
            "max_latency_ms": round(self.longest_s * 1_000, 3),
            "last_error": self.last_error,
            "consecutive_failures": self.in_a_row,
            "asked_at": self.asked_at,
            "answered_at": self.answered_at,
        }

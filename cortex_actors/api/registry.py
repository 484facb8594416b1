"""What every operation may use: actors by name, what is no actor, and how to find a project.

What a client asks for in words, as the values they mean; what means nothing is refused.

Narrowing: what a client may narrow a question to, checked and brought into one form.

The same conditions, with the same words for what is wrong with them, for every verb that takes
them. Nothing is left out in silence: an unknown word is an error that names those there are.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors.api import status
from cortex_actors.clock import iso
from cortex_actors.domain.agent import agent_id, shown
from cortex_actors.domain.insight import ALL, LIVE, SHOWN, InsightStatus
from cortex_actors.domain.memory import Layer, MemoryType, Realm
from cortex_actors.embedding.cache import Cache
from cortex_actors.errors import ActorAway, BadInput, ModelChanged
from cortex_actors.federation.federation import Federation
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.rules.admission import THREAD
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage.events import store
from cortex_actors.storage.search.query import Past, Where
from cortex_actors.text.terms import moment
from cortex_actors.text.terms import tags as normalised

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.doctor.probe import RoundTrip
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.hit import Recall
    from cortex_actors.domain.project import Project
    from cortex_actors.embedding.migrator import Migrator
    from cortex_actors.embedding.pool import Pool
    from cortex_actors.federation.roster import Roster
    from cortex_actors.federation.store import Question
    from cortex_actors.home import Home
    from cortex_actors.judging.judge import Judge
    from cortex_actors.memory.archivist import Archivist
    from cortex_actors.memory.custodian import AccessReporter, Custodian
    from cortex_actors.memory.librarian import Librarian
    from cortex_actors.memory.trail import Trail
    from cortex_actors.memory.village import Village
    from cortex_actors.pipeline.organiser import Organiser
    from cortex_actors.pipeline.resolver import Resolver
    from cortex_actors.runtime.names import Names
    from cortex_actors.schedule.scheduler import Scheduler
    from cortex_actors.settings import Settings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.index.vectors import Vectors
    from cortex_actors.storage.ledger.actor import Connection, Ledger, Records


T = TypeVar("T")

#: What the front desk is called as the source of an event.
SOURCE = "cortex"

#: Times that a question is asked again: a migration ends, and an actor may crash meanwhile.
REPEATS = 3

#: Seconds for which an operation waits for the vector of a text.
EMBED_TIMEOUT = 60.0

#: Seconds of those for which a model may still be loading.
EMBED_PATIENCE = 20.0

#: Seconds `status` waits for one actor: it must answer while a branch restarts.
SOON = 2.0


@dataclass(frozen=True, slots=True)
class Actors:
    """The actors that others ask, each by its name."""

    archivist: NamedActor[Archivist]
    cache: NamedActor[Cache]
    custodian: NamedActor[Custodian]
    federation: NamedActor[Federation]
    judge: NamedActor[Judge]
    ledger: NamedActor[Ledger]
    librarian: NamedActor[Librarian]
    migrator: NamedActor[Migrator]
    organiser: NamedActor[Organiser]
    pool: NamedActor[Pool]
    resolver: NamedActor[Resolver]
    roster: NamedActor[Roster]
    scheduler: NamedActor[Scheduler]
    trail: NamedActor[Trail]
    vectors: NamedActor[Vectors]
    village: NamedActor[Village]

    @classmethod
    def of(cls, names: Names) -> Actors:
        """Return them by their names in a tree."""
        return cls(**{each.name: NamedActor(each.name, names) for each in fields(cls)})


@dataclass(frozen=True, slots=True)
class Parts:
    """What operations use beside actors."""

    home: Home
    clock: Clock
    bus: Bus
    records: Records
    #: As they are now: a reload changes them.
    settings: Callable[[], Settings]
    #: The id of the vector space that answers now: a migration changes it.
    model: Callable[[], str]
    #: Tells the custodian which memories were read.
    accesses: AccessReporter
    #: Returns how changes of files are noticed: by project, and what is wrong with it.
    watching: Callable[[], Mapping[str, Any]]
    #: Returns the state of the HTTP server, soon or not at all.
    door: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Runs all checks and repairs; see `desk.Practice.visit`.
    doctor: Callable[..., Awaitable[Mapping[str, Any]]]
    #: Remembers, recalls and forgets a probe, and has the outcome of the last trial.
    trial: RoundTrip
    tree: Callable[[], Mapping[str, Any]]
    crash: Callable[[str], None]
    inspect: Callable[[str], Mapping[str, Any]]
    reload: Callable[[], Awaitable[Mapping[str, Any]]]
    #: Lets a consumer look into the journal.
    wake: Callable[[str], object]


class Verbs:
    """Part of the front desk: `FrontDesk` is made of several, and each has the same parts."""

    #: Set once, by `FrontDesk`.
    _actors: Actors
    _parts: Parts

    async def _recall(self, question: Question) -> Recall:
        """Ask the federation; it takes as long as the slowest store may."""
        ask = self._actors.federation.within(None).ask
        return await repeated(lambda: ask(Federation.recall, question))

    async def _embed(self, texts: Sequence[str]) -> Matrix:
        """Embed texts with the model that answers now, before those that are not waited for."""
        return await self._actors.cache.within(EMBED_TIMEOUT).ask(
            Cache.embed, texts, urgent=True, patience=EMBED_PATIENCE, model=self._parts.model()
        )

    def _ruling(self) -> Ruling:
        """Return by which thresholds insights are judged now."""
        parts = self._parts
        return Ruling(parts.settings().reconciliation, parts.model(), parts.home.rules)

    async def _project(self, path: str) -> Project:
        """Return the followed project that a path, a name or an id means.

        Raises `UnknownProject`.
        """
        return await self._parts.records.read(lambda c: status.project(c, path))

    async def _project_id(self, path: str | None) -> str | None:
        """Return the id of a project that may not be meant at all; raises as `_project` does."""
        return None if path is None else (await self._project(path)).id

    async def _change(self, work: Callable[[Connection], T], *said: Event[Payload]) -> T:
        """Change something and say so, all in one transaction; return what the change gave."""
        return await self._change_and_say(lambda connection: (work(connection), said))

    async def _change_and_say(
        self, work: Callable[[Connection], tuple[T, Sequence[Event[Payload]]]]
    ) -> T:
        """Change something and say what the change itself tells, all in one transaction."""

        def unit(connection: Connection) -> tuple[T, list[Event[Payload]]]:
            given, said = work(connection)
            return given, store(connection, list(said))

        given, stored = await self._parts.records.write(unit)
        for each in stored:
            self._parts.bus.announce(each)
        return given


async def repeated(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask a question, and ask it again when the model changed or an actor ended meanwhile.

    A question changes nothing, so asking twice is safe.
    """
    for _ in range(REPEATS):
        with suppress(ActorAway, ModelChanged):
            return await ask()
    return await ask()


E = TypeVar("E", bound=StrEnum)

#: SQLite's largest number.
_MOST = 2**63 - 1


def chosen(kind: type[E], value: str | None, *, what: str) -> E | None:
    """Return the member of that name, None for None; raises `BadInput` naming those there are."""
    if value is None:
        return None
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(each.value for each in kind)
        message = f"there is no {what} {value!r}; there are {known}"
        raise BadInput(message) from None


def statuses(value: str) -> frozenset[InsightStatus]:
    """Return the statuses of insights that a word means; raises `BadInput`."""
    return among(InsightStatus, value, shown=LIVE)


def among(kind: type[E], value: str, *, shown: Collection[E]) -> frozenset[E]:
    """Return the statuses that a word means: all, those that are shown, or the one called so.

    Raises `BadInput`.
    """
    if value == ALL:
        return frozenset(kind)
    if value == SHOWN:
        return frozenset(shown)
    try:
        return frozenset([kind(value)])
    except ValueError:
        known = ", ".join([SHOWN, ALL, *kind])
        message = f"there is no status {value!r}; there are {known}"
        raise BadInput(message) from None


def share(value: float | None, *, what: str) -> float | None:
    """Return a number from 0 to 1, None for None; raises `BadInput`."""
    # Asked by its very class: a client may send anything, and true would pass for 1.
    if value is None or (type(value) in {int, float} and 0 <= value <= 1):
        return value
    message = f"{what} must be a number from 0 to 1, not {value!r}"
    raise BadInput(message)


def page(limit: int, skip: int, *, of: str) -> None:
    """Raise `BadInput` for a page that cannot be."""
    if not 1 <= limit <= _MOST:
        message = f"cannot list {limit} {of}; ask for 1 or more"
        raise BadInput(message)
    if not 0 <= skip <= _MOST:
        message = f"cannot skip {skip} {of}; skip 0 or more"
        raise BadInput(message)


Word = TypeVar("Word", bound="StrEnum")

#: Most attention that a memory can have: whole, and what being read adds at most.
MOST_ATTENTION = 1.5


def where(
    *,
    now: int,
    reader: str | None = None,
    project_id: str | None = None,
    layers: Sequence[str] = (),
    realm: str | None = None,
    agent: str | None = None,
    type: str | None = None,  # noqa: A002 - what every client calls it
    tags: Sequence[str] = (),
    thread: str | None = None,
    since: int | str | None = None,
    until: int | str | None = None,
    min_attention: float | None = None,
) -> Where:
    """Return the conditions; `now` (UTC microseconds) is the moment from which spans count back.

    Raises `BadInput` for what is none: an unknown realm, layer or type, a moment that is not
    understood, an attention no memory can have, an end that is not after its beginning.
    """
    begun = None if since is None else moment(since, now, name="since")
    ended = None if until is None else moment(until, now, name="until")
    if begun is not None and ended is not None and begun >= ended:
        raise BadInput(
            f"nothing lies between since ({iso(begun)}) and until ({iso(ended)}): until is the "
            "first moment that counts no more, and must be later"
        )
    return Where(
        reader=reader,
        project_id=project_id,
        realm=None if realm is None else word(Realm, realm, name="realm"),
        agent_id=None if agent is None else agent_id(agent),
        layers=tuple(dict.fromkeys(word(Layer, each, name="layer") for each in _list(layers))),
        types=() if type is None else (word(MemoryType, type, name="type"),),
        tags=normalised(list(tags) if isinstance(tags, tuple) else tags),
        thread=None if thread is None else thread_of(thread),
        since=begun,
        until=ended,
        attention=None if min_attention is None else _attention(min_attention),
    )


def past(as_of: int | str | None, *, now: int, original: bool = False) -> Past | None:
    """Return which memories of another time are looked for; None for what is known now.

    Raises `BadInput` for a moment that is not understood, or that has not come yet.
    """
    if as_of is None:
        return Past(original=True) if original else None
    moment_ = moment(as_of, now, name="as_of")
    if moment_ > now:
        raise BadInput(f"nobody knows what will be believed: as_of ({iso(moment_)}) lies ahead")
    return Past(as_of=moment_, original=original)


def word(kind: type[Word], given: object, *, name: str) -> Word:
    """Return a word of a closed set, in any case; raises `BadInput` naming those there are."""
    try:
        return kind(given.lower() if isinstance(given, str) else "")
    except ValueError:
        known = ", ".join(kind)
        raise BadInput(f"there is no {name} {shown(given)}; there are {known}") from None


def thread_of(given: object) -> str:
    """Return a thread's name in the form in which it is kept; raises `BadInput`."""
    name = " ".join(given.split()) if isinstance(given, str) else ""
    if not name or len(name) > THREAD:
        raise BadInput(f"{shown(given)} names no thread: it has 1 to {THREAD} characters")
    return name


def words(given: object, *, name: str) -> tuple[str, ...]:
    """Return a list of words, each once; raises `BadInput` for anything else."""
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise BadInput(f"{name} must be a list of words, not {shown(given)}")
    for each in given:
        if not isinstance(each, str):
            raise BadInput(f"{name} must be words, and {shown(each)} is none")
    return tuple(dict.fromkeys(given))


def whole(given: object, *, name: str) -> int | None:
    """Return a whole number, if one was given; raises `BadInput` for what is none."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    raise BadInput(f"{name} must be a whole number, not {shown(given)}")


def _list(given: object) -> list[object] | tuple[object, ...]:
    """Return a list of words; raises `BadInput` for anything else."""
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise BadInput(f"layers must be a list of words, not {shown(given)}")
    return given


def _attention(given: object) -> float:
    """Return a least attention."""
    found = math.nan if isinstance(given, bool) or not isinstance(given, int | float) else given
    if not 0 <= found <= MOST_ATTENTION:
        raise BadInput(
            f"min_attention {shown(given)} is none that a memory could have: give 0 to "
            f"{MOST_ATTENTION:g}"
        )
    return float(found)

"""The front desk as the tree hands it out: the verbs, with whom each of them asks by name.

What `status` asks is answered soon or not at all, so that it answers while a branch restarts.

The doctor as the daemon has it: looks on a thread of its own, mends through the ledger's writer.

One call at a time; the next one waits. Whoever asks for it holds up nobody: the ledger is read on
connections of its own, and the index is asked in small pieces by the actor that owns it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cortex_actors.api import status
from cortex_actors.api.cortex import FrontDesk, Parts
from cortex_actors.assembly import directory
from cortex_actors.bus.consumer import Wake
from cortex_actors.doctor import checks, model_checks
from cortex_actors.doctor.context import Patient
from cortex_actors.doctor.doctor import Visit, Ward
from cortex_actors.doctor.probe import RoundTrip
from cortex_actors.embedding.cache import Cache
from cortex_actors.embedding.factory import report
from cortex_actors.embedding.pool import Pool
from cortex_actors.errors import ActorAway, CortexError, IndexDown, MailboxFull, ModelChanged
from cortex_actors.federation.federation import Federation
from cortex_actors.gateways.server import Http
from cortex_actors.pipeline import selection
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.runtime.threads import Threads
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import memory_delete, resolutions
from cortex_actors.storage.health.file import Reader
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.life import Generations
from cortex_actors.storage.index.vectors import COLLECTIONS, Vectors
from cortex_actors.storage.ledger.actor import Ledger, Records
from cortex_actors.storage.ledger.files import Halt
from cortex_actors.topics import FILE_CHANGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from cortex_actors.assembly.context import World
    from cortex_actors.bus.bus import Bus
    from cortex_actors.doctor.checks import Look
    from cortex_actors.domain.event import FileChanged
    from cortex_actors.domain.hit import Diagnosis
    from cortex_actors.runtime.names import Names
    from cortex_actors.settings import Settings
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.watching.hints import Hints


P = ParamSpec("P")
R = TypeVar("R")

#: Times that a question is asked again: a migration ends, and somebody may crash meanwhile.
REPEATS = 3

#: Seconds for which somebody who asks about a text waits for its vector.
EMBED_TIMEOUT = 60.0

#: Seconds of those for which a model may still be loading.
EMBED_PATIENCE = 20.0

#: Seconds for which somebody who supposes something waits for the organiser, which may be at work.
SUPPOSE_TIMEOUT = 60.0

#: Seconds `status` waits for one actor: it must answer while a branch restarts.
STATUS_TIMEOUT = 2.0


def front_desk(
    world: World,
    bus: Bus,
    *,
    records: Records,
    model: Callable[[], str],
    practice: Practice,
    settings: Callable[[], Settings],
    hints: Hints,
) -> FrontDesk:
    """Return the verbs of a tree; `model` gives the id of its vector space."""
    names = world.names
    embed = names.method("cache", Cache.embed, timeout=EMBED_TIMEOUT)
    return FrontDesk(
        Parts(
            home=world.home,
            clock=world.clock,
            bus=bus,
            records=records,
            model=model,
            recall=repeated(names.method("federation", Federation.recall, timeout=None)),
            embed=lambda texts: embed(texts, urgent=True, patience=EMBED_PATIENCE, model=model()),
            ruling=lambda: Ruling(settings().reconciliation, model(), world.home.rules),
            **_remembered(names, settings),
            **_distilled(names, settings),
            migrator=directory.Migrator(names, STATUS_TIMEOUT),
            roster=directory.Stores(names, STATUS_TIMEOUT),
            look=partial(_look, world, model),
            **_described(names, model),
            **_scheduled(names),
            kept=partial(_kept, world),
            watching=hints.described,
            doctor=practice.visit,
            trial=practice.trial,
            tree=world.draw,
            crash=world.crash,
            inspect=world.inspect,
            wake=partial(_wake, names),
            reload=world.reload,
        )
    )


def repeated(ask: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a question that is asked again when the model changed while it was in hand.

    A question changes nothing, so asking twice is safe; everybody who has a part in it begins a new
    life with another model.
    """

    async def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(REPEATS):
            with suppress(ActorAway, ModelChanged):
                return await ask(*args, **kwargs)
        return await ask(*args, **kwargs)

    return asked


async def _counts(names: Names, model: Callable[[], str]) -> dict[str, Any]:
    """Return what is counted in the ledger, and how writing it goes."""
    soon = Records(names, timeout=STATUS_TIMEOUT)
    there = await asyncio.to_thread(selection.sections, await soon.read(resolutions.paths))
    found = await soon.read(partial(status.counts, model=model(), sections=there))
    writing = names.method("ledger", Ledger.describe, timeout=STATUS_TIMEOUT)
    return {**found, "writing": await writing()}


async def _index(names: Names) -> dict[str, Any]:
    """Return how the vector index is."""
    return asdict(await names.method("vectors", Vectors.describe, timeout=STATUS_TIMEOUT)())


def _described(names: Names, model: Callable[[], str]) -> dict[str, Any]:
    """Return what `status` asks."""
    return {
        "counts": partial(_counts, names, model),
        "embedder": partial(_embedder, names),
        "index": partial(_index, names),
        "door": names.method("http", Http.describe, timeout=STATUS_TIMEOUT),
    }


def _remembered(names: Names, settings: Callable[[], Settings]) -> dict[str, Any]:
    """Return whom the desk asks and tells about what agents remember."""
    return {
        "archivist": directory.Archivist(names),
        "custodian": directory.Custodian(names, STATUS_TIMEOUT),
        "librarian": directory.Librarian(names),
        "memory": lambda: settings().memory,
        **_spoken(names),
    }


def _distilled(names: Names, settings: Callable[[], Settings]) -> dict[str, Any]:
    """Return what the desk asks about principles, and whom it asks to bring them into files."""
    return {
        "judge": lambda: directory.Judge(names, settings().judging),
        "organisation": lambda: settings().organisation,
        "resolution": lambda: settings().resolution,
        "suppose": names.method("organiser", Organiser.suppose, timeout=SUPPOSE_TIMEOUT),
        "resolver": directory.Resolver(names),
    }


def _spoken(names: Names) -> dict[str, Any]:
    """Return whom the desk asks about posts and crumbs."""
    village = directory.Village(names)
    village.converge = repeated(village.converge)
    return {"village": village, "trail": directory.Trail(names)}


def _scheduled(names: Names) -> dict[str, Any]:
    """Return what the desk asks of the scheduler."""
    return {
        "failing": names.method("scheduler", Scheduler.describe, timeout=STATUS_TIMEOUT),
        "schedule": names.method("scheduler", Scheduler.table),
        "run_job": names.method("scheduler", Scheduler.run_now, timeout=None),
        "backup": names.method("scheduler", Scheduler.backup, timeout=None),
    }


async def _embedder(names: Names) -> dict[str, Any]:
    """Return how the embedder is, and what its pool has in hand and has done."""
    found = asdict(await names.method("cache", Cache.describe, timeout=STATUS_TIMEOUT)())
    pool: dict[str, Any] = {}
    with suppress(CortexError):  # it is being started again: the rest is worth telling
        pool = asdict(await names.method("pool", Pool.describe, timeout=STATUS_TIMEOUT)())
    return {"id": found.pop("model_id"), **found, "state": str(found["state"]), "pool": pool}


async def _look(
    world: World, model: Callable[[], str], active: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return how the model that answers is, and its compiled form."""
    wanted = world.settings.embedding
    known = active or {"model_id": model(), "provider": wanted.provider}
    found = await asyncio.to_thread(
        report,
        world.home.models,
        known["model_id"],
        provider=known["provider"],
        compiles=wanted.compile,
    )
    return {**found, "embedder": await status.guarded(_embedder(world.names))}


async def _kept(world: World) -> dict[str, Any]:
    """Return what is kept of the ledger beside it; nothing when the disk does not tell soon."""
    try:
        async with asyncio.timeout(STATUS_TIMEOUT):
            return await asyncio.to_thread(status.kept, world.home, world.clock.now())
    except (TimeoutError, CortexError):
        return {}


def _wake(names: Names, consumer: str) -> None:
    """Let a consumer look into the journal; a full mailbox holds a wake-up already."""
    with suppress(MailboxFull):
        names.tell(consumer, Wake())


#: What the doctor is called as the source of an event.
SOURCE = "doctor"


class Practice:
    """Answers `cortex doctor` in a daemon."""

    def __init__(
        self,
        world: World,
        bus: Bus,
        *,
        records: Records,
        settings: Callable[[], Settings],
    ) -> None:
        """Look at nothing yet; `settings` gives those that hold when it is asked."""
        self._world = world
        self._bus = bus
        self._records = records
        #: Tries the verbs in earnest; what it found last is part of every visit.
        self.trial = RoundTrip(partial(records.read, memory_delete.left), world.clock)
        self._settings = settings
        self._verify = world.names.method("vectors", Vectors.verify, timeout=None)
        self._generation = world.names.method("vectors", Vectors.generation)
        self._renew = world.names.method("vectors", Vectors.renew)
        self._threads = Threads("doctor", 1)
        self._halt = Halt()
        self._one_at_a_time = asyncio.Lock()
        #: The generation whose folder was gone and that is on its way out; 0 for none.
        self._given_up = 0

    async def visit(self, *, repair: bool = False, thorough: bool = False) -> dict[str, Any]:
        """Return what is found, and what was mended; takes seconds. Raises `LedgerDown` at a stop.

        See `checkup.visit.Visit`.
        """
        patient = Patient(
            self._world.home,
            self._settings(),
            self._world.clock,
            online=True,
            thorough=thorough,
        )
        ward = Ward(self._read, self._records.write, self._say, renew=self._begin_anew)
        one = Visit(partial(self._look, patient), self._compare, ward, self._world.clock)
        async with self._one_at_a_time:
            return await one(repair=repair)

    def close(self) -> None:
        """Break off what is looked at, for good."""
        self._halt.ask()
        self._threads.close()

    async def _look(self, patient: Patient) -> Look:
        """Run the checks on the thread."""
        found: Look = await self._threads.run(checks.look, patient, self._halt)
        return found.with_more([*found.diagnoses, self.trial.diagnosed()])

    async def _compare(self, _look: Look) -> list[Diagnosis]:
        """Have the index compared by the actor that owns it, which renews one that is not good."""
        lost = await self._lost()
        return [lost] if lost else await model_checks.compared(self._verify, renews=True)

    async def _lost(self) -> Diagnosis | None:
        """Return that the generation that answers has lost its folder; None where it has not."""
        try:
            answering = await self._generation()
        except (IndexDown, ActorAway):
            return None
        state = await self._read(pending.state)
        if state is None or state.generation != answering or answering == self._given_up:
            return None
        settings = self._settings().storage
        place = Generations(self._world.home.index, settings, COLLECTIONS).place(state)
        return await self._threads.run(model_checks.lost, place)

    async def _read(self, query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Run a query on the thread."""
        return await self._threads.run(self._ask, query)

    def _ask(self, query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Run a query on a connection of its own (on the thread)."""
        with Reader(self._world.home.ledger, self._world.clock, self._halt) as reader:
            return reader.ask(query)

    async def _say(self, changed: Sequence[FileChanged]) -> None:
        """Say that files have changed."""
        await self._bus.publish_all([(FILE_CHANGED, each) for each in changed], source=SOURCE)

    async def _begin_anew(self) -> None:
        """Begin a new generation of the index."""
        state = await self._read(pending.state)
        self._given_up = state.generation if state else 0
        await self._renew("cortex doctor --repair")

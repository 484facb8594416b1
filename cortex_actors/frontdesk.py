"""The front desk as the tree hands it out: the verbs, with whom each of them asks by name.

What `status` asks is answered soon or not at all, so that it answers while a branch restarts.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cortex_actors import byname
from cortex_actors.api import status
from cortex_actors.api.cortex import FrontDesk, Parts
from cortex_actors.bus.consumer import Wake
from cortex_actors.embedding.cache import Cache
from cortex_actors.embedding.factory import report
from cortex_actors.embedding.pool import Pool
from cortex_actors.errors import ActorAway, CortexError, MailboxFull, ModelChanged
from cortex_actors.federation.federation import Federation
from cortex_actors.gateways.server import Http
from cortex_actors.pipeline import selection
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import resolutions
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.ledger.actor import Ledger, Records

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from cortex_actors.bus.bus import Bus
    from cortex_actors.practice import Practice
    from cortex_actors.runtime.names import Names
    from cortex_actors.settings import Settings
    from cortex_actors.watching.hints import Hints
    from cortex_actors.world import World

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
            migrator=byname.Migrator(names, STATUS_TIMEOUT),
            roster=byname.Stores(names, STATUS_TIMEOUT),
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
        "archivist": byname.Archivist(names),
        "custodian": byname.Custodian(names, STATUS_TIMEOUT),
        "librarian": byname.Librarian(names),
        "memory": lambda: settings().memory,
        **_spoken(names),
    }


def _distilled(names: Names, settings: Callable[[], Settings]) -> dict[str, Any]:
    """Return what the desk asks about principles, and whom it asks to bring them into files."""
    return {
        "judge": lambda: byname.Judge(names, settings().judging),
        "organisation": lambda: settings().organisation,
        "resolution": lambda: settings().resolution,
        "suppose": names.method("organiser", Organiser.suppose, timeout=SUPPOSE_TIMEOUT),
        "resolver": byname.Resolver(names),
    }


def _spoken(names: Names) -> dict[str, Any]:
    """Return whom the desk asks about posts and crumbs."""
    village = byname.Village(names)
    village.converge = repeated(village.converge)
    return {"village": village, "trail": byname.Trail(names)}


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

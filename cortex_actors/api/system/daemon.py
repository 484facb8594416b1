"""Operations on the daemon itself: its state, its settings, its actors, its backups.

There is no logic here: an operation looks a thing up or asks an actor by name.

The verbs about embedding models: which one answers, and the way to another one.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors import __version__
from cortex_actors import topics as catalogue
from cortex_actors.api import status as states
from cortex_actors.api.memory.memory_health import JOB, describe_accesses
from cortex_actors.api.registry import SOON, Call, operation
from cortex_actors.doctor.models import list_models
from cortex_actors.embedding.cache import Cache
from cortex_actors.embedding.factory import Doing, Info, report_model
from cortex_actors.embedding.migrator import Migrator
from cortex_actors.embedding.pool import Pool
from cortex_actors.errors import BadInput, CortexError, Refused
from cortex_actors.federation.roster import Roster
from cortex_actors.judging.judge import QuietJudge
from cortex_actors.pipeline import selection
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.ledger.actor import Ledger
from cortex_actors.storage.pipeline import resolutions

if TYPE_CHECKING:
    from collections.abc import Mapping


#: The variable that allows verbs which exist to break things on purpose.
DEBUG = "CORTEX_DEBUG"


@operation("daemon.status", http="GET /status")
async def status(call: Call) -> dict[str, Any]:
    """Return how the daemon is; `reasons` says why it is degraded.

    While the ledger restarts, the numbers are left out.
    """
    ledger, model, index, failing, (moving, judge, read, *doors), kept = await asyncio.gather(
        states.read_guarded(_counts(call)),
        states.read_guarded(describe_embedder(call)),
        states.read_guarded(call.actors.vectors.limit(SOON).ask(Vectors.describe)),
        states.read_guarded(call.actors.scheduler.limit(SOON).ask(Scheduler.describe)),
        _aside(call),
        _kept(call),
    )
    stores, door = doors
    reasons = states.list_reasons(ledger, model, index, uptime=_uptime(call))
    # Of the trial's job its last trial tells.
    failed = {job: why for job, why in failing.items() if job != JOB}
    reasons += states.find_reasons(failed, judge=judge, accesses=read, stores=stores, door=door)
    watching = dict(call.watching())
    reasons += [*moving.get("reasons", []), *watching.pop("reasons"), *call.trial.list_reasons()]
    return {
        "state": "degraded" if reasons else "running",
        "reasons": reasons,
        "findings": states.list_findings(ledger.get("alerts", ())),
        "version": __version__,
        "pid": os.getpid(),
        "home": str(call.home.root),
        "started_at": call.life.started_at,
        "uptime_s": round(_uptime(call), 3),
        **({} if ledger.get("state") == "away" else ledger),
        "model": model,
        "migration": moving,
        "index": index,
        "judge": judge,
        "watching": {"mode": watching["mode"]},
        "round_trip": call.trial.as_status(),
        "accesses": read,
        "stores": stores,
        "http": door,
        "mcp": {"sessions": call.life.mcp_sessions, "calls": dict(call.life.tool_calls)},
        **kept,
        "loop_lag_ms": round(call.life.loop_lag(), 3),
    }


@operation("debug.tree", http="GET /tree")
async def tree(call: Call) -> dict[str, Any]:
    """Return the live supervision tree, as data and drawn."""
    return dict(call.tree())


@operation("debug.topics", http="GET /topics")
async def topics(call: Call) -> dict[str, Any]:
    """Return the catalogue of topics."""
    return {"topics": [states.shape_topic(each) for each in catalogue.TOPICS]}


@operation("debug.actor", http="GET /actors/{name}", sessions=False)
async def inspect(call: Call, name: str) -> dict[str, Any]:
    """Show what an actor is working on, for how long and where; or the state of a supervisor.

    Times are in seconds. Raises `UnknownActor` naming those there are.
    """
    return dict(call.inspect(name))


@operation("daemon.backup", http="POST /backup")
async def backup(call: Call, to: str | None = None) -> dict[str, Any]:
    """Copy the ledger while it is in use, into `backups/` or to an absolute path.

    Raises `StorageFull`, `BadInput` for a path that is taken, `LedgerDown`.
    """
    if to is not None and not Path(to).is_absolute():
        raise BadInput(f"cannot copy the ledger to {to}: give an absolute path")
    return dict(await call.actors.scheduler.limit(None).ask(Scheduler.backup, to))


@operation("doctor", http="POST /doctor")
async def doctor(call: Call, repair: bool = False, thorough: bool = False) -> dict[str, Any]:
    """Compare ledger, index and files, and mend what can be made again; takes seconds."""
    return dict(await call.doctor(repair=repair, thorough=thorough))


@operation("daemon.reload", http="POST /reload")
async def reload(call: Call) -> dict[str, Any]:
    """Read the settings again and restart the actors that use what changed.

    Returns the keys that are followed now, who was started again, and the keys that only a
    restart of the daemon can follow. Raises `ConfigurationError`, and then nothing changed.
    """
    return dict(await call.reload())


@operation("debug.crash", http="POST /actors/{name}/crash")
async def crash(call: Call, name: str) -> dict[str, Any]:
    """Make an actor fail, to see its supervisor start it again; needs CORTEX_DEBUG=1 there.

    Raises `Refused` where the daemon was started without.
    """
    if os.environ.get(DEBUG) != "1":
        raise Refused(
            f"refused to crash {name}: this daemon was not started for debugging; "
            f"start it with {DEBUG}=1"
        )
    call.crash(name)
    return {"crashed": name}


async def _counts(call: Call) -> dict[str, Any]:
    """Return what is counted in the ledger, and how writing it goes."""
    soon = call.records.limit(SOON)
    there = await asyncio.to_thread(
        selection.read_sections, await soon.read(resolutions.list_paths)
    )
    model = call.model()
    found = await soon.read(lambda c: states.count_all(c, model=model, sections=there))
    return {**found, "writing": await call.actors.ledger.limit(SOON).ask(Ledger.describe)}


async def _kept(call: Call) -> dict[str, Any]:
    """Return what is kept of the ledger beside it; nothing when the disk does not tell soon."""
    try:
        async with asyncio.timeout(SOON):
            return await asyncio.to_thread(states.load_backups, call.home, call.clock.now())
    except (TimeoutError, CortexError):
        return {}


async def _aside(call: Call) -> tuple[dict[str, Any], ...]:
    """Return how those are who do something beside: migrator, judge, custodian and doors."""
    told: tuple[dict[str, Any], ...] = await asyncio.gather(
        states.read_guarded(describe_moving(call)),
        _judge_state(call),
        describe_accesses(call),
        states.read_guarded(call.actors.roster.limit(SOON).ask(Roster.describe)),
        states.read_guarded(call.door()),
    )
    return told


async def _judge_state(call: Call) -> dict[str, Any]:
    """Return how the judge is; nothing without a model beyond the rules."""
    judge = QuietJudge(call.actors.judge, call.settings().judging)
    return await states.read_guarded(judge.describe()) if judge.is_there else {}


def _uptime(call: Call) -> float:
    """Return the seconds since the start."""
    return call.clock.monotonic() - call.life.begun


@operation("model.show", http="GET /model")
async def model(call: Call) -> dict[str, Any]:
    """Say which model embeds, whether it is compiled and how good that is, and what is being done.

    Its files are hashed for that, so a damaged one is noticed.
    """
    moving = await migration(call)
    wanted = call.settings().embedding
    # A home whose ledger knows no model yet has none that is active.
    known = moving["active"] or {"model_id": call.model(), "provider": wanted.provider}
    found = await asyncio.to_thread(
        report_model,
        call.home.models,
        known["model_id"],
        provider=known["provider"],
        compiles=wanted.compile,
    )
    return {
        **found,
        "embedder": await states.read_guarded(describe_embedder(call)),
        "migration": moving,
    }


@operation("model.migrate", http="POST /model/migrate")
async def migrate(call: Call, to: str, provider: str | None = None) -> dict[str, Any]:
    """Embed everything with another model, which answers once that is done.

    Returns the model that is coming; asked again for the same one, it is the same migration.
    Raises `ModelMissing` naming the mend, `Refused` for the model that answers already and
    while another migration runs.
    """
    coming = await call.actors.migrator.limit(None).ask(Migrator.migrate, to, provider)
    return {"coming": asdict(coming)}


@operation("model.migration", http="GET /model/migration")
async def migration(call: Call) -> dict[str, Any]:
    """Say which model answers, which one is coming and how far it is, and which are kept."""
    info = await call.actors.migrator.limit(SOON).ask(Migrator.describe)
    return {**_shape(info), **await call.records.read(list_models)}


@operation("model.cancel", http="POST /model/cancel")
async def cancel_migration(call: Call) -> dict[str, Any]:
    """End the migration that runs; the model before it goes on answering.

    The vectors that were made are kept for some days: begun again, it goes on from there. Raises
    `NotFound`.
    """
    return {"cancelled": asdict(await call.actors.migrator.ask(Migrator.cancel))}


@operation("model.prepare", http="POST /model/prepare")
async def prepare_model(call: Call) -> dict[str, Any]:
    """Try once more to compile the model that answers, if that failed."""
    await call.actors.migrator.ask(Migrator.prepare)
    return await migration(call)


async def describe_moving(call: Call) -> dict[str, Any]:
    """Return what `status` says of all this."""
    info = await call.actors.migrator.limit(SOON).ask(Migrator.describe)
    return {**_shape(info), "reasons": list_reasons(info)}


async def describe_embedder(call: Call) -> dict[str, Any]:
    """Return how the embedder is, and the work of its pool."""
    found = asdict(await call.actors.cache.limit(SOON).ask(Cache.describe))
    pool: dict[str, Any] = {}
    with suppress(CortexError):  # it is being started again: the rest is worth telling
        pool = asdict(await call.actors.pool.limit(SOON).ask(Pool.describe))
    return {"id": found.pop("model_id"), **found, "state": str(found["state"]), "pool": pool}


def list_reasons(info: Info) -> list[str]:
    """Return why the daemon is degraded, as far as models go; nothing when all is well."""
    found = []
    if info.state is Doing.WAITING:
        found.append(f"migration: {info.reason}")
    elif info.reason:
        found.append(f"model: {info.reason}")
    if info.differs:
        found.append(f"model: {info.differs}")
    return found


def _shape(info: Info) -> Mapping[str, Any]:
    """Return what is known as a client gets it."""
    shown = asdict(info)
    left = None if info.left_s is None else round(info.left_s, 1)
    return {**shown, "state": str(info.state), "rate": round(info.rate, 1), "left_s": left}

"""Operations on the daemon itself: its state, its settings, its actors, its backups.

There is no logic here: an operation looks a thing up or asks an actor by name.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cortex_actors import __version__
from cortex_actors import topics as catalogue
from cortex_actors.api import status as states
from cortex_actors.api.contradictions import judge_state, worries
from cortex_actors.api.memory_health import JOB, accesses, unwritten
from cortex_actors.api.models import embedder, meanwhile, moving_state
from cortex_actors.api.peers import shut
from cortex_actors.api.registry import SOON, Call, operation
from cortex_actors.api.stores import unlisted
from cortex_actors.errors import BadInput, CortexError, Refused
from cortex_actors.federation.roster import Roster
from cortex_actors.pipeline import selection
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import resolutions
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.ledger.actor import Ledger

#: The variable that allows verbs which exist to break things on purpose.
DEBUG = "CORTEX_DEBUG"


@operation("daemon.status", http="GET /status")
async def status(call: Call) -> dict[str, Any]:
    """Return how the daemon is; `reasons` says why it is degraded.

    While the ledger restarts, the numbers are left out.
    """
    ledger, model, index, failing, (moving, judge, read, *doors), kept = await asyncio.gather(
        states.guarded(_counts(call)),
        states.guarded(embedder(call)),
        states.guarded(_index(call)),
        states.guarded(call.actors.scheduler.within(SOON).ask(Scheduler.describe)),
        _aside(call),
        _kept(call),
    )
    (stores, door), model = doors, meanwhile(model, moving)
    reasons = states.reasons(ledger, model, index, uptime=_uptime(call))
    # Of the trial's job its last trial tells.
    failed = {job: why for job, why in failing.items() if job != JOB}
    reasons += states.failures(failed) + moving.get("reasons", []) + worries(judge)
    watching = dict(call.watching())
    reasons += [*watching.pop("reasons"), *call.trial.reasons(), *unwritten(read)]
    reasons += [*unlisted(stores), *shut(door)]
    return {
        "state": "degraded" if reasons else "running",
        "reasons": reasons,
        "findings": states.findings(ledger.get("alerts", ())),
        **_life(call),
        **({} if ledger.get("state") == "away" else ledger),
        "model": model,
        "migration": moving,
        "index": index,
        "judge": judge,
        "watching": {"mode": watching["mode"]},
        "round_trip": call.trial.told(),
        "accesses": read,
        "stores": stores,
        "http": door,
        **kept,
        "loop_lag_ms": round(call.life.loop_lag(), 3),
    }


def _life(call: Call) -> dict[str, Any]:
    """Return which daemon this is, and since when."""
    return {
        "version": __version__,
        "pid": os.getpid(),
        "home": str(call.home.root),
        "started_at": call.life.started_at,
        "uptime_s": round(_uptime(call), 3),
    }


@operation("debug.tree", http="GET /tree")
async def tree(call: Call) -> dict[str, Any]:
    """Return the live supervision tree, as data and drawn."""
    return dict(call.tree())


@operation("debug.topics", http="GET /topics")
async def topics(call: Call) -> dict[str, Any]:
    """Return the catalogue of topics."""
    return {"topics": [states.topic(each) for each in catalogue.TOPICS]}


@operation("debug.actor", http="GET /actors/{name}")
async def inspect(call: Call, name: str) -> dict[str, Any]:
    """Show what an actor has in hand, for how long and where; or how a supervisor is.

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
    return dict(await call.actors.scheduler.within(None).ask(Scheduler.backup, to))


@operation("doctor", http="POST /doctor")
async def doctor(call: Call, repair: bool = False, thorough: bool = False) -> dict[str, Any]:
    """Compare ledger, index and files, and mend what can be made again; takes seconds."""
    return dict(await call.doctor(repair=repair, thorough=thorough))


@operation("daemon.reload", http="POST /reload")
async def reload(call: Call) -> dict[str, Any]:
    """Read the settings again and start anew whoever was handed what changed.

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
    soon = call.records.within(SOON)
    there = await asyncio.to_thread(selection.sections, await soon.read(resolutions.paths))
    model = call.model()
    found = await soon.read(lambda c: states.counts(c, model=model, sections=there))
    return {**found, "writing": await call.actors.ledger.within(SOON).ask(Ledger.describe)}


async def _index(call: Call) -> dict[str, Any]:
    """Return how the vector index is."""
    return asdict(await call.actors.vectors.within(SOON).ask(Vectors.describe))


async def _kept(call: Call) -> dict[str, Any]:
    """Return what is kept of the ledger beside it; nothing when the disk does not tell soon."""
    try:
        async with asyncio.timeout(SOON):
            return await asyncio.to_thread(states.kept, call.home, call.clock.now())
    except (TimeoutError, CortexError):
        return {}


async def _aside(call: Call) -> tuple[dict[str, Any], ...]:
    """Return how those are who do something beside: migrator, judge, custodian and doors."""
    told: tuple[dict[str, Any], ...] = await asyncio.gather(
        states.guarded(moving_state(call)),
        judge_state(call),
        accesses(call),
        states.guarded(call.actors.roster.within(SOON).ask(Roster.described)),
        states.guarded(call.door()),
    )
    return told


def _uptime(call: Call) -> float:
    """Return the seconds since the start."""
    return call.clock.monotonic() - call.life.begun

"""The front desk as the tree hands it out: the verbs, with whom each of them asks by name.

What `status` asks is answered soon or not at all, so that it answers while a branch restarts.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors import lookup
from cortex_actors.bus.consumer import Wake
from cortex_actors.cortex import Cortex
from cortex_actors.deskparts import Parts
from cortex_actors.embedding.cache import Cache
from cortex_actors.errors import CortexError, MailboxFull
from cortex_actors.federation.federation import Federation
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage.ledger import Ledger
from cortex_actors.storage.records import Records
from cortex_actors.storage.vectors import Vectors

if TYPE_CHECKING:
    from cortex_actors.bus.bus import Bus
    from cortex_actors.parts import World
    from cortex_actors.runtime.names import Names

#: Seconds `status` waits for one actor: it must answer while a branch restarts.
STATUS_TIMEOUT = 2.0


def front_desk(world: World, bus: Bus, *, records: Records, model: str) -> Cortex:
    """Return the verbs of a tree; `model` is the id of its vector space."""
    names = world.names
    describe = names.method("cache", Cache.describe, timeout=STATUS_TIMEOUT)
    index = names.method("vectors", Vectors.describe, timeout=STATUS_TIMEOUT)
    writing = names.method("ledger", Ledger.describe, timeout=STATUS_TIMEOUT)
    soon = Records(names, timeout=STATUS_TIMEOUT)

    async def embedder() -> dict[str, Any]:
        found = asdict(await describe())
        return {"id": found.pop("model_id"), **found, "state": str(found["state"])}

    async def counts() -> dict[str, Any]:
        found = await soon.read(partial(lookup.counts, model=model))
        return {**found, "writing": await writing()}

    async def index_state() -> dict[str, Any]:
        return asdict(await index())

    return Cortex(
        Parts(
            home=world.home,
            clock=world.clock,
            bus=bus,
            records=records,
            model=model,
            recall=names.method("federation", Federation.recall, timeout=None),
            counts=counts,
            embedder=embedder,
            index=index_state,
            failing=names.method("scheduler", Scheduler.describe, timeout=STATUS_TIMEOUT),
            kept=partial(_kept, world),
            backup=names.method("scheduler", Scheduler.backup, timeout=None),
            tree=world.draw,
            crash=world.crash,
            inspect=world.inspect,
            wake=partial(_wake, names),
            reload=world.reload,
        )
    )


async def _kept(world: World) -> dict[str, Any]:
    """Return what is kept of the ledger beside it; nothing when the disk does not tell soon."""
    try:
        async with asyncio.timeout(STATUS_TIMEOUT):
            return await asyncio.to_thread(lookup.kept, world.home, world.clock.now())
    except (TimeoutError, CortexError):
        return {}


def _wake(names: Names, consumer: str) -> None:
    """Let a consumer look into the journal; a full mailbox holds a wake-up already."""
    with suppress(MailboxFull):
        names.tell(consumer, Wake())

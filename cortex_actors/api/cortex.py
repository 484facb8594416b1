"""The front desk: one method for each verb a client may say, whichever door it came through.

Parameters and results are JSON-shaped. There is no logic here: a verb looks a thing up, asks an
actor by name or publishes an event. Two clients that say the same verb get the same answer.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors import __version__, topics
from cortex_actors.api import status
from cortex_actors.api.agents import AgentVerbs
from cortex_actors.api.contradictions import ContradictionVerbs
from cortex_actors.api.events import Letters, Publishing
from cortex_actors.api.insights import InsightVerbs
from cortex_actors.api.judging import CalibrationVerbs, JudgeVerbs, worries
from cortex_actors.api.knowledge import KnowledgeVerbs
from cortex_actors.api.memories import KeepLookVerbs
from cortex_actors.api.memory_changes import KeepStateVerbs, KeepVerbs
from cortex_actors.api.memory_health import CustodyVerbs, RoundTripVerbs, unwritten, without_trials
from cortex_actors.api.models import ModelVerbs, meanwhile
from cortex_actors.api.peers import OutsideVerbs, shut
from cortex_actors.api.principles import LinkVerbs, PrincipleVerbs
from cortex_actors.api.registry import SOON
from cortex_actors.api.remember import RecallVerbs, RememberVerbs
from cortex_actors.api.resolve import ResolveVerbs
from cortex_actors.api.review import ReviewVerbs
from cortex_actors.api.stores import StoreVerbs, unlisted
from cortex_actors.api.transfer import CarryVerbs
from cortex_actors.api.trust import TrustVerbs
from cortex_actors.api.village import CrumbVerbs, VillageVerbs
from cortex_actors.api.work import GroupVerbs, WorkVerbs
from cortex_actors.errors import BadInput, CortexError, Refused
from cortex_actors.federation.roster import Roster
from cortex_actors.pipeline import selection
from cortex_actors.schedule.scheduler import Scheduler
from cortex_actors.storage import resolutions
from cortex_actors.storage.events import Wanted
from cortex_actors.storage.index.vectors import Vectors
from cortex_actors.storage.ledger.actor import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.api.registry import Actors, Parts


#: The variable that allows verbs which exist to break things on purpose.
DEBUG = "CORTEX_DEBUG"


class FrontDesk(
    KnowledgeVerbs,
    CarryVerbs,
    InsightVerbs,
    GroupVerbs,
    ContradictionVerbs,
    CalibrationVerbs,
    JudgeVerbs,
    PrincipleVerbs,
    LinkVerbs,
    ResolveVerbs,
    RememberVerbs,
    RecallVerbs,
    WorkVerbs,
    ModelVerbs,
    ReviewVerbs,
    TrustVerbs,
    RoundTripVerbs,
    AgentVerbs,
    VillageVerbs,
    CrumbVerbs,
    KeepLookVerbs,
    KeepVerbs,
    KeepStateVerbs,
    CustodyVerbs,
    StoreVerbs,
    OutsideVerbs,
):
    """Everything a client may ask of the daemon."""

    def __init__(self, actors: Actors, parts: Parts) -> None:
        """Begin to count the uptime."""
        self._actors = actors
        self._parts = parts
        self._publishing = Publishing(parts.bus, parts.records)
        self._letters = Letters(parts.records, parts.wake)
        self._started_at = parts.clock.now()
        self._begun = parts.clock.monotonic()
        #: Milliseconds the loop is late; the daemon puts its gauge here.
        self.loop_lag: Callable[[], float] = lambda: 0.0

    async def status(self) -> dict[str, Any]:
        """Return how the daemon is; `reasons` says why it is degraded.

        While the ledger restarts, the numbers are left out.
        """
        parts = self._parts
        ledger, model, index, failing, (moving, judge, read, *doors), kept = await asyncio.gather(
            status.guarded(self._counts()),
            status.guarded(self._embedder()),
            status.guarded(self._index()),
            status.guarded(self._actors.scheduler.within(SOON).ask(Scheduler.describe)),
            self._aside(),
            self._kept(),
        )
        (stores, door), model = doors, meanwhile(model, moving)
        reasons = status.reasons(ledger, model, index, uptime=self._uptime())
        reasons += (
            status.failures(without_trials(failing)) + moving.get("reasons", []) + worries(judge)
        )
        watching = dict(parts.watching())
        tried, doubts = self._tried()
        reasons += [*watching.pop("reasons"), *doubts, *unwritten(read), *unlisted(stores)]
        reasons += shut(door)
        return {
            "state": "degraded" if reasons else "running",
            "reasons": reasons,
            **self._life(),
            **({} if ledger.get("state") == "away" else ledger),
            "model": model,
            "migration": moving,
            "index": index,
            "judge": judge,
            "watching": {"mode": watching["mode"]},
            "round_trip": tried,
            "accesses": read,
            "stores": stores,
            "http": door,
            **kept,
            "loop_lag_ms": round(self.loop_lag(), 3),
        }

    def _life(self) -> dict[str, Any]:
        """Return which daemon this is, and since when."""
        return {
            "version": __version__,
            "pid": os.getpid(),
            "home": str(self._parts.home.root),
            "started_at": self._started_at,
            "uptime_s": round(self._uptime(), 3),
        }

    async def tree(self) -> dict[str, Any]:
        """Return the live supervision tree, as data and drawn."""
        return dict(self._parts.tree())

    async def publish(
        self,
        topic: str,
        payload: dict[str, Any],
        *,
        source: str = "client",
        transient: bool = False,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Say an event for another process; return once it is durable, unless it is transient.

        Said again under an idempotency key, it is the first event, with `"duplicate": true`.
        Raises `UnknownTopic`, `BadInput` for the payload or the key, `Refused` for a topic that
        only the daemon may say, `UnknownProject` for a path under no project.
        """
        return await self._publishing.publish(
            topic, payload, source=source, transient=transient, key=idempotency_key
        )

    def publish_now(
        self,
        topic: str,
        payload: dict[str, Any],
        *,
        source: str = "client",
        transient: bool = False,
        idempotency_key: str | None = None,
    ) -> dict[str, Any] | None:
        """Do what `publish` does, if nobody has to be waited for; else None, and nothing is said.

        That is so for a transient event of another process's own, while every mailbox has room.
        Raises `BadInput` as `publish` does.
        """
        if idempotency_key is not None:
            return None
        return self._publishing.publish_now(topic, payload, source=source, transient=transient)

    async def events(
        self,
        topic: str | None = None,
        waiting: bool = False,  # noqa: FBT001, FBT002 - named by every client
        dead: bool = False,  # noqa: FBT001, FBT002 - as above
        since: int = 0,
        limit: int = 20,
    ) -> dict[str, Any]:
        """Return the newest stored events, newest first, and who has still to handle them.

        `topic` is a shell pattern, `since` a number. Raises `BadInput` for a limit out of range.
        """
        return await self._letters.listed(
            Wanted(topic=topic, waiting=waiting, dead=dead, since=since, limit=limit)
        )

    async def event(self, event: str) -> dict[str, Any]:
        """Return one event, by id or number, with payload and tracebacks. Raises `NotFound`."""
        return await self._letters.shown(event)

    async def replay(self, events: list[str]) -> dict[str, Any]:
        """Put dead letters back as if they had never been tried, by id or number, or `all`.

        Raises `NotFound`, and nothing is changed, for what is no dead letter.
        """
        return await self._letters.replay(events)

    async def discard(self, events: list[str]) -> dict[str, Any]:
        """Drop dead letters for good, by id or number, or `all`. Raises as `replay` does."""
        return await self._letters.discard(events)

    async def topics(self) -> dict[str, Any]:
        """Return the catalogue of topics."""
        return {"topics": [status.topic(each) for each in topics.TOPICS]}

    async def inspect(self, name: str) -> dict[str, Any]:
        """Return what an actor is at and since when, or how a supervisor is; times in seconds.

        Raises `UnknownActor` naming those there are.
        """
        return dict(self._parts.inspect(name))

    async def backup(self, to: str | None = None) -> dict[str, Any]:
        """Copy the ledger while it is in use, into `backups/` or to an absolute path.

        Raises `StorageFull`, `BadInput` for a path that is taken, `LedgerDown`.
        """
        if to is not None and not Path(to).is_absolute():
            raise BadInput(f"cannot copy the ledger to {to}: give an absolute path")
        return dict(await self._actors.scheduler.within(None).ask(Scheduler.backup, to))

    async def doctor(
        self,
        repair: bool = False,  # noqa: FBT001, FBT002 - named by every client
        thorough: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> dict[str, Any]:
        """Compare ledger, index and files, and mend what can be made again; takes seconds."""
        return dict(await self._parts.doctor(repair=repair, thorough=thorough))

    async def reload(self) -> dict[str, Any]:
        """Read the settings again and start anew whoever was handed what changed.

        Returns the keys that are followed now, who was started again, and the keys that only a
        restart of the daemon can follow. Raises `ConfigurationError`, and then nothing changed.
        """
        return dict(await self._parts.reload())

    async def crash(self, name: str) -> dict[str, Any]:
        """Make an actor crash, to see it come back. Raises `Refused` unless `CORTEX_DEBUG=1`."""
        if os.environ.get(DEBUG) != "1":
            message = (
                f"refused to crash {name}: this daemon was not started for debugging; "
                f"start it with {DEBUG}=1"
            )
            raise Refused(message)
        self._parts.crash(name)
        return {"crashed": name}

    async def _counts(self) -> dict[str, Any]:
        """Return what is counted in the ledger, and how writing it goes."""
        soon = self._parts.records.within(SOON)
        there = await asyncio.to_thread(selection.sections, await soon.read(resolutions.paths))
        model = self._parts.model()
        found = await soon.read(lambda c: status.counts(c, model=model, sections=there))
        return {**found, "writing": await self._actors.ledger.within(SOON).ask(Ledger.describe)}

    async def _index(self) -> dict[str, Any]:
        """Return how the vector index is."""
        return asdict(await self._actors.vectors.within(SOON).ask(Vectors.describe))

    async def _kept(self) -> dict[str, Any]:
        """Return what is kept of the ledger beside it; nothing when the disk does not tell soon."""
        parts = self._parts
        try:
            async with asyncio.timeout(SOON):
                return await asyncio.to_thread(status.kept, parts.home, parts.clock.now())
        except (TimeoutError, CortexError):
            return {}

    async def _aside(self) -> tuple[dict[str, Any], ...]:
        """Return how those are who do something beside: migrator, judge, custodian and doors."""
        told: tuple[dict[str, Any], ...] = await asyncio.gather(
            status.guarded(self._moving()),
            self._judge(),
            self._accesses(),
            status.guarded(self._actors.roster.within(SOON).ask(Roster.described)),
            status.guarded(self._parts.door()),
        )
        return told

    def _uptime(self) -> float:
        """Return the seconds since the start."""
        return self._parts.clock.monotonic() - self._begun

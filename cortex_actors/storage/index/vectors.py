"""Vectors: the actor that owns the child process with the vector index.

hears   -
says    -
asks    ledger (which generation of the index is in use, and what it must hold)
keeps   - (its keeper has the child process and remembers of what its lives ended: lost on a crash,
        and the next one begins with no pauses)

The keeper: keeps the vector-index process running, and starts it again after a crash.

It runs one life of the child after another, checks each before it answers questions and again now
and then, and decides what the next life begins with: the same files, or a new generation. It is
the actor's, as a provider keeps its model's process, and no supervisor's: a restart of the actor
would restart the indexer behind it, and three in five seconds the whole branch.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.memory import PAIRED
from cortex_actors.errors import BadInput, CortexError, IndexDown
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.child import ChildProcess
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage.index import life as generations
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.life import (
    Generations,
    IndexLife,
    LifeEnding,
    LifeEndKind,
    LifeRecord,
    Phase,
    Spawn,
    find_suspicion,
)
from cortex_actors.storage.index.verification import IndexVerdict, Verification

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.sections import StorageSettings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.index.life import GenerationPlace
    from cortex_actors.storage.ledger.actor import Records


log = logging.getLogger("cortex.vectors")

#: Seconds for which an index that is being opened is no news.
USUAL = 30.0

#: Seconds until the next look at an index that held nothing: a new generation is empty when it is
#: found good, and filled after that.
FILLING = 60.0


@dataclass(eq=False)
class Keeper:
    """Keeps the index of one model open; `run` does it, and everything else tells how it is."""

    places: Generations
    records: Records
    settings: StorageSettings
    model: str
    clock: Clock
    spawn: Spawn
    on_line: Callable[[str], None]
    record: LifeRecord = field(default_factory=LifeRecord, init=False)
    life: IndexLife | None = field(default=None, init=False)
    state: pending.IndexState | None = field(default=None, init=False)
    verdict: IndexVerdict | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Have nothing open."""
        self._broken: pending.IndexState | None = None
        self._since = self.clock.monotonic()
        self._reason = ""
        self._verifying: asyncio.Task[IndexVerdict] | None = None
        self._stopping = False

    @property
    def phase(self) -> str:
        """What the index is at: opening, checking, ready, or away until the next try."""
        if self.life is None:
            return "away"
        return str(Phase.OPENING if self.life.phase is Phase.STARTING else self.life.phase)

    @property
    def reason(self) -> str:
        """What a person should know; nothing of an index that opens as it always does."""
        phase = self.phase
        if phase == Phase.READY:
            return ""
        if self._reason:
            return self._reason
        waited = self.clock.monotonic() - self._since
        return f"it has been {phase} for {waited:.0f} s" if waited > USUAL else ""

    def require_open(self) -> IndexLife:
        """Return the life that has an index open; raises `IndexDown` while there is none."""
        life = self.life
        if life is None or life.phase not in (Phase.CHECKING, Phase.READY):
            raise IndexDown("the vector index does not answer yet: it is being opened; ask again")
        return life

    def require_ready(self) -> IndexLife:
        """Return the life whose index was found good; raises `IndexDown` while there is none."""
        life = self.require_open()
        if life.phase is not Phase.READY:
            message = "the vector index does not answer yet: it is being looked at; ask again"
            raise IndexDown(message)
        return life

    async def run(self) -> None:
        """Keep an index open: one life after another, with pauses between them."""
        try:
            while not self._stopping:
                await self._rest_from(await self._one_life())
        finally:
            if self._verifying is not None:
                self._verifying.cancel()
                await asyncio.wait({self._verifying})

    async def close(self) -> None:
        """Let the child close its files, and begin no other life."""
        self._stopping = True
        if self.life is not None:
            await self.life.close()

    async def verify(self) -> IndexVerdict:
        """Compare the index with the ledger, or wait for the comparison that is running.

        Raises `IndexDown` while none is open, and what reading the ledger raises.
        """
        life = self.require_open()
        if self._verifying is None or self._verifying.done():
            self._verifying = asyncio.create_task(self._verified(life, deep=False), name="verify")
            self._verifying.add_done_callback(_heard)
        return await asyncio.shield(self._verifying)

    async def _one_life(self) -> LifeEnding:
        """Run one life of the child from its start to its end, and return why it ended."""
        self.life = None
        try:
            place = await self._place()
        except (CortexError, OSError) as error:
            return LifeEnding(LifeEndKind.AWAY, str(error))
        self.life = life = IndexLife(place, deadline=self.settings.index_timeout_s)
        serving = asyncio.create_task(self._serve(life, place), name="life of the index")
        try:
            return await life.wait_ended()
        finally:
            serving.cancel()
            await asyncio.wait({serving})
            await life.wait_gone()

    async def _rest_from(self, ending: LifeEnding) -> None:
        """Take note of an ending, and wait until the next life may begin."""
        if self._stopping:
            return
        now = self.clock.monotonic()
        if self.phase == Phase.READY:
            self._since = now
        if self.record.note_ending(ending, now):
            self._broken = self.state
        self.life = None
        pause = self.record.choose_pause(now)
        self._reason = f"{ending.reason}; next attempt in {pause:g} s"
        log.warning("the index is away: %s", self._reason)
        await self.clock.sleep(pause)

    async def _place(self) -> GenerationPlace:
        """Return where the generation in use lies, and have room made for it.

        Raises a `CortexError` while the ledger is away or the settings name no server we use, and
        `OSError` when there can be no folder.
        """
        wanted: dict[str, Any] = {"model": self.model, "broken": self._broken}
        renew = partial(generations.renew_state, **wanted)
        state = await self.records.read(partial(generations.find_usable, **wanted))
        if state is None:
            state = await self.records.write(renew)
        self._broken, self.state, self.verdict = None, state, None
        place = self.places.find_place(state)
        await asyncio.to_thread(self.places.prepare, place)
        await asyncio.to_thread(self.places.sweep, place)
        return place

    async def _serve(self, life: IndexLife, place: GenerationPlace) -> None:
        """Open the index, look at it, and go on looking at it now and then."""
        try:
            await self._suspect(life, place)
            await life.open(self.spawn, self.on_line)
            await self._forget(life, place)
            verdict = await self._verified(life, deep=True)
            if verdict.ok:
                life.phase, self._reason = Phase.READY, ""
            while verdict.ok:
                # Soon while there was nothing to look at.
                every = self.settings.verify_every_s
                await self.clock.sleep(every if verdict.proven else min(FILLING, every))
                verdict = await self.verify()
        except IndexDown:
            await life.wait_gone()  # why it ended is known to it by then
        except CortexError as error:
            life.end(LifeEnding(LifeEndKind.AWAY, f"the index waits for the ledger: {error}"))
        except Exception as error:  # a fault of ours in here must not end the storage branch
            log.exception("looking after the index failed inside")
            life.end(
                LifeEnding(LifeEndKind.AWAY, f"looking after the index failed inside: {error!r}")
            )

    async def _suspect(self, life: IndexLife, place: GenerationPlace) -> None:
        """End a life before it opens files that look bad."""
        if place.server is not None:
            return
        rows, each = await self.records.read(partial(pending.measure_index, model=self.model))
        try:
            found = await asyncio.to_thread(
                find_suspicion, place.folder, rows=rows, vector_bytes=each
            )
        except OSError as error:
            found = f"its folder cannot be looked into: {error}"
        if found:
            life.end(LifeEnding(LifeEndKind.BROKEN, f"generation {place.generation}: {found}"))
            raise IndexDown(found)

    async def _forget(self, life: IndexLife, place: GenerationPlace) -> None:
        """Delete what other generations left on the server."""
        old = self.places.list_remote(place)
        if old:
            names = list(place.collections)
            await life.ask("forget", {"suffixes": list(old), "collections": names})
            for folder in old.values():
                await asyncio.to_thread(generations.discard, folder)

    async def _verified(self, life: IndexLife, *, deep: bool) -> IndexVerdict:
        """Compare a life's index with the ledger; end it when it is not what it should be."""
        verification = Verification(life.ask, self.records.read, model=self.model, deep=deep)
        verdict = await verification.run(self.places.collections, self.clock)
        if life is self.life:
            self.verdict = verdict
        if verdict.ok:
            self.record.note_good(proven=verdict.proven)
        else:
            life.end(LifeEnding(LifeEndKind.UNSOUND, verdict.text))
        return verdict


def _heard(task: asyncio.Future[Any]) -> None:
    """Take note of how something ended that no caller may wait for any more."""
    if not task.cancelled():
        task.exception()


#: Every collection of the index; `_paired` holds texts with their predecessor in front.
COLLECTIONS = (
    "cortex_principles",
    "cortex_crumbs",
    *(
        f"cortex_{each}{paired}"
        for each in ("insights", "knowledge", "private", "village", "bridges")
        for paired in ("", PAIRED)
    ),
)

#: Rows sent to the child at once: 0.1 s of work, for which a question has to wait.
SLICE = 100

#: Seconds a question waits for the index: comparing every vector is quicker than waiting longer.
PATIENCE = 1.0


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The index in `status`; `reason` is set when a person should see it."""

    #: opening, checking, ready, or away: it is tried again after a pause.
    state: str
    generation: int
    reason: str = ""
    #: Deaths of the child, and generations given up, in this life of the actor.
    deaths: int = 0
    given_up: int = 0
    verified: IndexVerdict | None = None


class Vectors(AsyncioActor):
    """Tells the index what to hold and asks it for neighbours.

    The child starts in the background: the daemon is ready before Chroma has been imported. No
    question is put to an index before it was found good; until then, and whenever it is away, the
    asker gets `IndexDown` and compares every vector of the ledger. Nothing that happens to the
    index ends this actor.
    """

    #: Questions and changes not yet passed to the child, of which the indexer has one at a time
    #: and each recall another; they wait rather than fail.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        folder: Path,
        records: Records,
        *,
        settings: StorageSettings,
        model: str,
        clock: Clock,
        on_line: Callable[[str], None],
        spawn: Spawn = ChildProcess.spawn,
    ) -> None:
        """Remember where generations lie; `model` names whose vectors they hold."""
        super().__init__()
        self._model = model
        self._keeper = Keeper(
            Generations(folder, settings, COLLECTIONS),
            records,
            settings=settings,
            model=model,
            clock=clock,
            spawn=spawn,
            on_line=on_line,
        )

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Begin to open the index."""
        self.spawn(self._keeper.run(), name="vectors-keeper")

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Let the child close its files."""
        await self._keeper.close()

    def describe(self) -> IndexInfo:
        """Return how the index is."""
        keeper, record = self._keeper, self._keeper.record
        return IndexInfo(
            keeper.phase,
            keeper.state.generation if keeper.state else 0,
            keeper.reason,
            record.deaths,
            record.given_up,
            keeper.verdict,
        )

    def require_generation(self) -> int:
        """Return the generation that answers questions; raises `IndexDown` while none does."""
        return self._keeper.require_ready().generation

    @deferred
    async def put(self, collection: str, ids: Sequence[str], rows: Matrix) -> None:
        """Insert or replace vectors, some at a time. Raises `IndexDown` while it is not open."""
        _require_known(collection)
        for start in range(0, len(ids), SLICE):
            some = rows[start : start + SLICE]
            params = {"collection": collection, "dimension": rows.shape[1]}
            await self._keeper.require_open().ask(
                "put", {**params, "ids": list(ids[start : start + SLICE])}, some.tobytes()
            )

    @deferred
    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Remove vectors, some at a time. Raises `IndexDown` while the index is not open."""
        _require_known(collection)
        for start in range(0, len(ids), SLICE):
            some = list(ids[start : start + SLICE])
            await self._keeper.require_open().ask("drop", {"collection": collection, "ids": some})

    @deferred
    async def query(
        self, collections: Sequence[str], vector: Matrix, limit: int, model: str | None = None
    ) -> dict[str, list[tuple[str, float]]]:
        """Return the nearest (id, cosine) of each collection, best first.

        Raises `IndexDown` when it cannot: it is not open or not found good yet, it is busy for
        longer than `PATIENCE`, or the vector is of another `model` than those it holds.
        """
        for each in collections:
            _require_known(each)
        life = self._keeper.require_ready()
        if model not in (None, self._model):
            raise IndexDown(f"the index holds vectors of {self._model}, not of {model}")
        params = {"collections": collections, "dimension": vector.shape[-1], "limit": limit}
        asking = asyncio.ensure_future(life.ask("query", params, vector.tobytes()))
        # Not cancelled when no caller waits any more: how it ends says something of the child.
        asking.add_done_callback(_heard)
        await asyncio.wait({asking}, timeout=PATIENCE)
        if not asking.done():
            raise IndexDown(f"the vector index was busy for {PATIENCE:g} s")
        answer, _ = asking.result()
        return {
            name: list(zip(found["ids"][0], found["cosines"][0], strict=True))
            for name, found in answer.items()
        }

    @deferred
    async def verify(self) -> IndexVerdict:
        """Compare the index with the ledger now; raises `IndexDown` while it is not open.

        An index that fails is given up for a new generation, without asking.
        """
        return await self._keeper.verify()

    def renew(self, reason: str) -> None:
        """Give the index up for a new generation; does nothing while none is open."""
        if self._keeper.life is not None:
            self._keeper.life.end(LifeEnding(LifeEndKind.BROKEN, reason))


def _require_known(collection: str) -> None:
    """Raise `BadInput` for a collection that there is not."""
    if collection not in COLLECTIONS:
        message = f"the index has no collection {collection}; there are {', '.join(COLLECTIONS)}"
        raise BadInput(message)

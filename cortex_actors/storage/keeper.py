"""The keeper: has an index open, whatever ends the process that holds it.

It runs one life of the child after another, looks at each before anybody asks it, looks again now
and then, and decides what the next life begins with: the same files, or a new generation. It is
the actor's, as a provider keeps its model's process, and no supervisor's: a restart of the actor
would restart the indexer behind it, and three in five seconds the whole branch.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.errors import CortexError, IndexDown
from cortex_actors.storage import generations, holdings, indexing
from cortex_actors.storage.endings import Ending, Kind, Record
from cortex_actors.storage.indexlife import IndexLife, Phase
from cortex_actors.storage.suspicion import suspicion
from cortex_actors.storage.verification import Verification

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.clock import Clock
    from cortex_actors.sections import StorageSettings
    from cortex_actors.storage.generations import Generations, Place
    from cortex_actors.storage.indexing import State
    from cortex_actors.storage.indexlife import Spawn
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.verification import Verdict

log = logging.getLogger("cortex.vectors")

#: Seconds for which an index that is being opened is no news.
USUAL = 30.0

#: Seconds until the next look at an index that held nothing: a new generation is empty when it is
#: found good, and filled after that.
FILLING = 60.0


class Keeper:
    """Keeps the index of one model open; `run` does it, and everything else tells how it is."""

    def __init__(
        self,
        places: Generations,
        records: Records,
        *,
        settings: StorageSettings,
        model: str,
        clock: Clock,
        spawn: Spawn,
        on_line: Callable[[str], None],
    ) -> None:
        """Have nothing open."""
        self._places = places
        self._records = records
        self._settings = settings
        self._model = model
        self._clock = clock
        self._spawn = spawn
        self._on_line = on_line
        self.record = Record()
        self.life: IndexLife | None = None
        self.state: State | None = None
        self.verdict: Verdict | None = None
        self._broken: State | None = None
        self._since = clock.monotonic()
        self._reason = ""
        self._verifying: asyncio.Task[Verdict] | None = None
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
        waited = self._clock.monotonic() - self._since
        return f"it has been {phase} for {waited:.0f} s" if waited > USUAL else ""

    def opened(self) -> IndexLife:
        """Return the life that has an index open; raises `IndexDown` while there is none."""
        life = self.life
        if life is None or life.phase not in (Phase.CHECKING, Phase.READY):
            message = "the vector index does not answer yet: it is being opened; ask again"
            raise IndexDown(message)
        return life

    def ready(self) -> IndexLife:
        """Return the life whose index was found good; raises `IndexDown` while there is none."""
        life = self.opened()
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

    async def verify(self) -> Verdict:
        """Compare the index with the ledger, or wait for the comparison that is under way.

        Raises `IndexDown` while none is open, and what reading the ledger raises.
        """
        life = self.opened()
        if self._verifying is None or self._verifying.done():
            self._verifying = asyncio.create_task(self._verified(life, deep=False), name="verify")
            self._verifying.add_done_callback(_heard)
        return await asyncio.shield(self._verifying)

    async def _one_life(self) -> Ending:
        """Run one life of the child from its start to its end, and return why it ended."""
        self.life = None
        try:
            place = await self._place()
        except (CortexError, OSError) as error:
            return Ending(Kind.AWAY, str(error))
        self.life = life = IndexLife(place, deadline=self._settings.index_timeout_s)
        serving = asyncio.create_task(self._serve(life, place), name="life of the index")
        try:
            return await life.ended()
        finally:
            serving.cancel()
            await asyncio.wait({serving})
            await life.gone()

    async def _rest_from(self, ending: Ending) -> None:
        """Take note of an ending, and wait until the next life may begin."""
        if self._stopping:
            return
        now = self._clock.monotonic()
        if self.phase == Phase.READY:
            self._since = now
        if self.record.take(ending, now):
            self._broken = self.state
        self.life = None
        pause = self.record.pause(now)
        self._reason = f"{ending.reason}; next attempt in {pause:g} s"
        log.warning("the index is away: %s", self._reason)
        await self._clock.sleep(pause)

    async def _place(self) -> Place:
        """Return where the generation in use lies, and have room made for it.

        Raises a `CortexError` while the ledger is away or the settings name no server we use, and
        `OSError` when there can be no folder.
        """
        state = await self._records.read(indexing.state)
        gone = (
            self._broken is not None and state is not None and state.folder == self._broken.folder
        )
        if state is None or state.model != self._model or gone:
            unit = partial(generations.renewed, model=self._model, broken=self._broken)
            state = await self._records.write(unit)
        self._broken, self.state, self.verdict = None, state, None
        place = self._places.place(state)
        await asyncio.to_thread(self._places.prepare, place)
        await asyncio.to_thread(self._places.sweep, place)
        return place

    async def _serve(self, life: IndexLife, place: Place) -> None:
        """Open the index, look at it, and go on looking at it now and then."""
        try:
            await self._suspect(life, place)
            await life.open(self._spawn, self._on_line)
            await self._forget(life, place)
            verdict = await self._verified(life, deep=True)
            if verdict.ok:
                life.phase, self._reason = Phase.READY, ""
            while verdict.ok:
                await self._clock.sleep(self._until_next(verdict))
                verdict = await self.verify()
        except IndexDown:
            await life.gone()  # why it ended is known to it by then
        except CortexError as error:
            life.end(Ending(Kind.AWAY, f"the index waits for the ledger: {error}"))
        except Exception as error:  # a fault of ours in here must not end the storage branch
            log.exception("looking after the index failed inside")
            life.end(Ending(Kind.AWAY, f"looking after the index failed inside: {error!r}"))

    async def _suspect(self, life: IndexLife, place: Place) -> None:
        """End a life before it opens files that look bad."""
        if place.server is not None:
            return
        rows, each = await self._records.read(partial(holdings.size, model=self._model))
        try:
            found = await asyncio.to_thread(suspicion, place.folder, rows=rows, vector_bytes=each)
        except OSError as error:
            found = f"its folder cannot be looked into: {error}"
        if found:
            life.end(Ending(Kind.BROKEN, f"generation {place.generation}: {found}"))
            raise IndexDown(found)

    async def _forget(self, life: IndexLife, place: Place) -> None:
        """Delete what other generations left on the server."""
        old = self._places.remote(place)
        if old:
            names = list(place.collections)
            await life.ask("forget", {"suffixes": list(old), "collections": names})
            for folder in old.values():
                await asyncio.to_thread(generations.discard, folder)

    async def _verified(self, life: IndexLife, *, deep: bool) -> Verdict:
        """Compare a life's index with the ledger; end it when it is not what it should be."""
        verification = Verification(life.ask, self._records.read, model=self._model, deep=deep)
        verdict = await verification.run(self._places.collections, self._clock)
        if life is self.life:
            self.verdict = verdict
        if verdict.ok:
            self.record.good(proven=verdict.proven)
        else:
            life.end(Ending(Kind.UNSOUND, verdict.text))
        return verdict

    def _until_next(self, verdict: Verdict) -> float:
        """Return the seconds until the next look: soon while there was nothing to look at."""
        every = self._settings.verify_every_s
        return every if verdict.proven else min(FILLING, every)


def _heard(task: asyncio.Task[Verdict]) -> None:
    """Take note of how a verification ended that nobody may wait for any more."""
    if not task.cancelled():
        task.exception()

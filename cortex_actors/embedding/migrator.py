"""Migrator: which embedding model this home has, its compiled form, and the way to another one.

hears   -
says    -
asks    ledger, pool (whether it has texts in hand, for which a migration makes way)
keeps   what it is doing and what failed (lost on a crash: which model is on its way, and every
        vector made so far, are rows of the ledger, so it goes on; a compile begins again)
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.embedding.migration import Migration
from cortex_actors.embedding.provider import State
from cortex_actors.embedding.seat import Doing, Info, Making, is_compiled, source_of
from cortex_actors.embedding.wishes import Wishes
from cortex_actors.errors import (
    CompileFailed,
    CortexError,
    ModelMissing,
    NotCompilable,
    NotFound,
)
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import within
from cortex_actors.storage import models

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.migration import Busy
    from cortex_actors.embedding.provider import Provider
    from cortex_actors.embedding.seat import Seat
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.models import Chosen

log = logging.getLogger("cortex.migrator")

#: Seconds before it tries again after the first, second ... failure in a row; the last one is also
#: how often it looks when nothing wakes it.
PAUSES = (1.0, 2.0, 5.0, 15.0, 60.0)

#: Seconds between two looks while no model is written down: the first text tells its dimension.
FIRST_LOOK = 2.0


class Migrator(AsyncioActor):
    """Has one model answer at a time, and another one take its place only when it can.

    All work is one task beside the mailbox, so that it can always be asked. Nothing that goes wrong
    in it is a crash: it is a state with its reason, and tried again.
    """

    #: Wishes of people, which only write a row and ring a bell.
    mailbox_limit = 100
    overflow = Overflow.BACK_PRESSURE
    #: Seconds: a wish may have to ask an endpoint how long its vectors are, a prune deletes many.
    message_limit = 600.0

    def __init__(
        self, records: Records, seat: Seat, *, clock: Clock, compiles: bool, busy: Busy
    ) -> None:
        """Remember whose model answers; `compiles` allows compiled forms."""
        super().__init__()
        self._records = records
        self._seat = seat
        self._clock = clock
        self._compiles = compiles
        self._busy = busy
        self._wishes = Wishes(records, seat, clock, compiles=compiles)
        self._bell = asyncio.Event()
        self._state, self._reason, self._failure, self._note = Doing.IDLE, "", "", ""
        self._active: Chosen | None = None
        self._run: Migration | None = None
        self._making: Making | None = None
        # Ids of float models whose compile was tried in this life.
        self._tried: set[str] = set()

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Begin to look what is to be done."""
        self.spawn(self._live(), name="migrations")

    def describe(self) -> Info:
        """Return which models there are and how far the coming one is."""
        run = self._run
        return Info(
            state=self._state,
            reason=self._reason or self._failure,
            note=self._note,
            differs=self._seat.differs(),
            active=self._active,
            coming=None if run is None else run.model,
            total=0 if run is None else run.total,
            done=0 if run is None else run.done,
            failed=0 if run is None else run.failed,
            rate=0.0 if run is None else run.rate,
            left_s=None if run is None else run.left_s,
            making=self._making,
        )

    def migrate(self, to: str, provider: str | None = None) -> asyncio.Task[Chosen]:
        """Begin a migration and return its model; the work goes on by itself.

        Asked again for the same model, it is the same migration. Raises `ModelMissing` naming the
        mend, `Refused` for the model that answers or while another migration is under way.
        """
        return self.spawn(self._rung(self._wishes.begin(to, provider)), name="migrate")

    def cancel(self) -> asyncio.Task[Chosen]:
        """End the migration that is under way and return its model; raises `NotFound` if none is.

        What it made is kept as long as that of a model that was replaced.
        """
        return self.spawn(self._rung(self._wishes.cancel()), name="cancel")

    def prune(self) -> asyncio.Task[dict[str, int]]:
        """Forget the vectors of every model that neither answers nor comes; return how many."""
        return self.spawn(self._wishes.prune(), name="prune")

    def prepare(self) -> None:
        """Try a compile that failed once more."""
        self._tried.clear()
        self._failure = self._note = ""
        self._bell.set()

    async def _rung(self, wish: Coroutine[None, None, Chosen]) -> Chosen:
        """Fulfil a wish and look at once what it means."""
        found = await wish
        self._bell.set()
        return found

    async def _live(self) -> None:
        """Do what is to be done, for ever."""
        failures = 0
        while True:
            try:
                await self._step()
            except CortexError as error:
                await self._rest(str(error), failures)
                failures += 1
            except Exception as error:
                log.exception("migrating failed inside and will be tried again")
                await self._rest(f"it failed inside: {error!r}", len(PAUSES))
            else:
                failures = 0
                self._become(Doing.IDLE)
                await self._wait(FIRST_LOOK if self._active is None else PAUSES[-1])

    async def _step(self) -> None:
        """Do everything that can be done now."""
        await self._settle()
        if await self._records.read(models.coming) is None:
            await self._compile_active()
        while (coming := await self._records.read(models.coming)) is not None:
            try:
                await self._migrate(coming)
            except NotFound as error:
                log.info("%s", error)
        await self._wishes.forget_old()

    async def _settle(self) -> None:
        """Agree with the ledger on the model that answers, and write down the first one."""
        active, provider = await self._records.read(models.active), self._seat.provider
        known = provider.state is not State.MISSING and provider.dimension > 0
        if active is None or active.name is None:
            if not known:
                return
            first, at = self._seat.first(), self._clock.now()
            active = await self._records.write(partial(models.settle, model=first, at=at))
        if active.model_id == provider.model_id:
            self._seat.settle(active)
        else:
            # A switch whose process ended before it was followed, or a ledger that was recovered.
            await self._seat.take(active, await self._made(active))
        self._active = active

    async def _compile_active(self) -> None:
        """Begin the migration to the compiled form of the model that answers, if there can be one.

        A compiled form that was damaged is made again; mostly it is the same byte for byte, and
        then nothing has to be embedded.
        """
        active, is_away = self._active, self._seat.provider.state is State.MISSING
        if active is None or is_compiled(active.model_id) != is_away:
            return
        made = await self._compiled(active)
        if made is None:
            return
        if made.model_id == active.model_id:
            await self._seat.take(active, await self._made(active))
        else:
            await self._records.write(partial(models.begin, model=made, at=self._clock.now()))

    async def _compiled(self, model: Chosen) -> Chosen | None:
        """Return a model's compiled form; None when it has none, cannot have one, or must not."""
        source = source_of(model.model_id)
        if not self._compiles or model.provider != "sentence-transformers" or source in self._tried:
            return None
        self._become(Doing.COMPILING)
        self._making = Making(source, self._clock.now())
        try:
            return await self._seat.compiled(model, self._hear)
        except NotCompilable as error:
            self._note = str(error)
        except (CompileFailed, ModelMissing) as error:
            self._failure = f"{error}; {self._meanwhile(model)}"
            log.warning("%s", self._failure)
        finally:
            self._making = None
        self._tried.add(source)
        return None

    def _hear(self, step: str) -> None:
        """Note the step of a compile."""
        if self._making is not None:
            self._making = replace(self._making, step=step)

    def _meanwhile(self, model: Chosen) -> str:
        """Return what becomes of a model whose compile failed."""
        if self._active is None or self._active.model_id != model.model_id:
            return "the migration goes on with its float form"
        if is_compiled(model.model_id):
            return "texts are found by their words until then"
        return "its float form goes on answering"

    async def _migrate(self, coming: Chosen) -> None:
        """Bring a model to the switch, and have it answer.

        Raises `ModelMissing`, and `NotFound` when the migration was called off.
        """
        made = await self._compiled(coming) if not is_compiled(coming.model_id) else None
        if made is not None:
            instead, at = coming.model_id, self._clock.now()
            retarget = partial(models.retarget, model=made, at=at, instead_of=instead)
            await self._records.write(retarget)
            return
        provider = await self._made(coming)
        try:
            await self._embed_all(coming, provider)
            log.info("the model %s answers from now on", coming.model_id)
            await self._seat.take(coming, provider)
            self._active = coming
        finally:
            self._run = None
            if provider is not self._seat.provider:
                await provider.close()

    async def _embed_all(self, coming: Chosen, provider: Provider) -> None:
        """Return once the ledger says that a model answers; a provider that is away may come."""
        self._run = run = Migration(
            self._records, self._clock, model=coming, provider=provider, busy=self._busy
        )
        failures = 0
        while True:
            await provider.start()
            if await provider.settled() is State.MISSING:
                raise ModelMissing(provider.reason)
            self._become(Doing.MIGRATING)
            try:
                return await run.run()
            except (ModelMissing, NotFound):
                raise
            except CortexError as error:
                failures = 0 if run.rate else failures
                await self._rest(str(error), failures)
                failures += 1

    async def _made(self, model: Chosen) -> Provider:
        """Return a provider; on a thread, because finding a model hashes its files (20 ms)."""
        return await asyncio.to_thread(self._seat.make, model)

    async def _rest(self, reason: str, failures: int) -> None:
        """Wait before another try, and say why."""
        pause = PAUSES[min(failures, len(PAUSES) - 1)]
        self._become(Doing.WAITING, f"{reason}; next attempt within {pause:g} s")
        await self._wait(pause)

    async def _wait(self, seconds: float) -> None:
        """Return after that many seconds, or when somebody has a wish."""
        await within(self._clock, seconds, self._bell.wait())
        self._bell.clear()

    def _become(self, state: Doing, reason: str = "") -> None:
        """Say what it is at."""
        self._state, self._reason = state, reason

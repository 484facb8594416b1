"""Migrator: which embedding model this home has, its compiled form, and the way to another one.

hears   -
says    -
asks    ledger, pool (whether it has texts to embed, for which a migration makes way), tasks (which
        a migration is one of)
keeps   what it is doing and what failed (lost on a crash: which model is on its way, and every
        vector made so far, are rows of the ledger, so it goes on; a compile begins again)

One migration: every text that may be found gets its vector of another model, in small units.

That is also what memories said that are found as of a date only.
Each unit is rows of the ledger under the coming model's id, so whatever ends the process costs at
most one unit, and beginning again goes on from there. Nothing else is changed until the switch,
which is one transaction.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cortex_actors import errors
from cortex_actors.clock import DAY, Clock
from cortex_actors.embedding.factory import PROVIDERS, Doing, Info, Making, find_source, is_compiled
from cortex_actors.embedding.models import GIVE, PACKAGED, PUBLISHER, locate
from cortex_actors.embedding.provider import Provider, ProviderState, Row, explain_refusal
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.tasks import ALONE, TaskSupervisor
from cortex_actors.runtime.threads import wait_within
from cortex_actors.storage import embeddings, models

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.embedding.factory import Seat
    from cortex_actors.storage.embeddings import WaitingText
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.models import ChosenModel


log = logging.getLogger("cortex.migrator")

#: Texts of one unit, and the characters from which it is cut shorter: some 0.1 s of work, since
#: a recall meanwhile shares the cores with it.
TEXTS, CHARACTERS = 16, 8_000

#: Part of a unit's own time that passes before the next one.
REST = 0.25

#: Seconds between two looks whether the pool has work, and the seconds that one unit gives way to
#: it at most: an import of an hour must not hold up the migration for an hour.
LOOK, WAY = 0.02, 1.0

#: Seconds between two counts of all texts; in between only what is done is added.
RECOUNT = 10.0


#: Says whether the pool has texts to embed, for which a migration makes way.
Busy: TypeAlias = "Callable[[], Awaitable[bool]]"


class Migration:
    """Embeds with a provider of its own until a model can answer, and then has it answer.

    Texts that the provider always refuses (`failed`) do not hold up the switch; they stay
    without a vector as they would have been without a migration.
    """

    def __init__(
        self, records: Records, clock: Clock, *, model: ChosenModel, provider: Provider, busy: Busy
    ) -> None:
        """Begin where the ledger says; nothing runs yet."""
        self.model = model
        self._records = records
        self._clock = clock
        self._provider = provider
        self._busy = busy
        self._poison: set[bytes] = set()
        self._begun = self._counted = clock.monotonic()
        self._made = 0
        self.total = self.done = 0

    @property
    def failed(self) -> int:
        """How many texts this model cannot embed."""
        return len(self._poison)

    @property
    def rate(self) -> float:
        """Texts a second since it began or went on."""
        took = self._clock.monotonic() - self._begun
        return self._made / took if took > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds it will still take at that rate; None while that is not known."""
        left = max(0, self.total - self.done - self.failed)
        if not left:
            return 0.0
        return left / self.rate if self.rate else None

    async def run(self) -> None:
        """Embed everything and switch; the provider's model answers in the ledger afterwards.

        Raises `NotFound` when the migration was called off, and whatever keeps the provider or the
        ledger from working; run again, it goes on.
        """
        self._begun, self._made = self._clock.monotonic(), 0
        await self._recount()
        switch = partial(models.switch, model_id=self.model.model_id, but=self._poison)
        while await self._records.write(partial(switch, at=self._clock.now())):
            for table in embeddings.TEXTS_OF:
                after = 0
                while todo := await self._next(table, after):
                    await self._embed(todo)
                    after = todo[-1].row
        await self._recount()

    async def _next(self, table: str, after: int) -> list[WaitingText]:
        """Return the texts of the next unit."""
        of = partial(embeddings.list_without, model_id=self.model.model_id, of=table)
        query = partial(of, after=after, limit=TEXTS)
        found = await self._records.read(query)
        room, taken = CHARACTERS, 0
        while taken < len(found) and (room > 0 or not taken):
            room -= len(found[taken].text)
            taken += 1
        return found[:taken]

    async def _embed(self, todo: Sequence[WaitingText]) -> None:
        """Store the vectors of one unit, then rest."""
        begun = self._clock.monotonic()
        fresh = {each.digest: each.text for each in todo if each.digest not in self._poison}
        if not fresh:
            return
        found = await self._tried(list(fresh.items()))
        await self._records.write(partial(self._kept, found=found))
        self._made += len(found)
        self.done += len(found)
        await self._clock.sleep((self._clock.monotonic() - begun) * REST)
        until = self._clock.monotonic() + WAY
        while self._clock.monotonic() < until and await self._busy():
            await self._clock.sleep(LOOK)  # let others have the model first
        if self._clock.monotonic() - self._counted > RECOUNT:
            await self._recount()

    def _kept(self, connection: Connection, found: dict[bytes, Row]) -> None:
        """Store vectors, unless the migration was called off meanwhile."""
        coming = models.find_coming(connection)
        if coming is None or coming.model_id != self.model.model_id:
            raise errors.NotFound(f"the migration to {self.model.model_id} was called off")
        embeddings.keep_vectors(connection, self.model.model_id, found)

    async def _tried(self, texts: list[tuple[bytes, str]]) -> dict[bytes, Row]:
        """Return a vector for each text; halve until a text that is refused is alone.

        Raises `EmbedderDown` when the provider cannot embed at all.
        """
        if error := explain_refusal(self._provider):
            raise error
        try:
            rows = await self._provider.embed([text for _, text in texts])
        except errors.BadInput as why:
            if len(texts) > 1:
                half = len(texts) // 2
                return {**await self._tried(texts[:half]), **await self._tried(texts[half:])}
            self._poison.add(texts[0][0])
            log.warning(
                "a text of %d characters cannot be embedded with %s: %s",
                len(texts[0][1]),
                self.model.model_id,
                why,
            )
            return {}
        return {digest: row for (digest, _), row in zip(texts, rows, strict=True)}

    async def _recount(self) -> None:
        """Count again: texts came and went meanwhile."""
        found = await self._records.read(
            partial(embeddings.count_progress, model_id=self.model.model_id)
        )
        self.total, self.done = found.total, found.done
        self._counted = self._clock.monotonic()


#: Days for which the vectors of a model that was replaced are kept, so that going back is quick.
KEPT_DAYS = 7

#: What the ids begin with of models that are no folders.
_ELSEWHERE = ("openai:", "hashing-v1-")

#: Vectors that one unit of work forgets, and the seconds between two: others wait for that thread.
FORGOTTEN, PAUSE = 500, 0.05


def _why(name: str, provider: Provider, kind: str | None) -> str:
    """Return why a model cannot come, and what can; the settings have no say in it."""
    if kind == "hashing" or provider.model_id.startswith(_ELSEWHERE):
        return provider.reason
    if name.removeprefix(PUBLISHER) not in PACKAGED and not Path(name).expanduser().is_dir():
        return (
            f"there is no such folder, and no installed package brings a model so named; {GIVE}; "
            "for the model of an endpoint (embedding.base_url) say --provider openai"
        )
    try:
        locate(name, mend=GIVE)
    except errors.ModelMissing as error:
        return str(error)
    return provider.reason


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
        self,
        records: Records,
        seat: Seat,
        *,
        clock: Clock,
        compiles: bool,
        busy: Busy,
        tasks: TaskSupervisor = ALONE,
    ) -> None:
        """Remember whose model answers; `compiles` allows compiled forms."""
        super().__init__()
        self._records = records
        self._seat = seat
        self._clock = clock
        self._compiles = compiles
        self._busy = busy
        self._tasks = tasks
        self._bell = asyncio.Event()
        self._state, self._reason, self._failure, self._note = Doing.IDLE, "", "", ""
        self._active: ChosenModel | None = None
        self._run: Migration | None = None
        self._making: Making | None = None
        # Ids of float models whose compile was tried in this life.
        self._tried: set[str] = set()

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Begin to look what is to be done."""
        self.spawn(self._live(), name="migrations")

    def describe(self) -> Info:
        """Return which models there are and how far the coming one is."""
        names = ("total", "done", "failed", "rate", "left_s")
        run: dict[str, Any] = {name: getattr(self._run, name) for name in names if self._run}
        return Info(
            state=self._state,
            reason=self._reason or self._failure,
            note=self._note,
            differs=self._seat.explain_difference(),
            active=self._active,
            coming=self._run.model if self._run else None,
            making=self._making,
            **run,
        )

    @deferred
    async def migrate(self, to: str, provider: str | None = None) -> ChosenModel:
        """Begin a migration and return its model; the work goes on by itself.

        Asked again for the same model, it is the same migration. Raises `ModelMissing` naming the
        mend, `Refused` for the model that answers or while another migration runs.
        """
        target = await self._records.read(partial(models.find, model_id=to))
        if target is None or provider is not None:
            target = await self._candidate(to, provider)
        elif (
            found := await asyncio.to_thread(self._seat.make, target)
        ).state is ProviderState.MISSING:
            raise errors.ModelMissing(f"cannot migrate to {to}: {found.reason}")
        active = self._seat.provider.model_id
        if self._compiles and is_compiled(active) and find_source(active) == target.model_id:
            raise errors.Refused(
                f"cannot migrate to {target.model_id}: it answers already, in its compiled form "
                f"{active}; to embed with the float form, set embedding.compile = false"
            )
        await self._records.write(partial(models.begin, model=target, at=self._clock.now()))
        self._bell.set()
        return target

    @deferred
    async def cancel(self) -> ChosenModel:
        """End the migration that runs and return its model; raises `NotFound` if none does.

        What it made is kept as long as that of a model that was replaced.
        """
        found = await self._records.write(partial(models.cancel, at=self._clock.now()))
        if found is None:
            raise errors.NotFound("cannot cancel: no migration runs")
        self._bell.set()
        return found

    def prepare(self) -> None:
        """Try a compile that failed once more."""
        self._tried.clear()
        self._failure = self._note = ""
        self._bell.set()

    async def _candidate(self, name: str, kind: str | None) -> ChosenModel:
        """Return the model of a name; raises `ModelMissing`."""
        if kind not in (None, *PROVIDERS):
            raise errors.UsageError(
                f"cannot migrate to {name}: there is no provider {kind!r}; give one of: "
                f"{', '.join(PROVIDERS)}"
            )
        if not name.strip():
            raise errors.ModelMissing(f"cannot migrate to {name!r}: it names no model; {GIVE}")
        provider = await asyncio.to_thread(self._seat.make_candidate, name, kind)
        if provider.state is ProviderState.MISSING:
            raise errors.ModelMissing(f"cannot migrate to {name}: {_why(name, provider, kind)}")
        if provider.dimension == 0:
            try:
                await provider.start()
                await provider.wait_settled()
                await provider.embed(["how long is a vector?"], urgent=True)
            finally:
                await provider.close()
        return self._seat.make_row(provider, name, kind)

    async def _forget(self, model_id: str) -> int:
        """Delete a model's vectors and return how many there were."""
        unit, total = partial(models.forget, model_id=model_id, limit=FORGOTTEN), 0
        while gone := await self._records.write(unit):
            total += gone
            await self._clock.sleep(PAUSE)
        return total

    async def _live(self) -> None:
        """Do what is to be done, for ever."""
        failures = 0
        while True:
            try:
                await self._step()
            except errors.CortexError as error:
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
        if await self._records.read(models.find_coming) is None:
            await self._compile_active()
        while (coming := await self._records.read(models.find_coming)) is not None:
            try:
                work = partial(self._migrate, coming)
                await self._tasks.run(f"migrate to {coming.model_id}", work)
            except errors.NotFound as error:
                log.info("%s", error)
        before = self._clock.now() - KEPT_DAYS * DAY
        for each in await self._records.read(models.list_retired):
            if each.since < before:
                await self._forget(each.model_id)

    async def _settle(self) -> None:
        """Agree with the ledger on the model that answers, and write down the first one."""
        active, provider = await self._records.read(models.find_active), self._seat.provider
        known = provider.state is not ProviderState.MISSING and provider.dimension > 0
        if active is None or active.name is None:
            if not known:
                return
            first, at = self._seat.make_first(), self._clock.now()
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
        active, is_away = self._active, self._seat.provider.state is ProviderState.MISSING
        if active is None or is_compiled(active.model_id) != is_away:
            return
        made = await self._compiled(active)
        if made is None:
            return
        if made.model_id == active.model_id:
            await self._seat.take(active, await self._made(active))
        else:
            await self._records.write(partial(models.begin, model=made, at=self._clock.now()))

    async def _compiled(self, model: ChosenModel) -> ChosenModel | None:
        """Return a model's compiled form; None when it has none, cannot have one, or must not."""
        source = find_source(model.model_id)
        if not self._compiles or model.provider != "sentence-transformers" or source in self._tried:
            return None
        self._become(Doing.COMPILING)
        self._making = Making(source, self._clock.now())
        try:
            return await self._seat.compile_model(model, self._hear)
        except errors.NotCompilable as error:
            self._note = str(error)
        except (errors.CompileFailed, errors.ModelMissing) as error:
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

    def _meanwhile(self, model: ChosenModel) -> str:
        """Return what becomes of a model whose compile failed."""
        if self._active is None or self._active.model_id != model.model_id:
            return "the migration goes on with its float form"
        if is_compiled(model.model_id):
            return "texts are found by their words until then"
        return "its float form goes on answering"

    async def _migrate(self, coming: ChosenModel) -> None:
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

    async def _embed_all(self, coming: ChosenModel, provider: Provider) -> None:
        """Return once the ledger says that a model answers; a provider that is away may come."""
        self._run = run = Migration(
            self._records, self._clock, model=coming, provider=provider, busy=self._busy
        )
        failures = 0
        while True:
            await provider.start()
            if await provider.wait_settled() is ProviderState.MISSING:
                raise errors.ModelMissing(provider.reason)
            self._become(Doing.MIGRATING)
            try:
                return await run.run()
            except (errors.ModelMissing, errors.NotFound):
                raise
            except errors.CortexError as error:
                failures = 0 if run.rate else failures
                await self._rest(str(error), failures)
                failures += 1

    async def _made(self, model: ChosenModel) -> Provider:
        """Return a provider; on a thread, because finding a model hashes its files (20 ms)."""
        return await asyncio.to_thread(self._seat.make, model)

    async def _rest(self, reason: str, failures: int) -> None:
        """Wait before another try, and say why."""
        pause = PAUSES[min(failures, len(PAUSES) - 1)]
        self._become(Doing.WAITING, f"{reason}; next attempt within {pause:g} s")
        await self._wait(pause)

    async def _wait(self, seconds: float) -> None:
        """Return after that many seconds, or when there is a request."""
        await wait_within(self._clock, seconds, self._bell.wait())
        self._bell.clear()

    def _become(self, state: Doing, reason: str = "") -> None:
        """Say what it is at."""
        self._state, self._reason = state, reason

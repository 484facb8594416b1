"""Custodian: takes down how memories are read, and lets them sink as they earn it.

hears   convergence:detected
says    memory:accessed, memory:promoted
asks    ledger (writes what was read)
keeps   what was read and is not written yet (a crash loses it: memory.flush_s seconds at most; a
        clean stop writes it), and what the last tries to write it came to

Readings: which memories were in answers, gathered until they are written.

What is to be written is sealed: it keeps its name until it was written, so that a second try of a
write whose answer was lost does not count anything twice. What comes meanwhile is the next.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.clock import make_ulid
from cortex_actors.domain.event import Event, Ids, Payload, split_ids
from cortex_actors.errors import CortexError, MailboxFull
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage import memory_history
from cortex_actors.storage.events import Publisher, is_stored
from cortex_actors.storage.memory import memory_attention
from cortex_actors.storage.memory.memory_attention import AccessCount
from cortex_actors.topics import CONVERGENCE_DETECTED, MEMORY_ACCESSED, MEMORY_PROMOTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.memory import Access
    from cortex_actors.runtime.names import NamedActor
    from cortex_actors.sections import MemorySettings
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.memory.memory_attention import Said


#: Memories whose accesses are kept while they cannot be written; those of others are lost, and
#: counted.
MOST = 5_000


@dataclass(frozen=True, slots=True)
class Sealed:
    """What is written together: the name it is known by, and how often each memory was read."""

    name: str
    readings: Mapping[str, AccessCount]


class Readings:
    """Gathers what was read, within bounds."""

    def __init__(self, *, relevance: float) -> None:
        """Begin with nothing; what is no nearer to its question than `relevance` does not count."""
        self._relevance = relevance
        self._gathered: dict[str, AccessCount] = {}
        self._sealed: Sealed | None = None
        #: Accesses that found no room, and those that were no answer to what was asked.
        self.lost = self.irrelevant = 0

    def __len__(self) -> int:
        """Return how many memories have still to be written."""
        return len(self._gathered) + (len(self._sealed.readings) if self._sealed else 0)

    def take(self, some: Sequence[Access], at: int) -> None:
        """Take down what was in one answer, given at a time (UTC microseconds)."""
        for each in some:
            if not each.is_relevant(self._relevance):
                self.irrelevant += 1
            elif each.memory_id not in self._gathered and len(self) >= MOST:
                self.lost += 1
            else:
                known = self._gathered.get(each.memory_id, AccessCount(0, at))
                self._gathered[each.memory_id] = known.add(1, at)

    def seal(self, name: str) -> Sealed | None:
        """Return what is to be written now: what was sealed before, or all that was gathered."""
        if self._sealed is None and self._gathered:
            self._sealed = Sealed(name, self._gathered)
            self._gathered = {}
        return self._sealed

    def forget_sealed(self) -> None:
        """Forget what was sealed: it is written."""
        self._sealed = None


log = logging.getLogger("cortex.memory")

#: What it is called, in the tree and in what it notes.
NAME = "custodian"

#: Seconds for which a stop waits for the last of it to be written: the ledger may have ended first.
LAST_TRY = 3.0

#: Ids that one event names: its payload has a limit.
NAMED = 1_500


class Custodian(Consumer):
    """Gathers accesses and writes them together; recalls wait neither for it nor for the disk.

    What was read within `flush_s` seconds, of `flush_items` memories at most, is one unit of work:
    accesses, attention, promotions and what is said of them. It is tried until it is written, and
    never counted twice. While the ledger is away accesses are kept, up to a bound.
    """

    #: Wake-ups, asks, and what was read: a thousand recalls at once, then they are lost and counted
    #: by their reporter (`AccessReporter`), because no recall waits here.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    hears: ClassVar = {CONVERGENCE_DETECTED: "on_convergence"}

    def __init__(self, desk: Desk, records: Records, *, settings: MemorySettings) -> None:
        """Begin without any work."""
        super().__init__(desk)
        self._records = records
        self._publisher = Publisher(desk.bus, records, NAME)
        self._settings = settings
        self._readings = Readings(relevance=settings.relevance)
        self._window: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self._written = self._promoted = 0
        self._trouble = ""

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Finish the work that has begun, and write what was read: a clean stop loses nothing."""
        await super().on_stop()
        try:
            async with asyncio.timeout(LAST_TRY):
                await self._flush()
        except TimeoutError:
            log.warning("%d memories were read and that was not written", len(self._readings))

    async def on_convergence(self, event: Event[Ids]) -> Outcome:
        """Let memories that several agents say alike sink into the cortex."""
        now, ids = self.desk.clock.now(), event.payload.ids
        found = await self._records.read(lambda c: memory_attention.list_converged(c, ids))
        if not found:
            return Outcome()
        return Outcome(
            work=lambda c: memory_attention.crystallise(c, ids, now=now, by=NAME),
            say=[self.say(MEMORY_PROMOTED, Ids(some)) for some in split_ids(found, NAMED)],
        )

    def note_access(self, some: Sequence[Access]) -> None:
        """Take down which memories were in an answer."""
        self._readings.take(some, self.desk.clock.now())
        if len(self._readings) and self._window is None:
            self._window = self.spawn(self._when_over(), name="flush")
        is_much = len(self._readings) >= self._settings.flush_items
        # At once, unless a flush is running, or failed the last time.
        if is_much and not (self._flushing.locked() or self._trouble):
            self.spawn(self._flush(), name="flush of many")

    def flush(self) -> asyncio.Task[int]:
        """Write what was read so far; return of how many memories. The mailbox goes on."""
        return self.spawn(self._flush(), name="flush asked")

    def describe(self) -> dict[str, Any]:
        """Return what waits and what was done in this life, and how many seconds may be lost."""
        return {
            "waiting": len(self._readings),
            "written": self._written,
            "promoted": self._promoted,
            "irrelevant": self._readings.irrelevant,
            "lost": self._readings.lost,
            "window_s": self._settings.flush_s,
            "trouble": self._trouble,
        }

    async def _when_over(self) -> None:
        """Write when the window ends, and again until nothing waits."""
        while len(self._readings):
            await self.desk.clock.sleep(self._settings.flush_s)
            await self._flush()
        self._window = None

    async def _flush(self) -> int:
        """Write what was read so far, one unit at a time; what cannot be written waits."""
        written = 0
        async with self._flushing:
            # Sealed under the id of the event that will tell of it.
            while sealed := self._readings.seal(f"evt_{make_ulid(self.desk.clock.now())}"):
                try:
                    said = await self._publisher.write(partial(self._unit, sealed))
                except CortexError as error:
                    # It is tried again when the next window ends.
                    if not self._trouble:
                        log.warning("what was read is not written yet, and tried again: %s", error)
                    self._trouble = str(error)
                    break
                written += self._done(said)
        return written

    def _unit(self, sealed: Sealed, connection: Connection) -> tuple[Said, Said]:
        """Write what was read, what that earns, and what is said of both; return what was said.

        In one transaction, and once: its first event's id tells whether it was written before.
        """
        if is_stored(connection, sealed.name):
            return [], []
        now = self.desk.clock.now()
        decays, earning = self._settings.decays, self._settings.earning
        # By the memories that say it now: a part may have become a whole.
        readings: dict[str, AccessCount] = {}
        for given, each in memory_history.find_current(connection, sealed.readings).items():
            if each is not None:
                known, more = readings.get(each, AccessCount(0, 0)), sealed.readings[given]
                readings[each] = known.add(more.count, more.at)
        read = memory_attention.write_accesses(connection, readings, now=now, decays=decays)
        moved = memory_attention.sink(connection, read, now=now, earning=earning, by=NAME)
        accessed = [Ids(some) for some in split_ids([each.id for each in read], NAMED)]
        said = [self.say(MEMORY_ACCESSED, each) for each in accessed]
        said[:1] = [replace(each, id=sealed.name) for each in said[:1]]
        said += [self.say(MEMORY_PROMOTED, Ids(some)) for some in split_ids(moved, NAMED)]
        return said, said

    def _done(self, said: Sequence[Event[Payload]]) -> int:
        """Tell what was written; return of how many memories it was written that they were read."""
        self._readings.forget_sealed()
        self._trouble = ""
        counts = dict.fromkeys((MEMORY_ACCESSED, MEMORY_PROMOTED), 0)
        for each in said:
            counts[each.topic] += len(cast("Ids", each.payload).ids)
        self._written += counts[MEMORY_ACCESSED]
        self._promoted += counts[MEMORY_PROMOTED]
        return counts[MEMORY_ACCESSED]


@dataclass(eq=False, slots=True)
class AccessReporter:
    """Tells the custodian which memories were read; never waits for it and raises nothing.

    What finds no room or no custodian is lost, and counted: `lost` is how many accesses that were.
    """

    custodian: NamedActor[Custodian]
    lost: int = 0

    def report(self, some: Sequence[Access]) -> None:
        """Tell it which memories were in an answer."""
        is_told = not some
        with suppress(MailboxFull):
            is_told = is_told or self.custodian.tell(Custodian.note_access, tuple(some))
        if not is_told:
            self.lost += len(some)

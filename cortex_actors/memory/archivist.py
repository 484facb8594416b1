"""Archivist: remembers what agents say, and makes one of what says the same.

hears   -
says    memory:remembered, memory:merged
asks    ledger, cache, judge, vectors
keeps   - (a remember that is running ends with it, and its caller asks again; what waits to be
        compared is in the ledger)

Line-up: what is said at once and lies near each other is remembered one after another.

Two texts that say the same, planned at the same moment, would both find nothing and both be saved.
So a text waits for those of its scope that came before it and are near enough to become one with
it. Everything else goes on at the same time.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors import topics
from cortex_actors.clock import Clock, make_ulid
from cortex_actors.domain.event import Event, Ids, Payload
from cortex_actors.errors import CortexError, MailboxFull, Unembeddable
from cortex_actors.memory.request import Remembered, RememberRequest
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import wait_within
from cortex_actors.storage import memory_records, realms
from cortex_actors.storage.events import Publisher, store
from cortex_actors.storage.memory import memory_merge
from cortex_actors.storage.memory.memory_merge import How, MergePlan
from cortex_actors.storage.memory_records import digest
from cortex_actors.storage.search.similar_memories import MergeScope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.memory import Memory
    from cortex_actors.memory.planner import Planner
    from cortex_actors.runtime.names import NamedActor
    from cortex_actors.sections import MemorySettings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records


@dataclass(eq=False, slots=True)
class _Place:
    """One text that is being remembered."""

    vector: Matrix
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Lineup:
    """FIFO locks, one per (scope, similar text)."""

    def __init__(self, floor: float) -> None:
        """Let a text wait for those that are at least so near."""
        self._floor = floor
        self._under_way: dict[MergeScope, list[_Place]] = {}

    @asynccontextmanager
    async def turn(self, scope: MergeScope, vector: Matrix) -> AsyncIterator[None]:
        """Give a text its turn; it waits for earlier ones alone, so that none waits for ever."""
        mine = _Place(vector)
        line = self._under_way.setdefault(scope, [])
        before = [each for each in line if float(each.vector @ vector) >= self._floor]
        line.append(mine)
        try:
            for each in before:
                await each.over.wait()
            yield
        finally:
            mine.over.set()
            line.remove(mine)
            if not line and self._under_way.get(scope) is line:
                del self._under_way[scope]


log = logging.getLogger("cortex.archivist")

#: What this actor is called as the source of an event, and in an audit.
NAME = "archivist"

#: Times that something is thought out before it is saved as it is, to be compared later.
PLANS = 3

#: Memories that are compared at once when their vectors have come.
BULK = 50


class Archivist(AsyncioActor):
    """Remembers; several at a time.

    What is acknowledged is in the ledger: leaf, parts, whole, lineage, passages and vectors of one
    wish commit together or not at all. While no text can be embedded, what is said is saved as it
    is, and compared with the rest as soon as one can.
    """

    #: Agents that remember at once: two hundred are a flood, and wait.
    mailbox_limit = 200
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        bus: Bus,
        records: Records,
        planner: Planner,
        *,
        clock: Clock,
        settings: MemorySettings,
    ) -> None:
        """Begin without any work; vectors are those of the planner's model."""
        super().__init__()
        self._publisher = Publisher(bus, records, NAME)
        self._records = records
        self._planner = planner
        self._clock = clock
        self._settings = settings
        self._lineup = Lineup(settings.merge_together)
        self._is_due = asyncio.Event()

    def on_start(self) -> None:
        """Look after what was saved without being compared, for as long as this life lasts."""
        self.spawn(self._late(), name="late")

    @deferred
    async def remember(self, wish: RememberRequest) -> Remembered:
        """Return what became of a wish, once it is committed.

        Raises `NotFound` for what it answers or replaces and its author may not read, `BadInput`
        for a key that was used with another text, and what writing the ledger raises: then nothing
        of it was kept.
        """
        at = self._clock.now()
        first = wish.make_memory(f"mem_{make_ulid(at)}", at)
        first = await self._planner.add_summary(first, own=wish.abstract)
        vector = await self._planner.find_vector(first.text, patience=self._settings.patience_s)
        plain = MergePlan(first, vectors={} if vector is None else {digest(first.text): vector})
        if not wish.is_mergeable:
            return await self._commit(plain, wish) or await self._saved(plain, wish)
        if vector is None:
            return await self._saved(plain.as_unmerged(), wish)
        async with self._lineup.turn(MergeScope.from_memory(first), vector):
            # The active memories that it takes the place of; mostly there are none.
            replaced = await self._records.read(
                lambda c: _superseded(c, wish, is_new=False) if wish.supersedes else ()
            )
            for _ in range(PLANS):
                plan = await self._planner.plan(
                    first, vector, is_new=True, prefer=wish.prefer, but=replaced
                )
                if (done := await self._commit(plan, wish)) is not None:
                    return done
            return await self._saved(plain.as_unmerged(), wish)

    def look(self) -> None:
        """Compare what waits for it soon: a user took memories apart."""
        self._is_due.set()

    async def _saved(self, plan: MergePlan, wish: RememberRequest) -> Remembered:
        """Save a memory as it is; what is to be compared later is looked at soon."""
        done = await self._commit(plan, wish)
        if plan.first.merge_due:
            self._is_due.set()
        assert done is not None  # noqa: S101 - a plan of one new memory always holds
        return done

    async def _commit(self, plan: MergePlan, wish: RememberRequest) -> Remembered | None:
        """Write a plan and say so; None when it does not hold any more."""
        how = How(wish.caller.by, self._clock.now(), self._planner.model, quiet=wish.is_probe)

        def unit(connection: Connection) -> tuple[Remembered | None, list[Event[Payload]]]:
            key = wish.key and f"remember {wish.agent} {wish.key}"
            there = memory_merge.find_by_key(connection, key, wish.text) if key else None
            if there is not None:
                return _existing(there), []
            there = memory_merge.find_known(connection, plan.first, merged=wish.merge)
            if there is not None:
                return _added(connection, there, wish, how), []
            realms.require_readable(connection, wish.replies_to, wish.agent)
            replaced = _superseded(connection, wish)
            if not memory_merge.commit(connection, plan, how):
                return None, []
            replaced = memory_merge.replace_memory(connection, replaced, plan.last.id, how)
            said = [] if wish.is_probe else self._said(plan)
            if key and said:
                first, *_ = store(connection, said)
                memory_merge.keep_key(connection, first.seq or 0, key)
            return _told(plan, replaced), said

        return await self._publisher.write(unit)

    async def _late(self) -> None:
        """Compare what was saved without a vector, whenever there may be one by now."""
        while True:
            try:
                more = await self._compared()
            except CortexError as error:
                log.debug("what waits is compared later: %s", error)
                more = False
            if not more:
                await wait_within(self._clock, self._settings.merge_again_s, self._is_due.wait())
                self._is_due.clear()

    async def _compared(self) -> bool:
        """Compare some memories with the others; False when none is left.

        Raises what embedding and the ledger raise: then nothing can be compared for now.
        """
        waiting = await self._records.read(partial(memory_merge.list_due, limit=BULK))
        done = 0
        for each in waiting:
            try:
                vector = await self._planner.embed_text(each.text)
            except Unembeddable:  # no model takes it, and it must not keep the others waiting
                await self._records.write(partial(memory_merge.mark_compared, memory_id=each.id))
                done += 1
                continue
            async with self._lineup.turn(MergeScope.from_memory(each), vector):
                plan = await self._planner.plan(each, vector, is_new=False)
                how = How(NAME, self._clock.now(), self._planner.model)
                done += await self._publisher.write(partial(self._absorbed, plan, how))
        return done > 0

    def _absorbed(
        self, plan: MergePlan, how: How, connection: Connection
    ) -> tuple[bool, list[Event[Payload]]]:
        """Write what became of a memory that was saved before; False when it does not hold."""
        holds = memory_merge.commit(connection, plan, how)
        return holds, self._said(plan) if holds else []

    def _said(self, plan: MergePlan) -> list[Event[Payload]]:
        """Return what is said of a plan: what was saved, and what it became one with."""
        said: list[Event[Payload]] = []
        if plan.is_new:
            said.append(self._publisher.make_event(topics.MEMORY_REMEMBERED, Ids((plan.first.id,))))
        if plan.steps:
            merged = Ids((plan.last.id, plan.first.id, *plan.absorbed))
            said.append(self._publisher.make_event(topics.MEMORY_MERGED, merged))
        return said


def _superseded(
    connection: Connection, wish: RememberRequest, *, is_new: bool = True
) -> tuple[str, ...]:
    """Return the active memories that a wish takes the place of."""
    return memory_merge.list_replaced(
        connection, wish.supersedes, wish.caller, agent=wish.agent, is_new=is_new
    )


def _existing(known: Memory) -> Remembered:
    """Return the answer to something that is known."""
    return Remembered(known.id, "existing", known.layer, known.realm, known.agent_id)


def _added(connection: Connection, known: Memory, wish: RememberRequest, how: How) -> Remembered:
    """Give something that is known what is new of a wish; return the answer to it."""
    old = _superseded(connection, wish, is_new=False)
    return replace(
        _existing(known),
        superseded=memory_merge.replace_memory(connection, old, known.id, how),
        tags_added=memory_records.add_tags(connection, known, wish.tags),
        asked=wish.layer,
    )


def _told(plan: MergePlan, replaced: tuple[str, ...] = ()) -> Remembered:
    """Return what became of a wish that was written."""
    last = plan.last
    return Remembered(
        last.id,
        "merged" if plan.steps else "saved",
        last.layer,
        last.realm,
        last.agent_id,
        merged=plan.absorbed,
        pending=plan.first.merge_due,
        superseded=replaced,
        conflicts=tuple((each.memory_id, each.why) for each in plan.clashes),
    )


def compare_soon(archivist: NamedActor[Archivist]) -> None:
    """Have compared soon what waits for it; if there is no room, the clock brings it about."""
    with suppress(MailboxFull):
        archivist.tell(Archivist.look)

"""What is written of how memories are read: accesses, attention, and when one is ripe.

The attention that is stored is what the formula gave when it was weighed last; it serves lists and
shows what has changed since. A decision uses the formula's value of now (`search/presence.py` is
that as SQL).

How memories sink from layer to layer: by being read, by their age, by several saying the same.

A memory sinks by one layer at a time, in the transaction that finds that it may. Into the
cortex leads what several agents were found to say: it may have been found before the memory came
to the layer above, and counts then, too.

Tending: memories are weighed again, sink when they have earned it, and may be put away.

Each is done a little at a time, in transactions of their own, so that others write between two of
them; what a crash cuts off is done by the next run. What is said of a part commits with it. With
`dry_run` nothing is written, and the answer is what would be done. Conditions on rows of `memories`
narrow all of it: an agent tends its own memories alone.

Weighing: the attention that is stored is brought up to date, and what has faded is found.

A memory has faded when it has as little attention as it will ever have. Pinned ones never do, nor
does what lies in the cortex.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select

from cortex_actors.clock import DAY, Clock, count_days
from cortex_actors.domain.event import Event, Ids, Payload, split_ids
from cortex_actors.domain.memory import PROBE, ChangeKind, Layer, MemoryStatus, MemoryType
from cortex_actors.rules import decay
from cortex_actors.rules.convergence import CONSENSUS
from cortex_actors.rules.decay import CLOSE, WHOLE, Decay, Earning, Judged, attention, find_floor
from cortex_actors.storage import memory_history
from cortex_actors.storage.memory import memory_states
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.storage.pipeline import principle_decay
from cortex_actors.storage.search.scope import match_faded
from cortex_actors.storage.tables.columns import count_rows, select_in
from cortex_actors.storage.tables.dialect import execute_many
from cortex_actors.storage.tables.schema import (
    convergence_memories,
    memories,
    memory_attention,
    memory_changes,
)
from cortex_actors.topics import MEMORY_DECAYED, MEMORY_PROMOTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.sections import MemorySettings
    from cortex_actors.storage.events import Publisher

    #: Conditions on rows of `memories`.
    Where: TypeAlias = tuple[ColumnElement[bool], ...]
    Said: TypeAlias = list[Event[Payload]]

_READ = (
    "UPDATE memory_attention SET access_count = ?, accessed_at = ?, attention = ?, weighed_at = ?"
    " WHERE memory_id = ?"
)
_WEIGHED = "UPDATE memory_attention SET attention = ?, weighed_at = ? WHERE memory_id = ?"
_DUE = "UPDATE memory_attention SET due_at = ? WHERE memory_id = ?"


@dataclass(frozen=True, slots=True)
class AccessCount:
    """How often a memory was read, and when last (UTC microseconds)."""

    count: int
    at: int

    def add(self, count: int, at: int) -> AccessCount:
        """Return this and another one together."""
        return AccessCount(self.count + count, max(self.at, at))


class AttentionInputs(NamedTuple):
    """What attention depends on, of one active memory."""

    id: str
    layer: Layer
    created_at: int
    promoted_at: int | None
    pinned_at: int | None
    access_count: int
    accessed_at: int | None
    attention: float

    @property
    def touched_at(self) -> int:
        """When it was last said, read or promoted."""
        return max(self.created_at, self.accessed_at or 0, self.promoted_at or 0)

    def compute(self, at: int, decays: Mapping[Layer, Decay]) -> float:
        """Return its attention at a time; see `rules.attention.of`."""
        if self.pinned_at is not None:
            return WHOLE
        return attention(self.layer, at - self.touched_at, self.access_count, decays)


def load_inputs(connection: Connection, ids: Iterable[str]) -> dict[str, AttentionInputs]:
    """Return what attention depends on, of those of the memories that are active."""
    return {
        row.id: row
        for row in map(to_inputs, select_in(connection, select_inputs(), memories.c.id, ids))
    }


def count_active(connection: Connection, *where: ColumnElement[bool]) -> int:
    """Return how many active memories meet conditions."""
    return count_rows(connection, select_inputs().where(*where).subquery())


def list_ripe(connection: Connection, now: int, limit: int) -> list[AttentionInputs]:
    """Return memories that waited for their age and are old enough; the longest wait first."""
    query = select_inputs().where(memory_attention.c.due_at <= now)
    query = query.order_by(memory_attention.c.due_at, memories.c.id).limit(limit)
    return [to_inputs(row) for row in connection.execute(query)]


def select_inputs() -> Any:
    """Return the query for what attention depends on, of active memories; probes are none."""
    placed = memories.c.keys()
    tables = (memories if name in placed else memory_attention for name in AttentionInputs._fields)
    columns = (table.c[name] for table, name in zip(tables, AttentionInputs._fields, strict=True))
    query = select(*columns).join_from(memories, memory_attention)
    return query.where(memories.c.status == MemoryStatus.ACTIVE, memories.c.agent_id != PROBE)


def write_accesses(
    connection: Connection,
    readings: Mapping[str, AccessCount],
    *,
    now: int,
    decays: Mapping[Layer, Decay],
) -> list[AttentionInputs]:
    """Write down that memories were read; return how the active ones among them are now."""
    found = [
        each._replace(
            access_count=each.access_count + readings[each.id].count,
            accessed_at=max(each.accessed_at or 0, readings[each.id].at),
        )
        for each in load_inputs(connection, readings).values()
    ]
    weighed = [each._replace(attention=each.compute(now, decays)) for each in found]
    bound = [
        (each.access_count, each.accessed_at, each.attention, now, each.id) for each in weighed
    ]
    execute_many(connection, _READ, bound)
    return weighed


def note_due(connection: Connection, until: Mapping[str, int | None]) -> None:
    """Note when memories are old enough for their next layer; None where they wait for nothing."""
    execute_many(connection, _DUE, [(at, each) for each, at in until.items()])


def to_inputs(row: Sequence[Any]) -> AttentionInputs:
    """Return a row of `select_inputs` as what attention depends on."""
    return AttentionInputs(row[0], Layer(row[1]), *row[2:])


#: The words for what leads into the cortex beside a person, and for what a person has taken back.
CONVERGED = "Convergence detected"
TAKEN_BACK = Judged(None, "Promotion was undone")

#: Changes that bring a memory to a deeper layer.
STEPS = (ChangeKind.SAVE, ChangeKind.PROMOTE, ChangeKind.CRYSTALLIZE)


class Earned(NamedTuple):
    """A memory that has earned a deeper layer, and why."""

    id: str
    layer: Layer
    to: Layer
    reason: str
    access_count: int


def judge_layers(
    connection: Connection, some: Sequence[AttentionInputs], *, now: int, earning: Earning
) -> dict[str, Judged]:
    """Return which layer each memory has earned, and why, or why none.

    A step that was undone is not earned again by itself.
    """
    told = _converged(connection, [each.id for each in some if each.layer is Layer.LONG_TERM])
    found = {
        each.id: Judged(Layer.CORTEX, CONVERGED)
        if each.id in told
        else decay.judge(
            each.layer, each.access_count, age_us=now - each.created_at, earning=earning
        )
        for each in some
    }
    # Those that were brought back from the layer they would come to.
    row, wanted = memory_changes.c, [name for name, (to, _) in found.items() if to]
    query = select(row.memory_id, row.before).where(row.kind.in_(STEPS), row.undone_at.is_not(None))
    for one, before in select_in(connection, query, row.memory_id, wanted):
        if before.get("to") == found[one].to:
            found[one] = TAKEN_BACK
    return found


def list_earned(
    connection: Connection, *where: ColumnElement[bool], now: int, earning: Earning
) -> list[Earned]:
    """Return the memories that have earned a deeper layer, of those that meet conditions."""
    # Only what was read often enough, or is said by several agents, can have earned it.
    row = memories.c
    ways = [
        and_(row.layer == layer, memory_attention.c.access_count >= step.accesses)
        for layer, step in earning.steps.items()
    ]
    alike = exists().where(convergence_memories.c.memory_id == row.id)
    ways.append(and_(row.layer == Layer.LONG_TERM, alike))
    query = select_inputs().where(or_(*ways), *where).order_by(row.id)
    some = [to_inputs(row) for row in connection.execute(query)]
    found = judge_layers(connection, some, now=now, earning=earning)
    return [
        Earned(each.id, each.layer, to, reason, each.access_count)
        for each in some
        for to, reason in (found[each.id],)
        if to is not None
    ]


def sink(
    connection: Connection, some: Sequence[AttentionInputs], *, now: int, earning: Earning, by: str
) -> list[str]:
    """Move those of the memories that have earned it; return which moved, in their order.

    `some` are as they are in this transaction. Those that only wait for their age are noted.
    """
    found = judge_layers(connection, some, now=now, earning=earning)
    moved = _moved(connection, found, now=now, by=by)
    left = [each for each in some if found[each.id] != TAKEN_BACK]
    there = [
        each._replace(layer=found[each.id].to or each.layer) if each.id in moved else each
        for each in left
    ]
    # They may leave the layers they are in now without being read again. That may be at once:
    # then the schedule lets them sink on.
    alike = _converged(connection, [each.id for each in there if each.layer is Layer.LONG_TERM])
    ripe_at = {
        each.id: now
        if each.id in alike
        else decay.find_ripe_time(
            each.layer, each.access_count, said_at=each.created_at, earning=earning
        )
        for each in there
    }
    note_due(connection, dict.fromkeys(found) | ripe_at)
    return [each.id for each in some if each.id in moved]


def list_converged(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return the memories that a convergence moves into the cortex: those one layer above it.

    Of as many agents as make a consensus, those of every layer.
    """
    named = memory_history.find_current(connection, ids).values()
    found = load_inputs(connection, [each for each in named if each is not None])
    said = select_in(connection, select(memories.c.agent_id), memories.c.id, ids)
    is_consensus = len({row.agent_id for row in said}) >= CONSENSUS
    return sorted(
        each.id
        for each in found.values()
        if each.layer is Layer.LONG_TERM or (is_consensus and each.layer is not Layer.CORTEX)
    )


def crystallise(connection: Connection, ids: Iterable[str], *, now: int, by: str) -> list[str]:
    """Move memories into the cortex that several agents say alike; return which moved."""
    found = dict.fromkeys(list_converged(connection, ids), Judged(Layer.CORTEX, CONVERGED))
    return sorted(_moved(connection, found, now=now, by=by))


def _moved(connection: Connection, found: Mapping[str, Judged], *, now: int, by: str) -> set[str]:
    """Move memories to the layers they have earned; return which moved."""
    by_reason: dict[str, dict[str, Layer]] = defaultdict(dict)
    for memory_id, (to, reason) in found.items():
        if to is not None:
            by_reason[reason][memory_id] = to
    return {
        each
        for reason, moves in by_reason.items()
        for each in memory_history.deepen(
            connection, moves, at=now, by=by, kind=ChangeKind.PROMOTE, reason=reason
        )
    }


def _converged(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Return which of the memories several agents were found to agree with."""
    column = convergence_memories.c.memory_id
    return {row.memory_id for row in select_in(connection, select(column), column, ids)}


#: How far a memory's attention must have moved to be written again (the document's).
MOVED = 0.01

#: Memories that one query reads.
PAGE = 1_000


def has_faded(memory: AttentionInputs, attention: float, decays: Mapping[Layer, Decay]) -> bool:
    """Tell whether a memory has, with that attention, faded as far as it can."""
    if memory.layer not in decays or memory.pinned_at is not None:
        return False
    return attention <= find_floor(memory.layer, memory.access_count, decays) + CLOSE


def _weighed(
    some: Iterable[AttentionInputs], now: int, decays: Mapping[Layer, Decay]
) -> tuple[dict[str, float], list[str], int]:
    """Return the attention that is another one than is stored, by id.

    And which of these have faded by it and had not by what is stored, and how many have of all.
    """
    found = [(each, each.compute(now, decays)) for each in some]
    moved = [(each, new) for each, new in found if abs(new - each.attention) > MOVED]
    faded = [
        each.id
        for each, new in moved
        if has_faded(each, new, decays) and not has_faded(each, each.attention, decays)
    ]
    below = sum(has_faded(each, new, decays) for each, new in found)
    return {each.id: new for each, new in moved}, faded, below


#: Memories that one unit of work writes (the document's).
BATCH = 100

#: The words for why a memory is put away.
FADED = "Faded for"


class WeighedMemories(NamedTuple):
    """What weighing came to: memories looked at, those updated, and those that have faded by now.

    `faded` are how many of these had not when they were weighed before.
    """

    total: int = 0
    updated: int = 0
    below: int = 0
    faded: int = 0


@dataclass(frozen=True, slots=True)
class Sunk:
    """How many memories were looked at, which have earned a deeper layer, and which are there."""

    total: int
    eligible: tuple[Earned, ...]
    promoted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tending:
    """Does it, by the settings and in the name it was handed."""

    publisher: Publisher
    clock: Clock
    settings: MemorySettings
    #: Who does it.
    by: str

    async def weigh(self, *where: ColumnElement[bool], dry_run: bool = False) -> WeighedMemories:
        """Write the attention that memories have now where it has moved; say which have faded."""

        def look(connection: Connection) -> tuple[str, WeighedMemories, list[str]]:
            query = (
                select_inputs()
                .where(memories.c.id > after, *where)
                .order_by(memories.c.id)
                .limit(PAGE)
            )
            some = [to_inputs(row) for row in connection.execute(query)]
            moved, faded, below = _weighed(some, self.clock.now(), self.settings.decays)
            last = some[-1].id if some else ""
            return last, WeighedMemories(len(some), len(moved), below, len(faded)), list(moved)

        def work(ids: Sequence[str], connection: Connection) -> tuple[None, Said]:
            now, active = self.clock.now(), load_inputs(connection, ids).values()
            moved, faded, _ = _weighed(active, now, self.settings.decays)
            bound = [(attention, now, each) for each, attention in moved.items()]
            execute_many(connection, _WEIGHED, bound)
            return None, self._told(MEMORY_DECAYED, faded)

        sums, after = WeighedMemories(), ""
        while (found := await self.publisher.records.read(look))[0]:
            after, seen, moved = found
            sums = WeighedMemories(*(one + more for one, more in zip(sums, seen, strict=True)))
            for some in () if dry_run else split_ids(moved, BATCH):
                await self.publisher.write(partial(work, some))
        return sums

    async def sink_ripe(self) -> list[str]:
        """Let memories sink that only waited for their age; costs what is ripe, and no more."""
        moved: list[str] = []
        # Where none is ripe, nothing is written.
        while await self.publisher.records.read(lambda c: list_ripe(c, self.clock.now(), 1)):
            moved += await self.publisher.write(
                lambda c: self._sunk(c, list_ripe(c, self.clock.now(), BATCH))
            )
        return moved

    async def sink(self, *where: ColumnElement[bool], dry_run: bool = False) -> Sunk:
        """Let every memory sink that has earned it, by one layer."""

        def look(connection: Connection) -> Sunk:
            found = list_earned(
                connection, *where, now=self.clock.now(), earning=self.settings.earning
            )
            return Sunk(count_active(connection, *where), tuple(found))

        def work(ids: Sequence[str], connection: Connection) -> tuple[list[str], Said]:
            return self._sunk(connection, list(load_inputs(connection, ids).values()))

        found = await self.publisher.records.read(look)
        moved: list[str] = []
        for some in () if dry_run else split_ids([each.id for each in found.eligible], BATCH):
            moved += await self.publisher.write(partial(work, some))
        return replace(found, promoted=tuple(moved))

    async def archive(
        self, days: float, *where: ColumnElement[bool], dry_run: bool = False
    ) -> list[str]:
        """Put memories away that have lain faded for so many days; none for 0 days.

        Each is a change that can be undone. The time is that of the ledger's last events where the
        clock is ahead of them: a clock that is wrong must not make everything old.
        """

        def look(connection: Connection) -> list[str]:
            return self._idle(connection, days, memories.c.id > after, *where)

        def work(ids: Sequence[str], connection: Connection) -> tuple[list[str], Said]:
            # One may have been read meanwhile.
            still = self._idle(connection, days, memories.c.id.in_(ids))
            at, reason = self.clock.now(), f"{FADED} {count_days(days)}"
            away = memory_states.archive(connection, still, at)
            changes = (
                MemoryChange(ChangeKind.ARCHIVE, each, by=self.by, at=at, reason=reason)
                for each in away
            )
            memory_history.note(connection, *changes)
            return away, []

        gone: list[str] = []
        after = ""
        while days > 0 and (some := await self.publisher.records.read(look)):
            after = some[-1]
            gone += some if dry_run else await self.publisher.write(partial(work, some))
        return gone

    def _sunk(
        self, connection: Connection, some: Sequence[AttentionInputs]
    ) -> tuple[list[str], Said]:
        now = self.clock.now()
        moved = sink(connection, some, now=now, earning=self.settings.earning, by=self.by)
        return moved, self._told(MEMORY_PROMOTED, moved)

    def _idle(self, connection: Connection, days: float, *where: ColumnElement[bool]) -> list[str]:
        """Return the next memories that have lain faded for so many days; by their ids.

        Profiles of agents are left out: what an agent is does not fade.
        """
        row = memories.c
        before = principle_decay.get_today(connection, self.clock.now()) - round(days * DAY)
        query = select(row.id).where(
            row.status == MemoryStatus.ACTIVE,
            row.type != MemoryType.AGENT_PROFILE,
            row.agent_id != PROBE,
            match_faded(before, self.settings.decays),
            *where,
        )
        return list(connection.execute(query.order_by(row.id).limit(BATCH)).scalars())

    def _told(self, topic: str, ids: Sequence[str]) -> Said:
        """Return what is said of memories; nothing of none."""
        return [self.publisher.make_event(topic, Ids(tuple(ids)))] if ids else []

"""How memories sink from layer to layer: by being read, by their age, by several saying the same.

A memory sinks by one layer at a time, in the transaction of whoever finds that it may. Into the
cortex leads what several agents were found to say: it may have been found before the memory came
to the layer above, and counts then, too.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select

from cortex_actors.domain.memory import ChangeKind, Layer
from cortex_actors.rules import decay
from cortex_actors.rules.decay import Judged
from cortex_actors.storage import attending, lineage, memorylayers
from cortex_actors.storage.schema import (
    convergence_memories,
    memories,
    memory_attention,
    memory_changes,
)
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.rules.decay import Earning
    from cortex_actors.storage.attending import Held

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


def judged(
    connection: Connection, some: Sequence[Held], *, now: int, earning: Earning
) -> dict[str, Judged]:
    """Return which layer each memory has earned, and why, or why none.

    A step that somebody has undone is not earned again by itself.
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
    for each in _taken_back(connection, {name: to for name, (to, _) in found.items() if to}):
        found[each] = TAKEN_BACK
    return found


def earned(
    connection: Connection, *where: ColumnElement[bool], now: int, earning: Earning
) -> list[Earned]:
    """Return the memories that have earned a deeper layer, of those that meet conditions."""
    query = attending.rows().where(_promising(earning), *where).order_by(memories.c.id)
    some = [attending.as_held(row) for row in connection.execute(query)]
    found = judged(connection, some, now=now, earning=earning)
    return [
        Earned(each.id, each.layer, to, reason, each.access_count)
        for each in some
        for to, reason in (found[each.id],)
        if to is not None
    ]


def sink(
    connection: Connection,
    some: Sequence[Held],
    *,
    now: int,
    earning: Earning,
    by: str,
) -> list[str]:
    """Move those of the memories that have earned it; return which moved, in their order.

    `some` are as they are in this transaction. Those that only wait for their age are noted.
    """
    found = judged(connection, some, now=now, earning=earning)
    moved = _moved(connection, found, now=now, by=by)
    left = [each for each in some if found[each.id] != TAKEN_BACK]
    there = [
        each._replace(layer=found[each.id].to or each.layer) if each.id in moved else each
        for each in left
    ]
    attending.wait(connection, dict.fromkeys(found) | _ripe(connection, there, now, earning))
    return [each.id for each in some if each.id in moved]


def converged(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return the memories that a convergence moves into the cortex: those one layer above it."""
    named = lineage.current(connection, ids).values()
    found = attending.held(connection, [each for each in named if each is not None])
    return sorted(each.id for each in found.values() if each.layer is Layer.LONG_TERM)


def crystallise(connection: Connection, ids: Iterable[str], *, now: int, by: str) -> list[str]:
    """Move memories into the cortex that several agents say alike; return which moved."""
    found = converged(connection, ids)
    return sorted(
        _moved(
            connection, {each: Judged(Layer.CORTEX, CONVERGED) for each in found}, now=now, by=by
        )
    )


def _ripe(
    connection: Connection, some: Sequence[Held], now: int, earning: Earning
) -> dict[str, int | None]:
    """Return when memories may leave the layers they are in now, without being read again.

    That may be at once: then the schedule lets them sink on.
    """
    alike = _converged(connection, [each.id for each in some if each.layer is Layer.LONG_TERM])
    return {
        each.id: now
        if each.id in alike
        else decay.ripe_at(each.layer, each.access_count, said_at=each.created_at, earning=earning)
        for each in some
    }


def _promising(earning: Earning) -> ColumnElement[bool]:
    """Return the condition that a memory was read often enough, or is said by several agents."""
    row, told = memories.c, convergence_memories.c.memory_id
    often = [
        and_(row.layer == layer, memory_attention.c.access_count >= step.accesses)
        for layer, step in earning.steps.items()
    ]
    alike = and_(row.layer == Layer.LONG_TERM, exists().where(told == row.id))
    return or_(*often, alike)


def _moved(connection: Connection, found: Mapping[str, Judged], *, now: int, by: str) -> set[str]:
    """Move memories to the layers they have earned; return which moved."""
    by_reason: dict[str, dict[str, Layer]] = defaultdict(dict)
    for memory_id, (to, reason) in found.items():
        if to is not None:
            by_reason[reason][memory_id] = to
    return {
        each
        for reason, moves in by_reason.items()
        for each in memorylayers.deepen(
            connection, moves, at=now, by=by, kind=ChangeKind.PROMOTE, reason=reason
        )
    }


def _taken_back(connection: Connection, wanted: Mapping[str, Layer]) -> set[str]:
    """Return which memories were brought back from the layer they would come to."""
    row = memory_changes.c
    query = select(row.memory_id, row.before).where(row.kind.in_(STEPS), row.undone_at.is_not(None))
    return {
        memory_id
        for some in chunks(wanted)
        for memory_id, before in connection.execute(query.where(row.memory_id.in_(some)))
        if before.get("to") == wanted[memory_id]
    }


def _converged(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Return which of the memories several agents were found to agree with."""
    row = convergence_memories.c.memory_id
    return {
        each
        for some in chunks(ids)
        for each in connection.execute(select(row).where(row.in_(some))).scalars()
    }

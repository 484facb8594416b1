"""Idleness: memories that nobody has read for long, and how the memories of a realm are.

Both look at every active memory there is: they are asked by people, now and then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, case, func, select

from cortex_actors.domain.memory import Layer, MemoryStatus, Realm
from cortex_actors.storage import attending, sinking
from cortex_actors.storage.schema import memories, memory_attention
from cortex_actors.storage.search.presence import present

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement

    from cortex_actors.rules.decay import Decay, Earning

#: Decimals of a mean attention (the document's).
_DECIMALS = 3


class Idle(NamedTuple):
    """A memory that nobody has read for long; its text is only as long as it was asked for."""

    id: str
    text: str
    realm: Realm
    agent_id: str
    last_at: int
    held: attending.Held


@dataclass(slots=True)
class RealmHealth:
    """How the memories of one realm are."""

    total: int = 0
    by_layer: dict[Layer, int] = field(default_factory=lambda: dict.fromkeys(Layer, 0))
    avg_attention: float = 0.0
    stale_count: int = 0
    promotion_candidates: int = 0


def idle(
    connection: Connection, *where: ColumnElement[bool], before: int, limit: int, letters: int
) -> tuple[list[Idle], int]:
    """Return memories that were last read, or said, before a time, and how many there are.

    The longest idle first, and of that order the first `limit`; `letters` is how much of each text
    is told.
    """
    row = memories.c
    there = attending.rows().where(_last() < before, *where)
    query = there.add_columns(
        func.substr(row.text, 1, letters).label("text"), row.realm, row.agent_id, _last()
    )
    some = connection.execute(query.order_by(_last(), row.id).limit(limit)).all()
    total = connection.execute(select(func.count()).select_from(there.subquery())).scalar_one()
    return [_idle(each) for each in some], int(total)


def health(
    connection: Connection,
    *where: ColumnElement[bool],
    before: int,
    now: int,
    earning: Earning,
) -> dict[Realm, RealmHealth]:
    """Return how the memories of each realm are; those count as stale that `idle` would name.

    The mean attention is that of when they were weighed last.
    """
    row, found = memories.c, {realm: RealmHealth() for realm in Realm}
    sums: dict[Realm, float] = dict.fromkeys(Realm, 0.0)
    query = (
        select(
            row.realm,
            row.layer,
            func.count(),
            func.total(memory_attention.c.attention),
            func.sum(case((_last() < before, 1), else_=0)),
        )
        .join_from(memories, memory_attention)
        .where(row.status == MemoryStatus.ACTIVE, *where)
        .group_by(row.realm, row.layer)
    )
    for realm, layer, count, attention, stale in connection.execute(query):
        here = found[Realm(realm)]
        here.total += count
        here.by_layer[Layer(layer)] = count
        here.stale_count += stale
        sums[Realm(realm)] += attention
    for realm, here in found.items():
        here.avg_attention = round(sums[realm] / here.total, _DECIMALS) if here.total else 0.0
        earned = sinking.earned(connection, row.realm == realm, *where, now=now, earning=earning)
        here.promotion_candidates = len(earned)
    return found


def faint(least: float, now: int, decays: Mapping[Layer, Decay]) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that it has less attention than that."""
    return ~present(least, now, decays)


def _last() -> ColumnElement[int]:
    """Return when a memory was read last, or else said."""
    return func.coalesce(memory_attention.c.accessed_at, memories.c.created_at)


def _idle(row: Any) -> Idle:
    """Return a row of `idle`."""
    *held, text, realm, agent_id, last = row
    return Idle(
        id=row.id,
        text=text,
        realm=Realm(realm),
        agent_id=agent_id,
        last_at=last,
        held=attending.as_held(held),
    )

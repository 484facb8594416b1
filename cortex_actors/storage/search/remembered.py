"""Remembered: memories as answers, with everything that is known of them.

All memories of an answer are looked up at once: how many reads that takes does not depend on how
many they are. What whoever asks may not read is named nowhere, not even by its id.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, or_, select, text

from cortex_actors.clock import iso
from cortex_actors.domain.hit import Hit
from cortex_actors.domain.memory import PROBE, Memory, MemoryStatus, Realm
from cortex_actors.rules import decay as attention
from cortex_actors.storage import agent_records, memory_records, similar_memories
from cortex_actors.storage.schema import beliefs
from cortex_actors.storage.schema import memories as rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.storage.search.query import Query, Where

#: How many original memories each whole was made of, down all merges. A pair of a whole and a part
#: comes once, so that not even a damaged ledger, in which parts go round, keeps this going.
_ORIGINALS = text(
    "WITH RECURSIVE below(whole, id) AS ("
    " SELECT merged_into, id FROM memories"
    " WHERE merged_into IN (SELECT value FROM json_each(:wholes))"
    " UNION SELECT below.whole, m.id FROM below"
    " CROSS JOIN memories AS m ON m.merged_into = below.id)"
    " SELECT whole, count(*) AS parts FROM below"
    " WHERE NOT EXISTS (SELECT 1 FROM memories AS p WHERE p.merged_into = below.id)"
    " GROUP BY whole"
)

#: The time of day in a moment as ISO 8601 has it.
_TIME = slice(11, 19)


def remembered(
    connection: Connection, ids: Sequence[str], scores: Mapping[str, float], query: Query
) -> list[Hit]:
    """Return memories that whoever asks may read; what is no longer active, only of the past."""
    states = (MemoryStatus.ACTIVE,) if query.past is None else tuple(MemoryStatus)
    known = memory_records.read(connection, ids, states)
    seen = [known[each] for each in ids if each in known and _may_read(known[each], query)]
    around = _around(connection, seen, query)
    return [
        Hit(
            id=each.id,
            text=each.text,
            score=scores[each.id],
            store=memory_records.COLLECTIONS[each.realm],
            extra=_told(each, around, query),
        )
        for each in seen
    ]


@dataclass(slots=True)
class _Around:
    """What lies around the memories of an answer, looked up for all of them at once."""

    #: Agent -> what it is called.
    names: dict[str, str] = field(default_factory=dict)
    #: Memory -> active ones that contradict it.
    conflicts: dict[str, list[str]] = field(default_factory=dict)
    #: Memory -> how many original ones it was made of.
    parts: dict[str, int] = field(default_factory=dict)
    #: Memory -> since when until when it was believed, where that was asked.
    beliefs: dict[str, dict[str, int | None]] = field(default_factory=dict)
    #: Memories that are answered and may be named.
    named: set[str] = field(default_factory=set)


def _around(connection: Connection, seen: Sequence[Memory], query: Query) -> _Around:
    """Look up what lies around memories."""
    if not seen:
        return _Around()
    ids = [each.id for each in seen]
    parts = connection.execute(_ORIGINALS, {"wholes": json.dumps(ids)})
    replied = [each for memory in seen for each in memory.replies_to]
    return _Around(
        names=agent_records.displays(connection, [each.agent_id for each in seen]),
        conflicts=_conflicts(connection, ids, query.where),
        parts={row.whole: row.parts for row in parts},
        beliefs=_beliefs(connection, ids, query),
        named=_readable(connection, replied, query.where),
    )


def _may_read(memory: Memory, query: Query) -> bool:
    """Tell whether whoever asks may read a memory; nobody but the daemon itself reads a probe."""
    reader = query.where.reader
    if query.where.outward and memory.realm is not Realm.VILLAGE:
        return False
    if reader is None:
        return memory.agent_id != PROBE
    return memory.readers is None or reader in memory.readers


def _conflicts(connection: Connection, ids: Sequence[str], where: Where) -> dict[str, list[str]]:
    """Return the active memories that contradict each, which nobody has decided about."""
    standing = similar_memories.standing(connection, ids)
    others = {other for pairs in standing.values() for other, _ in pairs}
    known = _readable(connection, others, where)
    return {
        each: sorted(other for other, _ in pairs if other in known)
        for each, pairs in standing.items()
    }


def _readable(connection: Connection, ids: Iterable[str], where: Where) -> set[str]:
    """Return those of some memories that whoever asks may read."""
    wanted = sorted(set(ids))
    if not wanted:
        return set()
    query = select(rows.c.id).where(rows.c.id.in_(wanted), memory_records.readable(where.reader))
    if where.outward:
        query = query.where(memory_records.shared())
    return set(connection.execute(query).scalars())


def _beliefs(
    connection: Connection, ids: Sequence[str], query: Query
) -> dict[str, dict[str, int | None]]:
    """Return since when until when memories were believed, about the moment that was asked for."""
    if query.past is None or query.past.as_of is None:
        return {}
    moment = query.past.as_of
    held = beliefs.c
    open_then = and_(held.began_at <= moment, or_(held.ended_at.is_(None), held.ended_at > moment))
    found = select(beliefs).where(held.memory_id.in_(ids), open_then)
    return {
        row.memory_id: {"believed_from": row.began_at, "believed_until": row.ended_at}
        for row in connection.execute(found)
    }


def _told(memory: Memory, around: _Around, query: Query) -> dict[str, Any]:
    """Return what an answer says of a memory."""
    decay = query.decays.get(memory.layer)
    present = attention.of(memory, query.now, query.decays)
    return {
        "agent": memory.agent_id,
        "agent_display": around.names[memory.agent_id],
        "realm": str(memory.realm),
        "layer": str(memory.layer),
        "type": str(memory.type),
        "status": str(memory.status),
        "trust": str(memory.trust),
        "role": memory.role,
        "thread": memory.thread,
        "tags": list(memory.tags),
        "related_agents": list(memory.related),
        "responding_to": [each for each in memory.replies_to if each in around.named],
        "created_at": memory.created_at,
        "at": iso(memory.created_at),
        "time_range": time_range(memory.said_from, memory.said_until),
        "said_from": memory.said_from,
        "said_until": memory.said_until,
        "promoted_at": memory.promoted_at,
        # Hours until half of its attention is left; what does not fade has none.
        "decay_rate": None if decay is None else decay.half_life_h,
        "attention": round(present, 4),
        "access_count": memory.access_count,
        "pinned": memory.pinned_at is not None,
        "abstract": memory.abstract,
        "summary": memory.summary,
        "merged_from": around.parts.get(memory.id, 0),
        "conflicts": around.conflicts.get(memory.id, []),
        **around.beliefs.get(memory.id, {}),
    }


def time_range(begun: int | None, ended: int | None) -> str | None:
    """Return the hours of a day (UTC) that a memory tells of; None where nobody said so."""
    if begun is None or ended is None:
        return None
    return " - ".join(iso(each)[_TIME] for each in (begun, ended))

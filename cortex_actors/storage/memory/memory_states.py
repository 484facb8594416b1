"""The states of a memory: the one place where one changes.

What a memory's row says, by which texts it is found, and since when until when it was believed
change together, in the transaction of the connection. A memory that is not in the state that a
change begins with is left alone: every function returns the ids that did change. None notes the
change for undoing (`memory_history.note` does): the caller knows who did it.

    active -> merged      into a whole        -> active when that is taken apart
    active -> superseded  by what holds now   -> active when it is restored
    active -> archived                        -> active when it is restored

Pairs that a person parted: they are not made one by themselves again.

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select

from cortex_actors.domain.memory import MERGEABLE, Memory, MemoryStatus
from cortex_actors.errors import Refused
from cortex_actors.storage import agent_records, memory_records
from cortex_actors.storage.tables import schema
from cortex_actors.storage.tables.columns import change_in, group_pairs, put_rows
from cortex_actors.storage.tables.dialect import execute_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.insight import Decider


_ACTIVE, _ID = MemoryStatus.ACTIVE, schema.memories.c.id

#: What a row says of a state that is not that of an active memory.
_ENDINGS = ("merged_", "replaced_", "archived_")
NOTHING: dict[str, Any] = {
    each.name: None for each in schema.memories.c if each.name.startswith(_ENDINGS)
}

#: Columns that only the ledger needs, or that a memory itself knows.
_PLACES = {"merged_as", "replaced_by"}

_ONCE = ", ".join(f"'{each}'" for each in MERGEABLE)

#: Of memories that are to be active, one whose text another one says that is so, or is to be.
_TWINS = (
    "WITH wanted(id) AS (SELECT value FROM :each(?1) AS j) SELECT m.id, t.id FROM wanted"  # noqa: S608 - words of the domain
    " JOIN memories AS m ON m.id = wanted.id JOIN memories AS t ON t.text_hash = m.text_hash"
    " AND t.realm = m.realm AND t.agent_id = m.agent_id AND t.thread = m.thread"
    " AND t.project_id = m.project_id AND t.id <> m.id"
    f" WHERE m.realm <> 'bridge' AND m.type IN ({_ONCE}) AND t.type IN ({_ONCE})"
    " AND (t.status = 'active' OR t.id IN (SELECT id FROM wanted)) AND t.id <> ?2"
    " ORDER BY m.id, t.id LIMIT 1"
)


#: Runs at each remember: building it each time would cost more than running it.
_STATES = "SELECT id, status, pinned_at FROM memories WHERE id IN :ids"


def write_whole(
    connection: Connection,
    whole: Memory,
    part_ids: Sequence[str],
    *,
    at: int,
    by: Decider,
    why: str | None = None,
) -> list[str]:
    """Write a new memory that says what several do, and make these its parts.

    It may have the words of one of them: which of two active memories with the same words is the
    one, never has to be decided. Returns the parts; without any, the whole is active all the same.
    """
    agent_records.add_agents(connection, (whole.agent_id, *whole.related), at=whole.created_at)
    memory_records.write(connection, [replace(whole, status=MemoryStatus.ARCHIVED)])
    parts = _into(connection, whole.id, part_ids, at=at, by=by, why=why)
    _become_active(connection, [whole.id], at)
    memory_records.settle(connection, [*parts, whole.id])
    return parts


def merge(
    connection: Connection, whole_id: str, part_ids: Sequence[str], *, at: int, by: Decider
) -> list[str]:
    """Make active memories parts of another active one, behind those that it has."""
    if not _in(connection, [whole_id], (_ACTIVE,)):
        return []
    wanted = [each for each in part_ids if each != whole_id]
    parts = _into(connection, whole_id, wanted, at=at, by=by)
    memory_records.settle(connection, parts)
    return parts


def take_apart(
    connection: Connection, whole_id: str, part_ids: Sequence[str], *, at: int, keep: bool = False
) -> list[str]:
    """Make parts of a whole active again, and archive the whole unless it is to be kept.

    Raises `Refused` where another memory says by now what a part says.
    """
    inside = schema.memories.c.merged_into == whole_id
    rows = connection.execute(select(schema.memories.c.id).where(inside)).scalars().all()
    parts = [each for each in dict.fromkeys(part_ids) if each in set(rows)]
    _require_free(connection, parts, leaving="" if keep else whole_id)
    gone = [] if keep else _take_out(connection, [whole_id], at)
    _become_active(connection, parts, at)
    if not keep:  # what cannot hold beside one of them was found for the whole
        change_in(connection, _ID, parts, {"merge_due": 1})
    memory_records.settle(connection, [*gone, *parts])
    return parts


def supersede(connection: Connection, old_id: str, new_id: str, at: int) -> list[str]:
    """Let an active memory be replaced by another active one, which says what holds now."""
    both = _in(connection, [old_id, new_id], (_ACTIVE,))
    if old_id == new_id or new_id not in both or old_id not in both:
        return []
    values = {"status": MemoryStatus.SUPERSEDED, "replaced_by": new_id, "replaced_at": at}
    change_in(connection, _ID, [old_id], values)
    memory_records.end_beliefs(connection, [old_id], at)
    memory_records.settle(connection, [old_id])
    return [old_id]


def archive(connection: Connection, ids: Sequence[str], at: int) -> list[str]:
    """Take active memories out of what is found; their rows stay, so that they can come back."""
    gone = _take_out(connection, ids, at)
    memory_records.settle(connection, gone)
    return gone


def restore(connection: Connection, ids: Sequence[str], at: int) -> list[str]:
    """Let archived and superseded memories be found again.

    Raises `Refused` where another memory says by now what one of them says.
    """
    back = _in(connection, ids, (MemoryStatus.ARCHIVED, MemoryStatus.SUPERSEDED))
    _require_free(connection, back)
    _become_active(connection, back, at)
    memory_records.settle(connection, back)
    return back


def put_away(connection: Connection, ids: Sequence[str], at: int) -> list[str]:
    """Archive superseded memories whose successor is about to be forgotten."""
    those = _in(connection, ids, (MemoryStatus.SUPERSEDED,))
    values = {**NOTHING, "status": MemoryStatus.ARCHIVED, "archived_at": at}
    change_in(connection, _ID, those, values)
    return those


def load_moments(connection: Connection, memory_id: str) -> dict[str, Any]:
    """Return since when a memory is in its state, into what it was merged, by whom and why."""
    row = schema.memories.c
    query = select(*(row[each] for each in NOTHING if each not in _PLACES))
    return dict(connection.execute(query.where(row.id == memory_id)).mappings().one())


def _into(
    connection: Connection,
    whole_id: str,
    part_ids: Sequence[str],
    *,
    at: int,
    by: Decider,
    why: str | None = None,
) -> list[str]:
    """Write active memories as the next parts of a whole; those that are pinned stay."""
    row = schema.memories.c
    parts = _in(connection, part_ids, (_ACTIVE,), pinned=False)
    last = select(func.max(row.merged_as)).where(row.merged_into == whole_id)
    place = connection.execute(last).scalar()
    how = {"merged_into": whole_id, "merged_at": at, "merged_by": by, "merged_why": why}
    for number, each in enumerate(parts, start=0 if place is None else place + 1):
        values = {**how, "status": MemoryStatus.MERGED, "merged_as": number}
        change_in(connection, _ID, [each], values)
    memory_records.end_beliefs(connection, parts, at)
    return parts


def _take_out(connection: Connection, ids: Sequence[str], at: int) -> list[str]:
    """Archive active memories, but for their passages."""
    gone = _in(connection, ids, (_ACTIVE,))
    change_in(connection, _ID, gone, {"status": MemoryStatus.ARCHIVED, "archived_at": at})
    memory_records.end_beliefs(connection, gone, at)
    return gone


def _require_free(connection: Connection, ids: Sequence[str], *, leaving: str = "") -> None:
    """Raise `Refused` where memories cannot be active again: another one says the same by now."""
    twins = execute_for(connection, _TWINS, ids, leaving).fetchone()
    if twins is not None:
        mine, other = twins
        raise Refused(
            f"cannot bring {mine} back: {other} says the same by now; archive or forget that "
            "first, or leave it as it is"
        )


def _become_active(connection: Connection, ids: Sequence[str], at: int) -> None:
    """Write memories as active, and that they are believed since then."""
    change_in(connection, _ID, ids, {**NOTHING, "status": _ACTIVE})
    memory_records.begin_beliefs(connection, ids, at)


def _in(
    connection: Connection,
    ids: Iterable[str],
    states: Sequence[MemoryStatus],
    *,
    pinned: bool = True,
) -> list[str]:
    """Return those of the memories that are in one of those states, in their order.

    Without those that are pinned, where they do not count.
    """
    wanted = list(dict.fromkeys(ids))
    rows = execute_for(connection, _STATES, wanted)
    found = {name for name, state, pin in rows if state in states and (pinned or pin is None)}
    return [each for each in wanted if each in found]


#: Each candidate of a merge is asked about: building it each time would cost more than it does.
_OF = "SELECT left_id, right_id FROM memory_apart WHERE left_id IN :ids OR right_id IN :ids"


def keep_apart(
    connection: Connection, ids: Sequence[str], *, at: int, reason: str | None = None
) -> None:
    """Keep some memories apart, each from every other one; what is known of a pair stays."""
    rows = [
        {"left_id": left, "right_id": right, "at": at, "reason": reason or None}
        for left, right in combinations(sorted(set(ids)), 2)
    ]
    put_rows(connection, schema.memory_apart, rows, change=())


def list_apart(connection: Connection, ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the memories that each of those is kept apart from; those without any are left out."""
    wanted = set(ids)
    found = group_pairs(
        (mine, other)
        for left, right in execute_for(connection, _OF, wanted)
        for mine, other in ((left, right), (right, left))
        if mine in wanted
    )
    return {each: frozenset(others) for each, others in found.items()}

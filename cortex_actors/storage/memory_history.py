"""Changes: everything that was done with memories, apart from remembering and reading them.

A row says what was done, to which memory, with which others, by whom and why, and what has to be
known to undo it: columns as they were, ids, and of an edit the words before. Undoing marks the row;
nothing removes it, and of a memory that was forgotten only that is left. Every function takes the
connection of a transaction it is part of.

Lineage: what a memory was made of, and what it has become part of.

A merge is a pointer from a part to its whole (`memories.merged_into`), and wholes become parts in
turn: the pointers are followed by the database or in a loop, however many there are, and a ring of
them (written by hand) is walked once. Every function takes a connection and only reads.

Memories that come to a deeper layer, or back from it, and memories that are kept as they are.

Each is a change that can be undone: what a memory was before is written down beside what it is
now, in the transaction of the connection.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from cortex_actors.domain.memory import ChangeKind, Layer, MemoryStatus
from cortex_actors.errors import NotFound
from cortex_actors.rules.decay import is_deeper
from cortex_actors.storage.realms import match_readable
from cortex_actors.storage.tables.columns import (
    as_row,
    change_in,
    change_rows,
    group_pairs,
    load_page,
    make_entity,
)
from cortex_actors.storage.tables.dialect import execute_for
from cortex_actors.storage.tables.schema import memories, memory_attention, memory_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


#: Changes that make one memory of several: each is undone by taking the memory apart.
MERGES = (ChangeKind.MERGE, ChangeKind.CONSOLIDATE)

#: The least number of a change as an agent sees it, so 13 digits; those of rows are less.
_TOLD = 2**40

#: The reader of numbers that are not the owner's: all agents see the same number.
_AGENT = "-"

#: One look at every change, however many memories are forgotten at once.
_EMPTY = (
    "UPDATE memory_changes SET reason = NULL, before = '{}'"
    " WHERE (reason IS NOT NULL OR before <> '{}')"
    " AND (memory_id IN :ids OR EXISTS (SELECT 1 FROM"
    " :each(others) AS o WHERE o.value IN :ids))"
)


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One thing that was done.

    Attributes:
        memory_id: whom it was done to; of a merge, the whole.
        by: `owner`, an agent, or the actor that did it.
        at: UTC microseconds.
        others: the other memories it was about: parts, what replaced it.
        before: what undoing needs.
        id: its row; 0 until it is noted.
        number: its number as the reader sees it (`find_number`).
        undone_at: UTC microseconds when it was undone; None while it is in force.

    """

    kind: ChangeKind
    memory_id: str
    by: str
    at: int
    others: tuple[str, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    id: int = 0
    undone_at: int | None = None
    undone_by: str | None = None
    number: int = 0

    @property
    def is_edit(self) -> bool:
        """Whether a memory was given other words: they supersede those it holds."""
        return self.kind is ChangeKind.SUPERSEDE and isinstance(self.before.get("text"), str)

    @property
    def name(self) -> str:
        """The name of the kind that clients get."""
        return "edit" if self.is_edit else str(self.kind)


def note(connection: sa.Connection, *changes: MemoryChange) -> list[int]:
    """Write down what was done; return the numbers of the changes."""
    numbers = []
    for each in changes:
        row = as_row(memory_changes, each, before=dict(each.before), reason=each.reason or None)
        del row["id"]
        statement = sa.insert(memory_changes).values(row).returning(memory_changes.c.id)
        numbers.append(int(connection.execute(statement).scalar_one()))
    return numbers


def list_changes(
    connection: sa.Connection,
    *,
    memory: str | None = None,
    kind: ChangeKind | None = None,
    reader: str | None = None,
    limit: int = 50,
    skip: int = 0,
) -> tuple[list[MemoryChange], int]:
    """Return changes, newest first, and how many there are in all.

    Of one memory (as the others of a change, too), of a kind. With a reader, only those of memories
    that this agent may read; only the agent that forgot a memory sees that it was forgotten.
    """
    query = _narrowed(sa.select(memory_changes), memory, kind, reader)
    query = query.order_by(memory_changes.c.id.desc())
    rows, total = load_page(connection, query, limit=limit, skip=skip)
    return [_change(row, reader) for row in rows], total


def load_change(
    connection: sa.Connection, number: int, *, reader: str | None = None
) -> MemoryChange:
    """Return a change by its number as the reader saw it; the owner may give an agent's, too.

    Raises `NotFound`. An agent's number is looked for in all changes that it may see.
    """
    query = _narrowed(sa.select(memory_changes), None, None, reader)
    if abs(number) < _TOLD:
        rows = memory_changes.c.id == number if reader is None else sa.false()
        found = [_change(row, None) for row in connection.execute(query.where(rows))]
    else:
        newest = connection.execute(query.order_by(memory_changes.c.id.desc()))
        told = (_change(row, reader or _AGENT) for row in newest)
        found = [each for each in told if each.number == number][:1]
    if not found:
        raise make_unknown(number)
    return found[0]


def make_unknown(number: int) -> NotFound:
    """Return the error for a change that does not exist, or not for the reader."""
    return NotFound(f"there is no change {number}; list them with: cortex memory changes")


def is_known(connection: sa.Connection, memory_id: str, *, reader: str | None) -> bool:
    """Tell whether the reader may see changes of the memory of that id, forgotten or not."""
    query = _narrowed(sa.select(memory_changes.c.id), None, None, reader)
    of_it = query.where(memory_changes.c.memory_id == memory_id)
    return connection.execute(of_it.limit(1)).first() is not None


def find_last(
    connection: sa.Connection, memory_id: str, *kinds: ChangeKind, reader: str | None = None
) -> MemoryChange | None:
    """Return the newest change of a memory that is not undone and is of one of those kinds."""
    row = memory_changes.c
    query = sa.select(memory_changes).where(
        row.memory_id == memory_id, row.kind.in_(kinds), row.undone_at.is_(None)
    )
    found = connection.execute(query.order_by(row.id.desc()).limit(1)).one_or_none()
    return None if found is None else _change(found, reader)


def find_number(change: MemoryChange, reader: str | None) -> int:
    """Return the number of a change as the reader sees it.

    The owner sees the number of its row. Rows count the changes of all agents, so an agent would
    learn from the gaps how much others do: it sees a number made of the change itself.
    """
    if reader is None or not change.id:
        return change.id
    said = json.dumps([change.memory_id, change.kind, change.at, *change.others])
    return _TOLD + int.from_bytes(sha256(said.encode()).digest()[:5], "big")


def mark(connection: sa.Connection, number: int, *, by: str, at: int) -> None:
    """Note that a change was undone."""
    row = {"one": number, "undone_at": at, "undone_by": by}
    change_rows(connection, memory_changes, [row])


def clear_changes(connection: sa.Connection, ids: set[str]) -> None:
    """Take out of the changes of forgotten memories whatever could say what they said."""
    execute_for(connection, _EMPTY, ids)


def _narrowed(
    query: sa.Select[Any], memory: str | None, kind: ChangeKind | None, reader: str | None
) -> sa.Select[Any]:
    """Return a query for changes of one memory, of a kind, that the reader may see."""
    row = memory_changes.c
    if memory is not None:
        others = sa.cast(row.others, sa.String).like(f'%"{memory}"%')
        query = query.where(sa.or_(row.memory_id == memory, others))
    if kind is not None:
        query = query.where(row.kind == kind)
    if reader is not None:
        mine = sa.select(memories.c.id).where(
            memories.c.id == row.memory_id, match_readable(reader)
        )
        query = query.where(
            sa.or_(mine.exists(), (row.kind == ChangeKind.FORGET) & (row.by == reader))
        )
    return query


def _change(row: sa.Row[Any], reader: str | None) -> MemoryChange:
    """Return a row as a change, as the reader sees it."""
    change = make_entity(MemoryChange, row)
    return replace(change, number=find_number(change, reader))


#: Characters of the text that replace the abstract of a memory without one.
_BRIEF = 200

_UP = (
    "WITH RECURSIVE up(id, whole) AS (SELECT id, merged_into FROM memories"
    " WHERE id IN :ids"
    " UNION SELECT m.id, m.merged_into FROM up JOIN memories AS m ON m.id = up.whole)"
    " SELECT up.id, up.whole, m.status FROM up JOIN memories AS m ON m.id = up.id"
)

DOWN = (
    "WITH RECURSIVE down(id) AS (SELECT id FROM memories"
    " WHERE id IN :ids"
    " UNION SELECT m.id FROM down JOIN memories AS m ON m.merged_into = down.id)"
)
_BELOW = f"{DOWN} SELECT id FROM down"  # noqa: S608 - ours
_TREE = (
    f"{DOWN} SELECT m.id, m.merged_into, m.status,"  # noqa: S608 - ours
    f" CASE m.abstract WHEN '' THEN substr(m.text, 1, {_BRIEF}) ELSE m.abstract END"
    " FROM down JOIN memories AS m ON m.id = down.id ORDER BY m.merged_as"
)


#: What each of some memories was made of, down all merges; and the condition that it was said, and
#: not made of others. A pair comes once, so a ring of parts (written by hand) ends.
PARTS = (
    "WITH RECURSIVE below(whole, id) AS (SELECT merged_into, id FROM memories"
    " WHERE merged_into IN :ids"
    " UNION SELECT below.whole, m.id FROM below"
    " CROSS JOIN memories AS m ON m.merged_into = below.id)"
)
SAID = "NOT EXISTS (SELECT 1 FROM memories AS p WHERE p.merged_into = below.id)"


@dataclass(frozen=True, slots=True)
class LineageNode:
    """One memory of a lineage.

    Attributes:
        abstract: its abstract, else the beginning of its text.
        depth: how many wholes it lies in, as seen from where the lineage begins: 0 for that one.
        parent: the whole it is part of, within the lineage; None where this begins.
        is_leaf: whether it was remembered itself, and not made of others.

    """

    id: str
    status: MemoryStatus
    abstract: str
    depth: int
    parent: str | None
    is_leaf: bool

    @property
    def standing(self) -> str:
        """What it is: active, else a leaf, else something between."""
        if self.status is MemoryStatus.ACTIVE:
            return "active"
        return "leaf" if self.is_leaf else "intermediate"


def find_wholes(connection: sa.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the outermost whole that each memory is part of, itself if of none.

    Unknown ids are left out; of a ring, it is the memory behind which the ring closes.
    """
    return {each: found for each, (found, _) in _outermost(connection, ids).items()}


def find_current(connection: sa.Connection, ids: Iterable[str]) -> dict[str, str | None]:
    """Return the active memory for each: itself, or the whole it is part of by now.

    None where there is none: it is unknown, or it, or its whole, was archived or superseded.
    """
    wanted = list(ids)
    found = _outermost(connection, wanted) if wanted else {}
    return {
        each: found[each][0] if each in found and found[each][1] == MemoryStatus.ACTIVE else None
        for each in wanted
    }


def list_parts(connection: sa.Connection, ids: Iterable[str]) -> set[str]:
    """Return everything that those memories were made of, without themselves."""
    wanted = set(ids)
    return {each for (each,) in execute_for(connection, _BELOW, wanted)} - wanted


def load_tree(connection: sa.Connection, memory_id: str) -> list[LineageNode]:
    """Return what a memory was made of: itself first, then each part with all of its own.

    Nothing for one that is unknown. The parts of a whole come in the order of the merge.
    """
    rows = execute_for(connection, _TREE, [memory_id]).fetchall()
    said = {row[0]: (MemoryStatus(row[2]), row[3]) for row in rows}
    parts = group_pairs((whole, each) for each, whole, _, _ in rows if whole in said)
    found: dict[str, LineageNode] = {}
    waiting: list[tuple[str, str | None, int]] = [(memory_id, None, 0)] if said else []
    while waiting:
        each, parent, depth = waiting.pop()
        if each not in found:
            mine = parts.get(each, [])
            found[each] = LineageNode(each, *said[each], depth, parent, is_leaf=not mine)
            waiting.extend((part, each, depth + 1) for part in reversed(mine))
    return list(found.values())


def _outermost(connection: sa.Connection, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the whole behind which no other is, and its state, for each memory."""
    wanted = list(dict.fromkeys(ids))
    rows = execute_for(connection, _UP, wanted).fetchall()
    whole = {each: into for each, into, _ in rows}
    status = {each: state for each, _, state in rows}
    top: dict[str, str] = {}
    for each in wanted:
        way: dict[str, None] = {}
        end = each
        while end in whole and end not in top and end not in way:
            way[end] = None
            into = whole[end]
            if into is None or into not in whole:
                break
            end = into
        top |= dict.fromkeys(way, top.get(end, end))
    return {each: (top[each], status[top[each]]) for each in wanted if each in top}


#: What a memory that came to a layer has of the attention there is.
FRESH = 1.0

#: Tables that a promotion changes -> the memory's id there, and the columns that change.
_PLACED = {
    memories: ("id", "layer", "layer_since", "promoted_at"),
    memory_attention: ("memory_id", "attention", "weighed_at", "due_at"),
}


def deepen(
    connection: sa.Connection,
    wanted: Mapping[str, Layer],
    *,
    at: int,
    by: str,
    kind: ChangeKind = ChangeKind.PROMOTE,
    reason: str | None = None,
) -> list[str]:
    """Bring active memories to deeper layers, with fresh attention; return those that moved.

    One that is there already, or deeper, stays where it is.
    """
    moved = []
    columns = [table.c[name] for table, (_, *names) in _PLACED.items() for name in names]
    query = sa.select(*columns).join_from(memories, memory_attention)
    for name, layer in wanted.items():
        active = query.where(memories.c.id == name, memories.c.status == MemoryStatus.ACTIVE)
        before = connection.execute(active).mappings().one_or_none()
        if before is None or not is_deeper(layer, before["layer"]):
            continue
        placed = {"layer": layer, "layer_since": at, "promoted_at": at}
        lift(connection, name, {**placed, "attention": FRESH, "weighed_at": at, "due_at": None})
        told = {**before, "to": str(layer)}
        note(connection, MemoryChange(kind, name, by=by, at=at, before=told, reason=reason))
        moved.append(name)
    return moved


def lift(connection: sa.Connection, memory_id: str, values: Mapping[str, Any]) -> None:
    """Write the layer and attention of a memory, as they are or as `deepen` noted them."""
    for table, (key, *names) in _PLACED.items():
        change_in(connection, table.c[key], [memory_id], {name: values[name] for name in names})


def fasten(connection: sa.Connection, memory_id: str, since: int | None) -> None:
    """Write since when a memory is pinned; None for not at all."""
    change_rows(connection, memories, [{"one": memory_id, "pinned_at": since}])


def pin(
    connection: sa.Connection, ids: Iterable[str], *, pins: bool, at: int, by: str
) -> list[str]:
    """Pin or unpin those of the memories that are not so yet, and note it.

    Active memories that are pinned are never merged, faded or archived by themselves.
    """
    changed = []
    kind = ChangeKind.PIN if pins else ChangeKind.UNPIN
    for name in dict.fromkeys(ids):
        query = sa.select(memories.c.pinned_at, memories.c.status).where(memories.c.id == name)
        row = connection.execute(query).one_or_none()
        if row is None or (row.pinned_at is None) != pins:
            continue
        if row.status == MemoryStatus.ACTIVE or not pins:
            fasten(connection, name, at if pins else None)
            before = {"pinned_at": row.pinned_at}
            note(connection, MemoryChange(kind, name, by=by, at=at, before=before))
            changed.append(name)
    return changed

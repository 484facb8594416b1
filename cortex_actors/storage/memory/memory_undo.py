"""Undoing: what was done with a memory is taken back, as long as what it did is still so.

Changes may be undone in any order; one whose effect something else has replaced is refused, and the
error names what it is now. Nothing that was forgotten comes back.

Editing: other words for a memory that stays the one it is, and the words before given back.

Its id, when it was said, its layer, tags, pin and parts stay. What is made of its words is made
again: the passages by which it and what follows it are found, and what is known of it beside other
memories. The ledger has no kind of its own for that: a memory whose words are superseded by its own
is a `supersede` without others, which holds the words before (`MemoryChange.is_edit`).

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, or_, select

from cortex_actors.clock import iso
from cortex_actors.domain.memory import MERGEABLE, ChangeKind, Memory, MemoryStatus, Realm
from cortex_actors.errors import NotFound, Refused
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.memory import memory_delete, memory_lists, memory_states, village
from cortex_actors.storage.memory_history import MERGES, MemoryChange
from cortex_actors.storage.search import similar_memories
from cortex_actors.storage.search.similar_memories import MergeScope
from cortex_actors.storage.tables.columns import change_in, change_rows, select_in
from cortex_actors.storage.tables.schema import (
    memories,
    memory_attention,
    memory_conflicts,
    memory_tags,
    passages,
)
from cortex_actors.text.summary import make_abstract, make_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: What a memory gets from a consolidation beside accesses and tags, by the table it is in.
_READ = ("accessed_at", "attention", "weighed_at", "due_at")
_PLACED = ("layer", "layer_since", "promoted_at")


def undo(
    connection: Connection, number: int, *, by: str, at: int, reader: str | None = None
) -> tuple[MemoryChange, list[str]]:
    """Take one change back, by the number that the reader knows; return it, and what changed.

    Raises `NotFound`, and `Refused` where it was undone already, what it did is not so any more, or
    it is one that cannot be undone.
    """
    change = memory_history.load_change(connection, number, reader=reader)
    if change.undone_at is not None:
        message = f"change {number} was undone already, by {change.undone_by}"
        raise Refused(f"{message} at {iso(change.undone_at)}")
    if change.kind in MERGES:
        return change, _take_apart(connection, change, by=by, at=at, reader=reader)
    take_back = _WAYS.get(change.kind)
    if take_back is None:
        raise Refused(_NEVER[change.kind].format(number=number, id=change.memory_id))
    changed = take_back(connection, change, at)
    memory_history.mark(connection, change.id, by=by, at=at)
    return change, changed


def split(
    connection: Connection, whole_id: str, *, by: str, at: int, reader: str | None = None
) -> tuple[MemoryChange, list[str]]:
    """Take the newest merge of a memory apart; return that merge, and the parts.

    The parts are found again, as they were, and are not made one by themselves any more; the whole
    is archived. Of a consolidation, what was kept stays. Raises `NotFound`, `Refused`.
    """
    change = memory_history.find_last(connection, whole_id, *MERGES, reader=reader)
    if change is None:  # no change was noted: use what its parts say
        row = memories.c
        query = select(row.id).where(row.merged_into == whole_id).order_by(row.merged_as)
        parts = tuple(connection.execute(query).scalars())
        change = MemoryChange(ChangeKind.MERGE, whole_id, by="", at=0, others=parts)
    return change, _take_apart(connection, change, by=by, at=at, reader=reader)


def describe_state(connection: Connection, memory_id: str) -> dict[str, Any]:
    """Return what undoing a restoring needs, as long as the memory is archived or superseded."""
    row = _row(connection, memory_id)
    if row.status != MemoryStatus.SUPERSEDED:
        return {"archived_at": row.archived_at}
    return {"replaced_by": row.replaced_by, "replaced_at": row.replaced_at}


def _take_apart(
    connection: Connection, change: MemoryChange, *, by: str, at: int, reader: str | None
) -> list[str]:
    """Take a merge apart, and note it."""
    row = _row(connection, change.memory_id)
    whole = row.id
    if not change.others:
        raise Refused(f"cannot split {whole}: nothing was merged into it; see: cortex memory show")
    _must_be(row, MemoryStatus.ACTIVE, "split")
    newer = memory_history.find_last(connection, whole, *MERGES, reader=reader)
    if newer is not None and newer.id != change.id:
        message = f"cannot undo change {change.number} of {whole}: first undo change {newer.number}"
        raise Refused(f"{message}, which made it part of what {whole} is")
    keeps = change.kind is ChangeKind.CONSOLIDATE
    parts = memory_states.take_apart(connection, whole, change.others, at=at, keep=keeps)
    if keeps:
        _give_back(connection, change, parts)
    reason = f"change {change.number}" if change.id else None
    memory_states.keep_apart(connection, [*parts, whole] if keeps else parts, at=at, reason=reason)
    if change.id:
        memory_history.mark(connection, change.id, by=by, at=at)
    told = MemoryChange(ChangeKind.SPLIT, whole, by=by, at=at, others=tuple(parts))
    memory_history.note(connection, told)
    return parts


def _give_back(connection: Connection, change: MemoryChange, parts: Sequence[str]) -> None:
    """Take off the memory that was kept what it was given: accesses, tags, a deeper layer."""
    before, name = change.before, change.memory_id
    row = memory_attention.c
    query = select(row.access_count).where(row.memory_id.in_(parts))
    given = sum(connection.execute(query).scalars())
    now = connection.execute(select(memory_attention).where(row.memory_id == name)).one()
    values: dict[str, Any] = {"access_count": max(now.access_count - given, 0)}
    if (now.accessed_at or 0) <= change.at:  # it was not read since
        values |= {each: before[each] for each in _READ if each in before}
    change_in(connection, row.memory_id, [name], values)
    if "layer" in before:  # unless it has come to another since
        placed = {each: before[each] for each in _PLACED}
        change_in(connection, memories.c.id, [name], placed, memories.c.layer_since == change.at)
    if "tags" in before:
        tag = memory_tags.c
        theirs = select(tag.tag).where(tag.memory_id.in_(parts))
        gone = delete(memory_tags).where(tag.memory_id == name, tag.tag.in_(theirs))
        connection.execute(gone.where(tag.tag.not_in(before["tags"])))


def edit(connection: Connection, memory: Memory, *, content: str, by: str, at: int) -> list[str]:
    """Give an active memory other words, and note it; return who else of its agent says just that.

    Raises `Refused` where that one could have been merged with it: two would say the same.
    """
    text = f"{memory.role}: {content}" if memory.role else content
    if text == memory.text:
        return []
    to = memory_records.digest(text).hex()
    before = {"text": memory.text, "abstract": memory.abstract, "to": to}
    _reword(connection, memory, text=text, short=make_abstract(content))
    change = MemoryChange(ChangeKind.SUPERSEDE, memory.id, by=by, at=at, before=before)
    memory_history.note(connection, change)
    row = memories.c
    query = select(row.id).where(
        row.text_hash == memory_records.digest(text),
        row.agent_id == memory.agent_id,
        row.status == MemoryStatus.ACTIVE,
        row.id != memory.id,
    )
    return list(connection.execute(query.order_by(row.id)).scalars())


def _reword(connection: Connection, memory: Memory, *, text: str, short: str) -> None:
    """Write a memory's words, and make what is made of them again."""
    name = memory.id
    there = similar_memories.find_text(
        connection, MergeScope.from_memory(memory), memory_records.digest(text)
    )
    if there is not None and memory.type in MERGEABLE:
        raise Refused(
            f"cannot give {name} these words: {there} says just that already; keep one of the two: "
            f"cortex memory supersede {name} {there}"
        )
    around = [name, *memory_records.list_following(connection, [name])]
    query = select(passages.c.text_hash)
    old = {row.text_hash for row in select_in(connection, query, passages.c.item_id, around)}
    content = text.removeprefix(f"{memory.role}: ") if memory.role else text
    is_due = memory.type in MERGEABLE and memory.realm is not Realm.VILLAGE
    values = {
        "text": text,
        "text_hash": memory_records.digest(text),
        "abstract": short,
        "summary": make_summary(content),
        "merge_due": int(is_due),
    }
    change_rows(connection, memories, [{"one": name, **values}])
    memory_records.settle(connection, [name])
    memory_delete.drop_vectors(connection, old)
    # What could not hold beside the old words is looked for again; what was kept stays kept.
    pair = memory_conflicts.c
    stood = delete(memory_conflicts).where(pair.ended_at.is_(None))
    connection.execute(stood.where(or_(pair.left_id == name, pair.right_id == name)))
    village.forget(connection, [name])
    if memory.realm in village.SPOKEN:
        village.note_due(connection, [name])


def _come_back(connection: Connection, change: MemoryChange, at: int) -> list[str]:
    """Let a memory be found again that was archived or replaced, or have its words from before.

    Raises `Refused` where it has been edited since, or another memory says by now what it said.
    """
    row = _row(connection, change.memory_id)
    if change.is_edit:
        _must_be(row, MemoryStatus.ACTIVE, f"undo change {change.number}")
        memory, before = memory_lists.load_memory(connection, row.id), change.before
        if memory_records.digest(memory.text).hex() != before.get("to"):
            message = f"cannot undo change {change.number}: {row.id} was edited since"
            raise Refused(f"{message}; first undo that: cortex memory changes {row.id}")
        said, short = str(before["text"]), str(before.get("abstract", ""))
        _reword(connection, memory, text=said, short=short)
        return [row.id]
    is_archived = change.kind is ChangeKind.ARCHIVE
    status = MemoryStatus.ARCHIVED if is_archived else MemoryStatus.SUPERSEDED
    _must_be(row, status, f"undo change {change.number}")
    _must_be_of(change, row.archived_at if is_archived else row.replaced_at)
    return memory_states.restore(connection, [row.id], at)


def _unrestore(connection: Connection, change: MemoryChange, at: int) -> list[str]:
    """Take a memory out again as it was before it was restored."""
    row = _row(connection, change.memory_id)
    _must_be(row, MemoryStatus.ACTIVE, f"undo change {change.number}")
    successor = change.before.get("replaced_by")
    if successor is None:
        return memory_states.archive(connection, [row.id], at)
    _must_be(_row(connection, successor), MemoryStatus.ACTIVE, f"undo change {change.number}")
    return memory_states.supersede(connection, row.id, successor, at)


def _lift(connection: Connection, change: MemoryChange, _at: int) -> list[str]:
    """Bring a memory back to the layer it came from."""
    row = _row(connection, change.memory_id)
    if row.layer != change.before.get("to") or row.layer_since != change.at:
        message = f"cannot undo change {change.number}: {row.id} has come to {row.layer} since, by"
        raise Refused(f"{message} another change; see: cortex memory changes")
    memory_history.lift(connection, row.id, change.before)
    return [row.id]


def _unpin(connection: Connection, change: MemoryChange, _at: int) -> list[str]:
    """Let a memory not be kept as it is any more."""
    row = _row(connection, change.memory_id)
    _must_be_of(change, row.pinned_at)
    memory_history.fasten(connection, row.id, None)
    return [row.id]


def _pin(connection: Connection, change: MemoryChange, _at: int) -> list[str]:
    """Let a memory be kept as it is again, since when it was."""
    row = _row(connection, change.memory_id)
    if row.pinned_at is not None:
        raise Refused(f"cannot undo change {change.number}: {row.id} is pinned again")
    memory_history.fasten(connection, row.id, change.before["pinned_at"])
    return [row.id]


def _row(connection: Connection, memory_id: str) -> Row[Any]:
    """Return the row of a memory; raises `NotFound`."""
    found = connection.execute(select(memories).where(memories.c.id == memory_id)).one_or_none()
    if found is None:
        raise NotFound(f"there is no memory {memory_id} any more: it was forgotten")
    return found


def _must_be(row: Row[Any], status: MemoryStatus, doing: str) -> None:
    """Raise `Refused` for a memory that is in another state than an undoing begins with."""
    if row.status != status:
        now = _NOW[row.status].format(whole=row.merged_into, id=row.id)
        raise Refused(f"cannot {doing}: {row.id} is {now}")


def _must_be_of(change: MemoryChange, since: int | None) -> None:
    """Raise `Refused` where a memory came into its state by another change."""
    if since != change.at:
        message = f"cannot undo change {change.number}: what it did to {change.memory_id} is not so"
        raise Refused(f"{message} any more; see: cortex memory changes {change.memory_id}")


#: How a memory is now, and what to do about it.
_NOW: Mapping[str, str] = {
    MemoryStatus.ACTIVE: "active; it came back since",
    MemoryStatus.MERGED: "part of {whole}; split that first: cortex memory split {whole}",
    MemoryStatus.SUPERSEDED: "superseded; restore it first: cortex memory restore {id}",
    MemoryStatus.ARCHIVED: "archived; restore it first: cortex memory restore {id}",
}

#: How each change is taken back, apart from merges.
_WAYS: Mapping[ChangeKind, Callable[[Connection, MemoryChange, int], list[str]]] = {
    **dict.fromkeys((ChangeKind.ARCHIVE, ChangeKind.SUPERSEDE), _come_back),
    ChangeKind.RESTORE: _unrestore,
    **dict.fromkeys((ChangeKind.SAVE, ChangeKind.PROMOTE, ChangeKind.CRYSTALLIZE), _lift),
    ChangeKind.PIN: _unpin,
    ChangeKind.UNPIN: _pin,
}

#: Why a change is not taken back at all.
_NEVER: Mapping[ChangeKind, str] = {
    ChangeKind.SPLIT: (
        "change {number} took {id} apart, which was an undoing itself: make one of its parts"
        " again with cortex memory consolidate"
    ),
    ChangeKind.FORGET: "change {number} forgot {id}: what is forgotten is gone for good",
}

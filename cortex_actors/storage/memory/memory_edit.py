"""Editing: other words for a memory that stays the one it is, and the words before given back.

Its id, when it was said, its layer, tags, pin and parts stay. What is made of its words is made
again: the passages by which it and what follows it are found, and what is known of it beside other
memories. The ledger has no kind of its own for that: a memory whose words are superseded by its own
is a `supersede` without others, which holds the words before (`Change.is_edit`). Every function
takes the connection of a transaction it is part of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, or_, select

from cortex_actors.domain.memory import MERGEABLE, ChangeKind, Memory, MemoryStatus, Realm
from cortex_actors.errors import Refused
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.memory import memory_delete, memory_lists, village
from cortex_actors.storage.memory_history import Change
from cortex_actors.storage.search import similar_memories
from cortex_actors.storage.search.similar_memories import Scope
from cortex_actors.storage.tables.columns import change_rows, rows_in
from cortex_actors.storage.tables.schema import memories, memory_conflicts, passages
from cortex_actors.text.summary import abstract, summary

if TYPE_CHECKING:
    from collections.abc import Mapping


def edit(connection: Connection, memory: Memory, content: str, *, by: str, at: int) -> list[str]:
    """Give an active memory other words, and note it; return who else of its agent says just that.

    Raises `Refused` where that one could have been merged with it: two would say the same.
    """
    text = f"{memory.role}: {content}" if memory.role else content
    if text == memory.text:
        return []
    to = memory_records.digest(text).hex()
    before = {"text": memory.text, "abstract": memory.abstract, "to": to}
    _reword(connection, memory, text, short=abstract(content))
    change = Change(ChangeKind.SUPERSEDE, memory.id, by=by, at=at, before=before)
    memory_history.note(connection, change)
    row = memories.c
    query = select(row.id).where(
        row.text_hash == memory_records.digest(text),
        row.agent_id == memory.agent_id,
        row.status == MemoryStatus.ACTIVE,
        row.id != memory.id,
    )
    return list(connection.execute(query.order_by(row.id)).scalars())


def take_back(connection: Connection, change: Change, _at: int) -> list[str]:
    """Give a memory the words that it had before an edit.

    Raises `Refused` where it has been edited since, or another memory says by now what it said.
    """
    memory = memory_lists.one(connection, change.memory_id)
    before: Mapping[str, Any] = change.before
    if memory_records.digest(memory.text).hex() != before.get("to"):
        message = f"cannot undo change {change.number}: {memory.id} was edited since"
        raise Refused(f"{message}; first undo that: cortex memory changes {memory.id}")
    _reword(connection, memory, str(before["text"]), short=str(before.get("abstract", "")))
    return [memory.id]


def _reword(connection: Connection, memory: Memory, text: str, *, short: str) -> None:
    """Write a memory's words, and make what is made of them again."""
    name = memory.id
    there = similar_memories.says(connection, Scope.of(memory), memory_records.digest(text))
    if there is not None and memory.type in MERGEABLE:
        raise Refused(
            f"cannot give {name} these words: {there} says just that already; keep one of the two: "
            f"cortex memory supersede {name} {there}"
        )
    around = [name, *memory_records.following(connection, [name])]
    query = select(passages.c.text_hash)
    old = {row.text_hash for row in rows_in(connection, query, passages.c.item_id, around)}
    content = text.removeprefix(f"{memory.role}: ") if memory.role else text
    is_due = memory.type in MERGEABLE and memory.realm is not Realm.VILLAGE
    values = {
        "text": text,
        "text_hash": memory_records.digest(text),
        "abstract": short,
        "summary": summary(content),
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
        village.wait(connection, [name])

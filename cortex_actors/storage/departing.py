"""What leaves the ledger for a file: records of everything that is known of memories, page by page.

Every function takes the connection of a transaction it is part of. What somebody may not read does
not exist in it: what was made part of it, or replaced by it, is told as archived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from cortex_actors.domain.memory import PROBE, MemoryStatus
from cortex_actors.storage import agents as known
from cortex_actors.storage.crumbs import readable as readable_crumb
from cortex_actors.storage.memories import readable
from cortex_actors.storage.schema import (
    beliefs,
    crumbs,
    memories,
    memory_agents,
    memory_apart,
    memory_attention,
    memory_changes,
    memory_conflicts,
    memory_replies,
    memory_tags,
)
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.memory import Realm

#: Columns of a memory that a record has under their own names.
_PLAIN = (
    *("id", "realm", "thread", "layer", "type", "text", "role", "abstract", "summary", "status"),
    *("merged_into", "merged_as", "merged_at", "merged_by", "merged_why", "replaced_by"),
    *("replaced_at", "archived_at", "created_at", "layer_since", "promoted_at", "pinned_at"),
    *("said_from", "said_until", "saved_by", "trust"),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which memories are meant; what is left out narrows nothing.

    Attributes:
        reader: through whose eyes; None is the owner, who reads everything.
        agent: who said them.
        active: only what may be found now.

    """

    reader: str | None = None
    agent: str | None = None
    realm: Realm | None = None
    active: bool = False


def memory_page(
    connection: Connection, wanted: Wanted, *, after: str, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Return the next memories behind an id, and the id that the next page begins behind.

    Each is followed by what has become part of it, or was replaced by it, however deep: a file of
    them can be read from its beginning to its end.
    """
    visible = _visible(wanted)
    top = memories.alias("top")
    leads = func.coalesce(top.c.merged_into, top.c.replaced_by)
    query = select(top.c.id).where(
        _is_in(visible, top.c.id), top.c.id > after, or_(leads.is_(None), ~_is_in(visible, leads))
    )
    roots = list(connection.execute(query.order_by(top.c.id).limit(limit)).scalars())
    following = roots[-1] if len(roots) == limit else None
    ids, level = list(roots), roots
    while level and not wanted.active:
        level = _below(connection, level, visible)
        ids += level
    return _records(connection, ids, wanted.reader), following


def crumb_page(
    connection: Connection, wanted: Wanted, *, after: str, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Return the next crumbs behind an id, and the id that the next page begins behind."""
    if wanted.realm is not None:
        return [], None
    query = select(crumbs).where(crumbs.c.id > after, readable_crumb(wanted.reader))
    if wanted.agent is not None:
        query = query.where(crumbs.c.agent_id == wanted.agent)
    rows = connection.execute(query.order_by(crumbs.c.id).limit(limit)).all()
    made = [
        {
            "kind": "crumb",
            "id": row.id,
            "agent": row.agent_id,
            "session": row.session_id,
            "references": row.links,
            **{
                name: row._mapping[name]  # noqa: SLF001 - SQLAlchemy's public name
                for name in (
                    *("type", "priority", "summary", "discoveries", "emotional_state"),
                    *("unfinished", "if_disoriented", "left_at"),
                )
            },
        }
        for row in rows
    ]
    return made, rows[-1].id if len(rows) == limit else None


def agent_page(
    connection: Connection, wanted: Wanted, *, after: str, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Return the next agents; `after` is how many were there already."""
    skip = int(after or 0)
    found, total = known.listed(connection, wanted.reader, limit=limit, skip=skip)
    made = [
        {
            "kind": "agent",
            **{
                name: getattr(each, name)
                for name in (
                    *("id", "display_name", "symbol", "color", "generation", "lineage"),
                    *("specialization", "origin_story", "registered_at"),
                )
            },
        }
        for each in found
        if wanted.agent in {None, each.id}
    ]
    return made, str(skip + limit) if skip + limit < total else None


def change_page(
    connection: Connection, wanted: Wanted, *, after: str, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Return what was done with memories that are meant, in its order; only the owner is told."""
    rows_ = memory_changes.c
    query = select(memory_changes).where(rows_.id > int(after or 0))
    query = query.where(rows_.memory_id.in_(_visible(wanted)))
    rows = connection.execute(query.order_by(rows_.id).limit(limit)).all()
    made = [
        {
            "kind": "change",
            "change": row.kind,
            "memory": row.memory_id,
            **{
                name: row._mapping[name]  # noqa: SLF001 - as above
                for name in ("others", "before", "by", "reason", "at", "undone_at", "undone_by")
            },
        }
        for row in rows
    ]
    return made, str(rows[-1].id) if len(rows) == limit else None


def pair_page(
    connection: Connection,
    wanted: Wanted,
    *,
    after: str,  # noqa: ARG001 - every kind is asked alike
    limit: int,  # noqa: ARG001 - as above
) -> tuple[list[dict[str, Any]], str | None]:
    """Return the pairs that were parted or contradict each other; all at once, they are few."""
    visible = _visible(wanted)
    made = []
    for kind, table in (("apart", memory_apart), ("conflict", memory_conflicts)):
        query = select(table).where(table.c.left_id.in_(visible), table.c.right_id.in_(visible))
        for row in connection.execute(query.order_by(table.c.left_id, table.c.right_id)):
            said = dict(row._mapping)  # noqa: SLF001 - as above
            left, right = said.pop("left_id"), said.pop("right_id")
            made.append({"kind": kind, "left": left, "right": right, **said})
    return made, None


def _visible(wanted: Wanted) -> Select[tuple[str]]:
    """Return the query for the ids of the memories that are meant."""
    where: list[ColumnElement[bool]] = [readable(wanted.reader), memories.c.agent_id != PROBE]
    if wanted.agent is not None:
        where.append(memories.c.agent_id == wanted.agent)
    if wanted.realm is not None:
        where.append(memories.c.realm == wanted.realm)
    if wanted.active:
        where.append(memories.c.status == MemoryStatus.ACTIVE)
    return select(memories.c.id).where(*where)


def _is_in(visible: Select[tuple[str]], column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a memory is among those: asked of each, they are never listed."""
    return visible.where(memories.c.id == column).exists()


def _below(connection: Connection, ids: Sequence[str], visible: Select[tuple[str]]) -> list[str]:
    """Return the memories that lead straight to those, each once."""
    part = memories.alias("part")
    found: dict[str, None] = {}
    for some in chunks(ids):
        leads = or_(part.c.merged_into.in_(some), part.c.replaced_by.in_(some))
        query = select(part.c.id).where(leads, _is_in(visible, part.c.id)).order_by(part.c.id)
        found |= dict.fromkeys(connection.execute(query).scalars())
    return list(found)


def _records(
    connection: Connection, ids: Sequence[str], reader: str | None
) -> list[dict[str, Any]]:
    """Return memories as records, in that order."""
    made: dict[str, dict[str, Any]] = {}
    here = set(ids)
    for some in chunks(ids):
        query = select(memories, memory_attention).outerjoin(memory_attention)
        links = _links(connection, some, reader)
        for row in connection.execute(query.where(memories.c.id.in_(some))):
            said = {name: getattr(row, name) for name in _PLAIN}
            made[row.id] = {
                "kind": "memory",
                "agent": row.agent_id,
                **_without_lost(said, here),
                "access_count": row.access_count or 0,
                "accessed_at": row.accessed_at,
                "attention": 1.0 if row.attention is None else row.attention,
                **{name: found.get(row.id, []) for name, found in links.items()},
            }
    return [made[each] for each in dict.fromkeys(ids) if each in made]


def _without_lost(said: dict[str, Any], here: set[str]) -> dict[str, Any]:
    """Return a memory; one that leads to what is not told is told as archived."""
    leads = said["merged_into"] or said["replaced_by"]
    if leads is not None and leads not in here:
        said["archived_at"] = said["merged_at"] or said["replaced_at"]
        said["status"] = str(MemoryStatus.ARCHIVED)
        said = {
            name: None if name.startswith(("merged_", "replaced_")) else value
            for name, value in said.items()
        }
    return {name: value for name, value in said.items() if value not in {None, ""}}


def _links(
    connection: Connection, ids: Iterable[str], reader: str | None
) -> dict[str, dict[str, list[Any]]]:
    """Return what memories are linked with, and when they were believed, by what it is called."""
    some = list(ids)
    answered = select(memories.c.id).where(readable(reader), memories.c.agent_id != PROBE)
    replies = select(memory_replies.c.memory_id, memory_replies.c.replied_id)
    queries = {
        "tags": select(memory_tags.c.memory_id, memory_tags.c.tag),
        "related_agents": select(memory_agents.c.memory_id, memory_agents.c.agent_id),
        "responding_to": replies.where(_is_in(answered, memory_replies.c.replied_id)),
    }
    found: dict[str, dict[str, list[Any]]] = {name: {} for name in (*queries, "beliefs")}
    for name, query in queries.items():
        owner, value = query.selected_columns
        for memory_id, each in connection.execute(
            query.where(owner.in_(some)).order_by(owner, value)
        ):
            found[name].setdefault(memory_id, []).append(each)
    spans = select(beliefs).where(beliefs.c.memory_id.in_(some))
    for row in connection.execute(spans.order_by(beliefs.c.memory_id, beliefs.c.began_at)):
        found["beliefs"].setdefault(row.memory_id, []).append([row.began_at, row.ended_at])
    return found

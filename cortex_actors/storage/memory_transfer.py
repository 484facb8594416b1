"""What leaves the ledger for a file: records of everything that is known of memories, page by page.

Every function takes the connection of a transaction it is part of. What somebody may not read does
not exist in it: what was made part of it, or replaced by it, is told as archived.

What comes to the ledger from a file: records that were looked at, and are not there yet.

Every function takes the connection of a transaction it is part of. Nothing that is there is
changed: a memory whose id is known, or whose text is known in its place, stays as it is, and so
does everything else that has a name; it gets no parts, and no history, from a file. What comes is
marked as imported, for ever.

Memories that come from a file, a whole group at once: which of them are new, and their rows.

What is there is looked up once for the group, and what the group itself brings counts as there from
then on. Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Select, func, insert, or_, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from cortex_actors.domain.agent import BUILT_IN, Agent
from cortex_actors.domain.memory import (
    MERGEABLE,
    PROBE,
    Crumb,
    CrumbType,
    MemoryStatus,
    Priority,
    Realm,
)
from cortex_actors.domain.project import Trust
from cortex_actors.errors import BadInput
from cortex_actors.storage import agent_records, memory_records, village
from cortex_actors.storage import agent_records as known
from cortex_actors.storage.agent_records import readable as readable_crumb
from cortex_actors.storage.realms import readable
from cortex_actors.storage.tables import schema as memory
from cortex_actors.storage.tables.columns import chunks, rows_in
from cortex_actors.storage.tables.schema import memories as rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Found = Mapping[str, Any]

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
    top = memory.memories.alias("top")
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
    query = select(memory.crumbs).where(memory.crumbs.c.id > after, readable_crumb(wanted.reader))
    if wanted.agent is not None:
        query = query.where(memory.crumbs.c.agent_id == wanted.agent)
    rows = connection.execute(query.order_by(memory.crumbs.c.id).limit(limit)).all()
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
    rows_ = memory.memory_changes.c
    query = select(memory.memory_changes).where(rows_.id > int(after or 0))
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
    for kind, table in (("apart", memory.memory_apart), ("conflict", memory.memory_conflicts)):
        query = select(table).where(table.c.left_id.in_(visible), table.c.right_id.in_(visible))
        for row in connection.execute(query.order_by(table.c.left_id, table.c.right_id)):
            said = dict(row._mapping)  # noqa: SLF001 - as above
            left, right = said.pop("left_id"), said.pop("right_id")
            made.append({"kind": kind, "left": left, "right": right, **said})
    return made, None


def _visible(wanted: Wanted) -> Select[tuple[str]]:
    """Return the query for the ids of the memories that are meant."""
    where: list[ColumnElement[bool]] = [
        readable(wanted.reader),
        memory.memories.c.agent_id != PROBE,
    ]
    if wanted.agent is not None:
        where.append(memory.memories.c.agent_id == wanted.agent)
    if wanted.realm is not None:
        where.append(memory.memories.c.realm == wanted.realm)
    if wanted.active:
        where.append(memory.memories.c.status == MemoryStatus.ACTIVE)
    return select(memory.memories.c.id).where(*where)


def _is_in(visible: Select[tuple[str]], column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a memory is among those: asked of each, they are never listed."""
    return visible.where(memory.memories.c.id == column).exists()


def _below(connection: Connection, ids: Sequence[str], visible: Select[tuple[str]]) -> list[str]:
    """Return the memories that lead straight to those, each once."""
    part = memory.memories.alias("part")
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
        query = select(memory.memories, memory.memory_attention).outerjoin(memory.memory_attention)
        links = _links(connection, some, reader)
        for row in connection.execute(query.where(memory.memories.c.id.in_(some))):
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
    answered = select(memory.memories.c.id).where(
        readable(reader), memory.memories.c.agent_id != PROBE
    )
    replies = select(memory.memory_replies.c.memory_id, memory.memory_replies.c.replied_id)
    queries = {
        "tags": select(memory.memory_tags.c.memory_id, memory.memory_tags.c.tag),
        "related_agents": select(memory.memory_agents.c.memory_id, memory.memory_agents.c.agent_id),
        "responding_to": replies.where(_is_in(answered, memory.memory_replies.c.replied_id)),
    }
    found: dict[str, dict[str, list[Any]]] = {name: {} for name in (*queries, "beliefs")}
    for name, query in queries.items():
        owner, value = query.selected_columns
        for memory_id, each in connection.execute(
            query.where(owner.in_(some)).order_by(owner, value)
        ):
            found[name].setdefault(memory_id, []).append(each)
    spans = select(memory.beliefs).where(memory.beliefs.c.memory_id.in_(some))
    for row in connection.execute(
        spans.order_by(memory.beliefs.c.memory_id, memory.beliefs.c.began_at)
    ):
        found["beliefs"].setdefault(row.memory_id, []).append([row.began_at, row.ended_at])
    return found


#: Those of them that a file decides about.
_NEW_PLAIN = (*(name for name in _PLAIN if name not in {"saved_by", "trust"}), "text_hash")

#: What a memory says that leads nowhere.
_NOWHERE = dict.fromkeys(
    ("merged_into", "merged_as", "merged_at", "merged_by", "merged_why", "replaced_by")
)

#: Where a text is said only once, and the text's hash; on a bridge also when.
_Said = tuple[str, str, str, bytes, int]
_SAID = (rows.c.realm, rows.c.agent_id, rows.c.thread, rows.c.text_hash, rows.c.created_at)


@dataclass(slots=True)
class _Here:
    """What is there already of what a group of records names.

    Attributes:
        texts: id -> text.
        origins: id -> trust, agent and realm.
        said: what active memories say, where it is said only once.
        taken: the places in their wholes that parts have.

    """

    texts: dict[str, str] = field(default_factory=dict)
    origins: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    said: set[_Said] = field(default_factory=set)
    taken: set[tuple[str, int]] = field(default_factory=set)


def take_in(connection: Connection, found: Sequence[Found]) -> tuple[list[Found], list[str]]:
    """Write those memories that are not there; return them, and the ids that say something else.

    They are taken in their order: what one leads to stands before it, or is there. One that leads
    to nothing that is there is archived. They can be found, and posts among them wait to be
    compared with what other agents say.
    """
    hashed = [{**each, "text_hash": _digest(each["text"])} for each in found]
    here = _looked_up(connection, hashed)
    new, differing = [], []
    for each in hashed:
        there = here.texts.get(each["id"])
        if there is None and _once(each) not in here.said:
            new.append(_standing(each, here))
            _note(new[-1], here)
        elif there is not None and there != each["text"]:
            differing.append(each["id"])
    _write(connection, new)
    return new, differing


def _looked_up(connection: Connection, found: Sequence[Found]) -> _Here:
    """Return what is there already."""
    here = _Here()
    leads = {each["merged_into"] or each["replaced_by"] for each in found} - {None}
    query = select(rows.c.id, rows.c.text, rows.c.trust, rows.c.agent_id, rows.c.realm)
    for row in rows_in(connection, query, rows.c.id, {each["id"] for each in found} | leads):
        here.texts[row.id] = row.text
        here.origins[row.id] = row.trust, row.agent_id, row.realm
    said = select(*_SAID).where(rows.c.status == MemoryStatus.ACTIVE, rows.c.type.in_(MERGEABLE))
    hashes = {each["text_hash"] for each in found}
    here.said.update(_place(*row) for row in rows_in(connection, said, rows.c.text_hash, hashes))
    wholes = {each["merged_into"] for each in found} - {None}
    parts = select(rows.c.merged_into, rows.c.merged_as)
    here.taken.update(map(tuple, rows_in(connection, parts, rows.c.merged_into, wholes)))
    return here


def _note(new: Found, here: _Here) -> None:
    """Count a memory as there."""
    here.texts[new["id"]] = new["text"]
    here.origins[new["id"]] = Trust.IMPORT, new["agent"], new["realm"]
    if (said := _once(new)) is not None:
        here.said.add(said)
    if new["merged_into"] is not None:
        here.taken.add((new["merged_into"], new["merged_as"]))


def _once(found: Found) -> _Said | None:
    """Return where a memory says what is said only once; None where it may be said again."""
    if found["status"] != MemoryStatus.ACTIVE or found["type"] not in MERGEABLE:
        return None
    names = ("realm", "agent", "thread", "text_hash", "created_at")
    return _place(*(found[name] for name in names))


def _place(realm: str, agent: str, thread: str, digest: bytes, at: int) -> _Said:
    """Return where a text is said."""
    # To other readers it is another memory, and nobody but they would be told.
    return realm, agent, thread, digest, at if realm == Realm.BRIDGE else 0


def _standing(found: Found, here: _Here) -> Found:
    """Return a memory as it may stand here: as archived where what it leads to is not there."""
    leads = found["merged_into"] or found["replaced_by"]
    if leads is None or _may_lead(found, leads, here):
        return found
    ended = found.get("merged_at") or found.get("replaced_at")
    gone = {"status": str(MemoryStatus.ARCHIVED), "archived_at": ended, "replaced_at": None}
    return {**found, **_NOWHERE, **gone}


def _may_lead(found: Found, leads: str, here: _Here) -> bool:
    """Whether what a memory leads to is there, and has the place in it free.

    What was said here gets no parts from a file, and a whole none of another agent or realm.
    """
    if found["merged_into"] is None:
        return leads in here.texts
    own = (Trust.IMPORT, found["agent"], found["realm"])
    return here.origins.get(leads) == own and (leads, found["merged_as"]) not in here.taken


def _write(connection: Connection, new: Sequence[Found]) -> None:
    """Write the rows of new memories, and all that belongs to them."""
    if not new:
        return
    _meet(connection, new)
    imported = {"trust": Trust.IMPORT, "merge_due": 0}
    plain = [{name: each.get(name) for name in _NEW_PLAIN} for each in new]
    both = zip(plain, new, strict=True)
    made = [{**row, "agent_id": each["agent"], **imported} for row, each in both]
    connection.execute(insert(rows), made)
    connection.execute(insert(memory.memory_attention), [_attention(each) for each in new])
    links = (
        (memory.memory_tags, [{"memory_id": e["id"], "tag": t} for e in new for t in e["tags"]]),
        (
            memory.memory_agents,
            [{"memory_id": e["id"], "agent_id": a} for e in new for a in e["related_agents"]],
        ),
        (memory.beliefs, [span for each in new for span in _spans(each)]),
    )
    for table, linked in links:
        if linked:
            connection.execute(insert(table), linked)
    memory_records.settle(connection, [each["id"] for each in new])
    village.wait(connection, [each["id"] for each in new if _is_post(each)])


def _meet(connection: Connection, new: Iterable[Found]) -> None:
    """Let the agents of memories be known since the first of these that names them."""
    met: dict[str, int] = {}
    for each in new:
        for name in (each["agent"], *each["related_agents"]):
            met.setdefault(name, each["created_at"])
    for some in chunks(list(met)):
        query = select(memory.agents.c.id).where(memory.agents.c.id.in_(some))
        for name in set(some) - set(connection.execute(query).scalars()):
            known.know(connection, [name], at=met[name])


def _spans(found: Found) -> list[dict[str, Any]]:
    """Return since when until when a memory was believed, as rows."""
    spans = found["beliefs"]
    return [{"memory_id": found["id"], "began_at": b, "ended_at": e} for b, e in spans]


def _attention(found: Found) -> dict[str, Any]:
    """Return the row of what changes when a memory is read."""
    return {
        "memory_id": found["id"],
        "access_count": found["access_count"],
        "accessed_at": found["accessed_at"],
        "attention": found["attention"],
        "weighed_at": found["accessed_at"] or found["created_at"],
    }


def _is_post(found: Found) -> bool:
    """Whether others may read a memory that holds now."""
    return bool(found["status"] == MemoryStatus.ACTIVE and found["realm"] != Realm.PRIVATE)


def _digest(text: str) -> bytes:
    """Return what tells a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(slots=True)
class Arrived:
    """What became of a group of records.

    Attributes:
        added: by what they are: a memory's realm, or the kind of another record.
        existing: what is there already.
        differing: ids that are there with another text: that one stays.

    """

    added: Counter[str] = field(default_factory=Counter)
    existing: int = 0
    differing: list[str] = field(default_factory=list)


def arrive(connection: Connection, found: Sequence[Found], *, at: int) -> Arrived:
    """Write those records that are not there yet, in their order; memories many at once."""
    arrived = Arrived()
    for kind, some in groupby(found, key=lambda each: each["kind"]):
        those = list(some)
        if kind == "memory":
            new, differing = take_in(connection, those)
            arrived.differing += differing
        else:
            new = [each for each in those if _ARRIVE[kind](connection, each, at)]
        arrived.added.update(each.get("realm") or each["kind"] for each in new)
        arrived.existing += len(those) - len(new)
    return arrived


def answer(connection: Connection, found: Sequence[Found]) -> None:
    """Write which memories those that came answer, where both are there by now."""
    wanted = {(each["id"], to) for each in found for to in each.get("responding_to", ())}
    ids = sorted({one for pair in wanted for one in pair})
    query = select(rows.c.id, rows.c.trust)
    trusted = {row.id: row.trust for row in rows_in(connection, query, rows.c.id, ids)}
    made = [
        {"memory_id": one, "replied_id": to}
        for one, to in sorted(wanted)
        if one != to and trusted.get(one) == Trust.IMPORT and to in trusted
    ]
    if made:
        connection.execute(insert_or(memory.memory_replies).on_conflict_do_nothing(), made)


def _crumb(connection: Connection, found: Found, _at: int) -> bool:
    """Write a crumb, unless it is there."""
    crumb = Crumb(
        id=found["id"],
        agent_id=found["agent"],
        session_id=found["session"],
        summary=found["summary"],
        left_at=found["left_at"],
        type=CrumbType(found["type"]),
        priority=Priority(found["priority"]),
        discoveries=tuple(found["discoveries"]),
        emotional_state=found["emotional_state"],
        unfinished=tuple(found["unfinished"]),
        references={kind: tuple(some) for kind, some in found["references"].items()},
        if_disoriented=tuple(found["if_disoriented"]),
        saved_by=Trust.IMPORT,
    )
    if (
        agent_records.load_crumbs(connection, [crumb.id])
        or agent_records.like(connection, crumb) is not None
    ):
        return False
    agent_records.leave(connection, crumb)
    return True


def _agent(connection: Connection, found: Found, at: int) -> bool:
    """Write a profile, unless there is one."""
    if found["id"] in {each.id for each in BUILT_IN}:
        return False
    row = {name: value for name, value in found.items() if name != "kind"}
    row["registered_at"] = found["registered_at"] or at
    for name in ("lineage", "specialization", "origin_story"):
        row[name] = found[name] or None
    shown = {name: value for name, value in found.items() if name != "kind"}
    try:
        known.require_own_name(connection, Agent(**shown))
    except BadInput:  # it would be read as somebody else's
        row["display_name"] = found["id"]
    done = connection.execute(insert_or(memory.agents).on_conflict_do_nothing(), [row])
    return done.rowcount > 0


def _change(connection: Connection, found: Found, _at: int) -> bool:
    """Write what was done with a memory, unless that is there, or the memory was said here."""
    if _are_ours(connection, [found["memory"]]):
        return False
    column = memory.memory_changes.c
    same = select(column.id).where(
        column.kind == found["change"],
        column.memory_id == found["memory"],
        column.at == found["at"],
    )
    if connection.execute(same.limit(1)).first() is not None:
        return False
    row = {
        "kind": found["change"],
        "memory_id": found["memory"],
        **{
            name: found[name]
            for name in ("others", "before", "by", "reason", "at", "undone_at", "undone_by")
        },
    }
    connection.execute(insert(memory.memory_changes), [row])
    return True


def _pair(connection: Connection, found: Found, _at: int) -> bool:
    """Write that two memories were parted or contradict each other, unless that is there.

    What was said here is not set against itself by a file.
    """
    if _are_ours(connection, [found["left"], found["right"]]):
        return False
    said = {name: value for name, value in found.items() if name not in {"kind", "left", "right"}}
    row = {"left_id": found["left"], "right_id": found["right"], **said}
    both = select(rows.c.id).where(rows.c.id.in_([found["left"], found["right"]]))
    if len(connection.execute(both).all()) < 2:  # noqa: PLR2004 - a pair
        return False
    table = memory.memory_apart if found["kind"] == "apart" else memory.memory_conflicts
    done = connection.execute(insert_or(table).on_conflict_do_nothing(), [row])
    return done.rowcount > 0


def _are_ours(connection: Connection, ids: Sequence[str]) -> bool:
    """Whether memories are all there, and none of them came from a file."""
    query = select(rows.c.id).where(rows.c.id.in_(ids), rows.c.trust != Trust.IMPORT)
    return len(connection.execute(query).all()) == len(ids)


#: Kind of any other record -> what writes one; it says whether there was anything to write.
_ARRIVE: Mapping[str, Callable[[Connection, Found, int], bool]] = {
    "crumb": _crumb,
    "agent": _agent,
    "change": _change,
    "apart": _pair,
    "conflict": _pair,
}

"""What leaves the ledger for a file: records of everything that is known of memories, page by page.

Every function takes the connection of a transaction it is part of. What the reader may not read
does not exist in it: a part of such a memory, or one replaced by it, is exported as archived.

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

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Select, Table, func, insert, or_, select

from cortex_actors.domain.agent import DEFAULT, Agent, unknown
from cortex_actors.domain.memory import MERGEABLE, PROBE, MemoryStatus, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.errors import BadInput
from cortex_actors.rules import interchange
from cortex_actors.storage import agent_records, memory_records, projects
from cortex_actors.storage.memory import village
from cortex_actors.storage.memory.memory_states import NOTHING
from cortex_actors.storage.realms import readable
from cortex_actors.storage.tables import schema
from cortex_actors.storage.tables.columns import chunks, grouped, put_rows, rows_in, same
from cortex_actors.storage.tables.schema import memories as rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Found = Mapping[str, Any]
    #: Records, and what the next page begins behind; None at the end.
    Page = tuple[list[dict[str, Any]], str | None]

#: Columns of a memory that a record has under their own names; the others it calls otherwise, or
#: they are computed again.
_MADE = {"agent_id", "text_hash", "merge_due"}
_PLAIN = tuple(each.name for each in rows.c if each.name not in _MADE)

#: Columns that a record of a crumb, or of what was done with a memory, calls something else.
_CRUMB = {"agent_id": "agent", "session_id": "session", "links": "references"}
_CHANGE = {"kind": "change", "memory_id": "memory"}

#: What a record of an agent says of it.
_AGENT = schema.agents.c.keys()

#: Kind of record -> the pairs it is of.
_PAIRS = {"apart": schema.memory_apart, "conflict": schema.memory_conflicts}


@dataclass(frozen=True, slots=True)
class ExportFilter:
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


def memory_page(connection: Connection, wanted: ExportFilter, *, after: str, limit: int) -> Page:
    """Return the next memories behind an id, and the id that the next page begins behind.

    Each is followed by what has become part of it, or was replaced by it, however deep: a file of
    them can be read from its beginning to its end.
    """
    visible = _visible(wanted)
    top = schema.memories.alias("top")
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


def crumb_page(connection: Connection, wanted: ExportFilter, *, after: str, limit: int) -> Page:
    """Return the next crumbs behind an id, and the id that the next page begins behind."""
    if wanted.realm is not None:
        return [], None
    row = schema.crumbs.c
    query = _named(schema.crumbs, "saved_by", called=_CRUMB)
    query = query.where(row.id > after, agent_records.readable(wanted.reader))
    query = query.where(*same(schema.crumbs, agent_id=wanted.agent))
    made = _told(connection, "crumb", query.order_by(row.id).limit(limit))
    names = projects.names(connection)
    made = [{**each, "project": names.get(each["project_id"])} for each in made]
    return made, made[-1]["id"] if len(made) == limit else None


def agent_page(connection: Connection, wanted: ExportFilter, *, after: str, limit: int) -> Page:
    """Return the next agents; `after` is how many were there already."""
    skip = int(after or 0)
    found, total = agent_records.listed(connection, wanted.reader, limit=limit, skip=skip)
    made = [
        {"kind": "agent", **{name: getattr(each, name) for name in _AGENT}}
        for each in found
        if wanted.agent in {None, each.id}
    ]
    return made, str(skip + limit) if skip + limit < total else None


def change_page(connection: Connection, wanted: ExportFilter, *, after: str, limit: int) -> Page:
    """Return changes of the memories that are exported, in their order; for the owner only."""
    row = schema.memory_changes.c
    query = _named(schema.memory_changes, called=_CHANGE)
    query = query.where(row.id > int(after or 0), row.memory_id.in_(_visible(wanted)))
    made = _told(connection, "change", query.order_by(row.id).limit(limit))
    numbers = [each.pop("id") for each in made]
    return made, str(numbers[-1]) if len(made) == limit else None


def pair_page(connection: Connection, wanted: ExportFilter, **_page: object) -> Page:
    """Return the pairs that were parted or contradict each other; all at once, they are few."""
    visible, made = _visible(wanted), []
    for kind, table in _PAIRS.items():
        left, right = table.c.left_id, table.c.right_id
        query = _named(table, called={"left_id": "left", "right_id": "right"})
        query = query.where(left.in_(visible), right.in_(visible))
        made += _told(connection, kind, query.order_by(left, right))
    return made, None


def _named(table: Table, *but: str, called: Mapping[str, str]) -> Select[Any]:
    """Return the query for all columns of a table but some, as a record calls them."""
    return select(
        *(each.label(called.get(each.name, each.name)) for each in table.c if each.name not in but)
    )


def _told(connection: Connection, kind: str, query: Select[Any]) -> list[dict[str, Any]]:
    """Return what a query finds as records of a kind."""
    return [{"kind": kind, **row} for row in connection.execute(query).mappings()]


def _visible(wanted: ExportFilter) -> Select[tuple[str]]:
    """Return the query for the ids of the memories that are meant."""
    status = MemoryStatus.ACTIVE if wanted.active else None
    asked = same(schema.memories, agent_id=wanted.agent, realm=wanted.realm, status=status)
    is_real = schema.memories.c.agent_id != PROBE
    return select(schema.memories.c.id).where(readable(wanted.reader), is_real, *asked)


def _is_in(visible: Select[tuple[str]], column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a memory is among those: asked of each, they are never listed."""
    return visible.where(schema.memories.c.id == column).exists()


def _below(connection: Connection, ids: Sequence[str], visible: Select[tuple[str]]) -> list[str]:
    """Return the memories that lead straight to those, each once."""
    part = schema.memories.alias("part")
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
    here, names = set(ids), projects.names(connection)
    for some in chunks(ids):
        query = select(schema.memories, schema.memory_attention).outerjoin(schema.memory_attention)
        links = _links(connection, some, reader)
        for row in connection.execute(query.where(schema.memories.c.id.in_(some))):
            said = {name: getattr(row, name) for name in _PLAIN}
            said["project"] = names.get(row.project_id)
            leads = row.merged_into or row.replaced_by
            if leads is not None and leads not in here:
                said = _archived(said)
            made[row.id] = {
                "kind": "memory",
                "agent": row.agent_id,
                **{name: value for name, value in said.items() if value not in {None, ""}},
                "access_count": row.access_count or 0,
                "accessed_at": row.accessed_at,
                "attention": 1.0 if row.attention is None else row.attention,
                **{name: found.get(row.id, []) for name, found in links.items()},
            }
    return [made[each] for each in dict.fromkeys(ids) if each in made]


def _archived(found: Found) -> dict[str, Any]:
    """Return a memory that leads to what is not there: as archived since then."""
    ended = found.get("merged_at") or found.get("replaced_at")
    return {**found, **NOTHING, "status": str(MemoryStatus.ARCHIVED), "archived_at": ended}


def _links(
    connection: Connection, ids: Sequence[str], reader: str | None
) -> dict[str, dict[str, list[Any]]]:
    """Return what memories are linked with, and when they were believed, by what it is called."""
    answered = select(schema.memories.c.id).where(
        readable(reader), schema.memories.c.agent_id != PROBE
    )
    replies = select(schema.memory_replies.c.memory_id, schema.memory_replies.c.replied_id)
    queries = {
        "tags": select(schema.memory_tags.c.memory_id, schema.memory_tags.c.tag),
        "related_agents": select(schema.memory_agents.c.memory_id, schema.memory_agents.c.agent_id),
        "responding_to": replies.where(_is_in(answered, schema.memory_replies.c.replied_id)),
    }
    found: dict[str, dict[str, list[Any]]] = {}
    for name, query in queries.items():
        owner, value = query.selected_columns
        rows = connection.execute(query.where(owner.in_(ids)).order_by(owner, value))
        found[name] = grouped((memory_id, each) for memory_id, each in rows)
    row = schema.beliefs.c
    spans = select(row.memory_id, row.began_at, row.ended_at).where(row.memory_id.in_(ids))
    believed = connection.execute(spans.order_by(row.memory_id, row.began_at))
    found["beliefs"] = grouped((memory_id, [*span]) for memory_id, *span in believed)
    return found


#: Those of them that a file decides about.
_NEW_PLAIN = (*(name for name in _PLAIN if name not in {"saved_by", "trust"}), "text_hash")

#: Where a text is said only once, and the text's hash; on a bridge also when.
_Said = tuple[str, str, str, str, bytes, int]
_WHERE = ("realm", "agent_id", "thread", "project_id", "text_hash", "created_at")
_SAID = tuple(rows.c[name] for name in _WHERE)


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

    They are written in their order: what one leads to comes before it, or is there. One that leads
    to nothing that is there is archived. They can be found, and posts among them wait to be
    compared with what other agents say.
    """
    hashed = [{**each, "text_hash": memory_records.digest(each["text"])} for each in found]
    here = _looked_up(connection, hashed)
    new, differing = [], []
    for each in hashed:
        there = here.texts.get(each["id"])
        if there is None and _once(each) not in here.said:
            new.append(one := _standing(each, here))
            # From here on it counts as there.
            here.texts[one["id"]] = one["text"]
            here.origins[one["id"]] = Trust.IMPORT, one["agent"], one["realm"]
            if (said := _once(one)) is not None:
                here.said.add(said)
            if one["merged_into"] is not None:
                here.taken.add((one["merged_into"], one["merged_as"]))
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


def _once(found: Found) -> _Said | None:
    """Return where a memory says what is said only once; None where it may be said again."""
    if found["status"] != MemoryStatus.ACTIVE or found["type"] not in MERGEABLE:
        return None
    return _place(*({**found, "agent_id": found["agent"]}[name] for name in _WHERE))


def _place(*said: Any) -> _Said:
    """Return where a text is said."""
    # To other readers it is another memory, and only they would see it.
    realm, *place, at = said
    return (realm, *place, at if realm == Realm.BRIDGE else 0)


def _standing(found: Found, here: _Here) -> Found:
    """Return a memory as it may be here: archived where what it leads to is not there."""
    leads = found["merged_into"] or found["replaced_by"]
    own = (Trust.IMPORT, found["agent"], found["realm"])
    if leads is None or (found["merged_into"] is None and leads in here.texts):
        return found
    # What was said here gets no parts from a file, and a whole none of another agent or realm.
    is_free = (leads, found["merged_as"]) not in here.taken if found["merged_into"] else False
    if is_free and here.origins.get(leads) == own:
        return found
    return _archived(found)


def _write(connection: Connection, new: Sequence[Found]) -> None:
    """Write the rows of new memories, and all that belongs to them."""
    if not new:
        return
    met: dict[str, int] = {}  # agents are known since the first memory that names them
    for each in new:
        for name in (each["agent"], *each["related_agents"]):
            met.setdefault(name, each["created_at"])
    bare = [replace(unknown(name, at=at), specialization="") for name, at in met.items()]
    agent_records.add(connection, bare)
    imported = {"trust": Trust.IMPORT, "merge_due": 0}
    made: dict[Table, list[dict[str, Any]]] = defaultdict(list)
    for each in new:
        own = {"memory_id": each["id"]}
        plain = {name: each.get(name) for name in _NEW_PLAIN}
        made[rows] += [{**plain, "agent_id": each["agent"], **imported}]
        read = {name: each[name] for name in ("access_count", "accessed_at", "attention")}
        weighed = each["accessed_at"] or each["created_at"]
        made[schema.memory_attention] += [{**own, **read, "weighed_at": weighed}]
        made[schema.memory_tags] += [{**own, "tag": tag} for tag in each["tags"]]
        made[schema.memory_agents] += [{**own, "agent_id": a} for a in each["related_agents"]]
        made[schema.beliefs] += [{**own, "began_at": b, "ended_at": e} for b, e in each["beliefs"]]
    for table, some in made.items():
        if some:
            connection.execute(insert(table), some)
    memory_records.settle(connection, [each["id"] for each in new])
    active = [each for each in new if each["status"] == MemoryStatus.ACTIVE]
    village.wait(connection, [each["id"] for each in active if each["realm"] != Realm.PRIVATE])


@dataclass(slots=True)
class Arrived:
    """What became of a group of records.

    Attributes:
        added: by what they are: a memory's realm, or the kind of another record.
        existing: what is there already.
        differing: ids that are there with another text: that one stays.
        unplaced: how many of those added belonged to a project that is not known here, by its name.

    """

    added: Counter[str] = field(default_factory=Counter)
    existing: int = 0
    differing: list[str] = field(default_factory=list)
    unplaced: Counter[str] = field(default_factory=Counter)


def arrive(connection: Connection, found: Sequence[Found], *, at: int) -> Arrived:
    """Write those records that are not there yet, in their order; memories many at once."""
    arrived = Arrived()
    for kind, some in groupby(_placed(connection, found), key=lambda each: each["kind"]):
        those = list(some)
        if kind == "memory":
            new, differing = take_in(connection, those)
            arrived.differing += differing
        else:
            new = [each for each in those if _ARRIVE[kind](connection, each, at)]
        arrived.added.update(each.get("realm") or each["kind"] for each in new)
        arrived.unplaced.update(each["lost"] for each in new if each.get("lost"))
        arrived.existing += len(those) - len(new)
    return arrived


def _placed(connection: Connection, found: Sequence[Found]) -> list[Found]:
    """Return records with the id of their project here.

    It is the one of their own id, else the followed one of that name, where only one is called so.
    Any other record is of no project from now on, and `lost` is what its project was called.
    """
    if not any(each.get("project_id") for each in found):
        return list(found)
    known = projects.names(connection)
    called = grouped((each.name, each.id) for each in projects.followed(connection))
    made: list[Found] = []
    for each in found:
        given, name = each.get("project_id", ""), each.get("project", "")
        if given and given not in known:
            ids = called.get(name, ())
            lost = {"project_id": "", "lost": name or given}
            made.append({**each, **({"project_id": ids[0]} if len(ids) == 1 else lost)})
        else:
            made.append(each)
    return made


def answer(connection: Connection, found: Sequence[Found]) -> None:
    """Write which memories those that came answer, where both are there by now."""
    wanted = {(each["id"], to) for each in found for to in each.get("responding_to", ())}
    trusted = _trusted(connection, {one for pair in wanted for one in pair})
    made = (
        {"memory_id": one, "replied_id": to}
        for one, to in sorted(wanted)
        if one != to and trusted.get(one) == Trust.IMPORT and to in trusted
    )
    put_rows(connection, schema.memory_replies, made, change=())


def _crumb(connection: Connection, found: Found, _at: int) -> bool:
    """Write a crumb, unless it is there."""
    crumb = replace(interchange.to_crumb(found), saved_by=Trust.IMPORT)
    known = agent_records.load_crumbs(connection, [crumb.id])
    if known or agent_records.like(connection, crumb) is not None:
        return False
    agent_records.leave(connection, crumb)
    return True


def _agent(connection: Connection, found: Found, at: int) -> bool:
    """Write a profile, unless there is one."""
    if found["id"] == DEFAULT.id:
        return False
    agent = Agent(**{name: found[name] for name in _AGENT})
    agent = replace(agent, registered_at=agent.registered_at or at)
    try:
        agent_records.require_own_name(connection, agent)
    except BadInput:  # it would be read as another agent's name
        agent = replace(agent, display_name=agent.id)
    return agent_records.add(connection, [agent])


def _change(connection: Connection, found: Found, _at: int) -> bool:
    """Write what was done with a memory, unless that is there, or the memory was said here."""
    if {*_trusted(connection, [found["memory"]]).values()} - {Trust.IMPORT}:
        return False
    columns = [each for each in schema.memory_changes.c if each.name != "id"]
    row = {each.name: found[_CHANGE.get(each.name, each.name)] for each in columns}
    same = [each == row[each.name] for each in columns if each.name in {*_CHANGE, "at"}]
    if connection.execute(select(*columns).where(*same).limit(1)).first() is not None:
        return False
    connection.execute(insert(schema.memory_changes), [row])
    return True


def _pair(connection: Connection, found: Found, _at: int) -> bool:
    """Write that two memories were parted or contradict each other, unless that is there.

    What was said here is not set against itself by a file.
    """
    both = _trusted(connection, [found["left"], found["right"]])
    if len(both) < 2 or Trust.IMPORT not in both.values():  # noqa: PLR2004 - a pair
        return False
    table = _PAIRS[found["kind"]]
    row = {each.name: found[each.name.removesuffix("_id")] for each in table.c}
    return put_rows(connection, table, [row], change=()) > 0


def _trusted(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return where those of some memories came from that are there."""
    query = select(rows.c.id, rows.c.trust)
    return {row.id: row.trust for row in rows_in(connection, query, rows.c.id, sorted(ids))}


#: Kind of any other record -> what writes one; it says whether there was anything to write.
_ARRIVE: Mapping[str, Callable[[Connection, Found, int], bool]] = {
    "crumb": _crumb,
    "agent": _agent,
    "change": _change,
    "apart": _pair,
    "conflict": _pair,
}

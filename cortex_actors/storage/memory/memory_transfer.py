"""Memories and crumbs that leave the ledger for a file, or come to it from one.

Every function takes the connection of a transaction it is part of. What the reader may not read
does not exist in an export. An import changes nothing that is there: a memory whose id is known, or
whose text is known in its place, stays as it is. What comes is marked as imported, for ever.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from cortex_actors.domain.memory import MERGEABLE, PROBE, CrumbRecord, Memory, MemoryStatus, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.storage import agent_records, memory_records, projects
from cortex_actors.storage.memory import village
from cortex_actors.storage.realms import filter_readable, match_readable
from cortex_actors.storage.tables import schema
from cortex_actors.storage.tables.columns import group_pairs, match_columns, put_rows, select_in
from cortex_actors.storage.tables.schema import memories as rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cortex_actors.render.memorycore import CarriedRecord

#: What tells where a text is said.
_PLACE = ("realm", "agent_id", "thread", "project_id", "text_hash")


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Which active memories and crumbs are meant; what is left out narrows nothing.

    Attributes:
        reader: through whose eyes; None is the owner, who reads everything.
        agent: who said them.

    """

    reader: str | None = None
    agent: str | None = None
    realm: Realm | None = None


def list_memories(
    connection: Connection, wanted: ExportFilter, *, after: str, limit: int
) -> list[Memory]:
    """Return the next active memories behind an id, with those that they answer and one may read.

    Probes of the daemon are none.
    """
    asked = {"agent_id": wanted.agent, "realm": wanted.realm, "status": MemoryStatus.ACTIVE}
    query = select(rows.c.id).where(
        rows.c.id > after,
        rows.c.agent_id != PROBE,
        match_readable(wanted.reader),
        *match_columns(rows, **asked),
    )
    ids = list(connection.execute(query.order_by(rows.c.id).limit(limit)).scalars())
    found = memory_records.load_active(connection, ids)
    answered = (to for each in found.values() for to in each.replies_to)
    seen = filter_readable(connection, answered, wanted.reader)
    return [
        replace(each, replies_to=tuple(to for to in each.replies_to if to in seen))
        for each in map(found.__getitem__, ids)
    ]


def list_crumbs(
    connection: Connection, wanted: ExportFilter, *, after: str, limit: int
) -> list[CrumbRecord]:
    """Return the next crumbs behind an id."""
    row = schema.crumbs.c
    query = select(row.id).where(row.id > after, agent_records.match_readable(wanted.reader))
    query = query.where(*match_columns(schema.crumbs, agent_id=wanted.agent))
    ids = list(connection.execute(query.order_by(row.id).limit(limit)).scalars())
    return list(map(agent_records.load_crumbs(connection, ids).__getitem__, ids))


@dataclass(slots=True)
class Arrived:
    """What became of a group of records.

    Attributes:
        added: by what they are: a memory's realm, or `crumb`.
        existing: what is there already.
        differing: ids that are there with another text: that one stays.
        unplaced: how many of those added belonged to a project that is not known here, by its name.

    """

    added: Counter[str] = field(default_factory=Counter)
    existing: int = 0
    differing: list[str] = field(default_factory=list)
    unplaced: Counter[str] = field(default_factory=Counter)


def import_records(connection: Connection, found: Sequence[CarriedRecord]) -> Arrived:
    """Write those records that are not there yet; posts wait to be compared with others'."""
    arrived, new = Arrived(), list[Memory]()
    query = select(rows.c.id, rows.c.text)
    named = select_in(connection, query, rows.c.id, {each.item.id for each in found})
    texts = {row.id: row.text for row in named}
    # Where what is said only once is said; on a bridge the same words have other readers.
    said = select(*(rows.c[name] for name in _PLACE)).where(
        rows.c.status == MemoryStatus.ACTIVE, rows.c.type.in_(MERGEABLE)
    )
    memories = [each.item for each in found if isinstance(each.item, Memory)]
    hashes = {memory_records.digest(each.text) for each in memories}
    places = {tuple(row) for row in select_in(connection, said, rows.c.text_hash, hashes)}
    for item, lost in _placed(connection, found):
        if isinstance(item, CrumbRecord):
            is_new = _keep_crumb(connection, item)
        elif item.id in texts:
            is_new = False
            arrived.differing += [item.id] if texts[item.id] != item.text else []
        else:
            digest = memory_records.digest(item.text)
            place = (item.realm, item.agent_id, item.thread, item.project_id, digest)
            is_once = item.type in MERGEABLE and item.realm is not Realm.BRIDGE
            is_new = not (is_once and place in places)
            if is_new:  # from here on it counts as there
                texts[item.id] = item.text
                places |= {place} if is_once else set()
                new.append(replace(item, replies_to=()))
        if not is_new:
            arrived.existing += 1
            continue
        arrived.added[item.realm if isinstance(item, Memory) else "crumb"] += 1
        if lost:
            arrived.unplaced[lost] += 1
    memory_records.save(connection, new)
    village.note_due(connection, [each.id for each in new if each.realm is not Realm.PRIVATE])
    return arrived


def link_replies(connection: Connection, found: Mapping[str, Iterable[str]]) -> None:
    """Write which memories those that came answer, where both are there by now."""
    wanted = sorted({(one, to) for one, some in found.items() for to in some if one != to})
    query = select(rows.c.id, rows.c.trust)
    ids = {each for pair in wanted for each in pair}
    trusted = {row.id: row.trust for row in select_in(connection, query, rows.c.id, ids)}
    made = (
        {"memory_id": one, "replied_id": to}
        for one, to in wanted
        if trusted.get(one) == Trust.IMPORT and to in trusted
    )
    put_rows(connection, schema.memory_replies, made, change=())


def _placed(
    connection: Connection, found: Sequence[CarriedRecord]
) -> Iterator[tuple[Memory | CrumbRecord, str]]:
    """Yield what came with the id of its project here, and what its project was called if none is.

    It is the one of its own id, else the followed one of that name, where only one is called so.
    Any other is of no project from now on.
    """
    known = projects.load_names(connection)
    called = group_pairs((each.name, each.id) for each in projects.list_followed(connection))
    for item, name, _secrets in found:
        if not item.project_id or item.project_id in known:
            yield item, ""
        elif len(ids := called.get(name, [])) == 1:
            yield replace(item, project_id=ids[0]), ""
        else:
            yield replace(item, project_id=""), name or item.project_id


def _keep_crumb(connection: Connection, crumb: CrumbRecord) -> bool:
    """Write a crumb, unless it is there."""
    known = agent_records.load_crumbs(connection, [crumb.id])
    if known or agent_records.find_same(connection, crumb) is not None:
        return False
    agent_records.leave(connection, crumb)
    return True

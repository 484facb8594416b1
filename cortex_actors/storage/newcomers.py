"""Memories that come from a file, a whole group at once: which of them are new, and their rows.

What is there is looked up once for the group, and what the group itself brings counts as there from
then on. Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select

from cortex_actors.domain.memory import MemoryStatus, Realm
from cortex_actors.domain.project import Trust
from cortex_actors.storage import agents as known
from cortex_actors.storage import convergences, memories
from cortex_actors.storage.schema import (
    agents,
    beliefs,
    memory_agents,
    memory_attention,
    memory_tags,
)
from cortex_actors.storage.schema import memories as rows
from cortex_actors.storage.tables.columns import chunks
from cortex_actors.storage.tables.memory import MERGEABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Found = Mapping[str, Any]

#: Columns of a memory that a record has under their own names.
_PLAIN = (
    *("id", "realm", "thread", "layer", "type", "text", "role", "abstract", "summary", "status"),
    *("merged_into", "merged_as", "merged_at", "merged_by", "merged_why", "replaced_by"),
    *("replaced_at", "archived_at", "created_at", "layer_since", "promoted_at", "pinned_at"),
    *("said_from", "said_until", "text_hash"),
)

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
    for some in chunks({each["id"] for each in found} | leads):
        query = select(rows.c.id, rows.c.text, rows.c.trust, rows.c.agent_id, rows.c.realm)
        for row in connection.execute(query.where(rows.c.id.in_(some))):
            here.texts[row.id] = row.text
            here.origins[row.id] = row.trust, row.agent_id, row.realm
    for some in chunks({each["text_hash"] for each in found}):
        said = select(*_SAID).where(
            rows.c.text_hash.in_(some),
            rows.c.status == MemoryStatus.ACTIVE,
            rows.c.type.in_(MERGEABLE),
        )
        here.said.update(_place(*row) for row in connection.execute(said))
    for some in chunks({each["merged_into"] for each in found} - {None}):
        parts = select(rows.c.merged_into, rows.c.merged_as).where(rows.c.merged_into.in_(some))
        here.taken.update((row.merged_into, row.merged_as) for row in connection.execute(parts))
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
    plain = [{name: each.get(name) for name in _PLAIN} for each in new]
    both = zip(plain, new, strict=True)
    made = [{**row, "agent_id": each["agent"], **imported} for row, each in both]
    connection.execute(insert(rows), made)
    connection.execute(insert(memory_attention), [_attention(each) for each in new])
    links = (
        (memory_tags, [{"memory_id": e["id"], "tag": t} for e in new for t in e["tags"]]),
        (
            memory_agents,
            [{"memory_id": e["id"], "agent_id": a} for e in new for a in e["related_agents"]],
        ),
        (beliefs, [span for each in new for span in _spans(each)]),
    )
    for table, linked in links:
        if linked:
            connection.execute(insert(table), linked)
    memories.settle(connection, [each["id"] for each in new])
    convergences.wait(connection, [each["id"] for each in new if _is_post(each)])


def _meet(connection: Connection, new: Iterable[Found]) -> None:
    """Let the agents of memories be known since the first of these that names them."""
    met: dict[str, int] = {}
    for each in new:
        for name in (each["agent"], *each["related_agents"]):
            met.setdefault(name, each["created_at"])
    for some in chunks(list(met)):
        query = select(agents.c.id).where(agents.c.id.in_(some))
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

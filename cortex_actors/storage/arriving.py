"""What comes to the ledger from a file: records that were looked at, and are not there yet.

Every function takes the connection of a transaction it is part of. Nothing that is there is
changed: a memory whose id is known, or whose text is known in its place, stays as it is, and so
does everything else that has a name; it gets no parts, and no history, from a file. What comes is
marked as imported, for ever.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from cortex_actors.domain.agent import BUILT_IN, Agent
from cortex_actors.domain.memory import Crumb, CrumbType, Priority
from cortex_actors.domain.project import Trust
from cortex_actors.errors import BadInput
from cortex_actors.storage import agents as known
from cortex_actors.storage import crumbs, newcomers
from cortex_actors.storage.schema import (
    agents,
    memory_apart,
    memory_changes,
    memory_conflicts,
    memory_replies,
)
from cortex_actors.storage.schema import memories as rows
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Found = Mapping[str, Any]


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
            new, differing = newcomers.take_in(connection, those)
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
    trusted: dict[str, str] = {}
    for some in chunks(ids):
        there = connection.execute(query.where(rows.c.id.in_(some)))
        trusted.update((row.id, row.trust) for row in there)
    made = [
        {"memory_id": one, "replied_id": to}
        for one, to in sorted(wanted)
        if one != to and trusted.get(one) == Trust.IMPORT and to in trusted
    ]
    if made:
        connection.execute(insert_or(memory_replies).on_conflict_do_nothing(), made)


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
    if crumbs.by_id(connection, [crumb.id]) or crumbs.like(connection, crumb) is not None:
        return False
    crumbs.leave(connection, crumb)
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
    done = connection.execute(insert_or(agents).on_conflict_do_nothing(), [row])
    return done.rowcount > 0


def _change(connection: Connection, found: Found, _at: int) -> bool:
    """Write what was done with a memory, unless that is there, or the memory was said here."""
    if _are_ours(connection, [found["memory"]]):
        return False
    column = memory_changes.c
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
    connection.execute(insert(memory_changes), [row])
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
    table = memory_apart if found["kind"] == "apart" else memory_conflicts
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

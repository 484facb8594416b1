"""Lineage: what a memory was made of, and what it has become part of.

A merge is a pointer from a part to its whole (`memories.merged_into`), and wholes become parts in
turn: the pointers are followed by the database or in a loop, however many there are, and a ring of
them (somebody wrote by hand) is walked once. Every function takes a connection and only reads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.storage.ledger.connection import driver_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

#: Characters of a text that stand for a memory without an abstract.
_BRIEF = 200

_UP = (
    "WITH RECURSIVE up(id, whole) AS (SELECT id, merged_into FROM memories"
    " WHERE id IN (SELECT value FROM json_each(?))"
    " UNION SELECT m.id, m.merged_into FROM up JOIN memories AS m ON m.id = up.whole)"
    " SELECT up.id, up.whole, m.status FROM up JOIN memories AS m ON m.id = up.id"
)

_DOWN = (
    "WITH RECURSIVE down(id) AS (SELECT id FROM memories"
    " WHERE id IN (SELECT value FROM json_each(?))"
    " UNION SELECT m.id FROM down JOIN memories AS m ON m.merged_into = down.id)"
)
_BELOW = f"{_DOWN} SELECT id FROM down"  # noqa: S608 - ours
_LEAVES = (
    f"{_DOWN} SELECT id FROM down WHERE NOT EXISTS"  # noqa: S608 - ours
    " (SELECT 1 FROM memories AS m WHERE m.merged_into = down.id) ORDER BY id"
)
_TREE = (
    f"{_DOWN} SELECT m.id, m.merged_into, m.status,"  # noqa: S608 - ours
    f" iif(m.abstract = '', substr(m.text, 1, {_BRIEF}), m.abstract)"
    " FROM down JOIN memories AS m ON m.id = down.id ORDER BY m.merged_as"
)


@dataclass(frozen=True, slots=True)
class Node:
    """One memory of a lineage.

    Attributes:
        abstract: its abstract, else the beginning of its text.
        depth: how many wholes it lies in, as seen from where the lineage begins: 0 for that one.
        parent: the whole it is part of, within the lineage; None where this begins.
        is_leaf: whether it was made of nothing else: somebody said it.

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


def wholes(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the outermost whole that each memory is part of, itself if of none.

    Unknown ids are left out; of a ring, it is the memory behind which the ring closes.
    """
    return {each: found for each, (found, _) in _outermost(connection, ids).items()}


def current(connection: Connection, ids: Iterable[str]) -> dict[str, str | None]:
    """Return the active memory that each stands for: itself, or the whole it is part of by now.

    None where there is none: it is unknown, or it, or its whole, was archived or superseded.
    """
    wanted = list(ids)
    found = _outermost(connection, wanted) if wanted else {}
    return {
        each: found[each][0] if each in found and found[each][1] == MemoryStatus.ACTIVE else None
        for each in wanted
    }


def below(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return everything that those memories were made of, without themselves."""
    wanted = list(ids)
    rows = driver_of(connection).execute(_BELOW, (json.dumps(wanted),))
    return {each for (each,) in rows} - set(wanted)


def leaves(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return what was said, in the end, of all that those memories were made of."""
    rows = driver_of(connection).execute(_LEAVES, (json.dumps(list(ids)),))
    return [each for (each,) in rows]


def tree(connection: Connection, memory_id: str) -> list[Node]:
    """Return what a memory was made of: itself first, then each part with all of its own.

    Nothing for one that is unknown. The parts of a whole come in the order of the merge.
    """
    rows = driver_of(connection).execute(_TREE, (json.dumps([memory_id]),)).fetchall()
    said = {row[0]: (MemoryStatus(row[2]), row[3]) for row in rows}
    parts: dict[str, list[str]] = {}
    for each, whole, _, _ in rows:
        if whole in said:
            parts.setdefault(whole, []).append(each)
    return _walked(memory_id, said, parts)


def _walked(
    root: str, said: Mapping[str, tuple[MemoryStatus, str]], parts: Mapping[str, list[str]]
) -> list[Node]:
    """Return the nodes below one in the order in which they are read, each once."""
    found: list[Node] = []
    seen: set[str] = set()
    waiting: list[tuple[str, str | None, int]] = [(root, None, 0)] if root in said else []
    while waiting:
        each, parent, depth = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        status, abstract = said[each]
        mine = parts.get(each, [])
        found.append(Node(each, status, abstract, depth, parent, is_leaf=not mine))
        waiting.extend((part, each, depth + 1) for part in reversed(mine))
    return found


def _outermost(connection: Connection, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the whole behind which no other is, and its state, for each memory."""
    wanted = list(dict.fromkeys(ids))
    rows = driver_of(connection).execute(_UP, (json.dumps(wanted),)).fetchall()
    whole = {each: into for each, into, _ in rows}
    status = {each: state for each, _, state in rows}
    top: dict[str, str] = {}
    for each in wanted:
        if each in whole:
            _climb(each, whole, top)
    return {each: (top[each], status[top[each]]) for each in wanted if each in top}


def _climb(start: str, whole: Mapping[str, str | None], top: dict[str, str]) -> None:
    """Write where the pointers from a memory lead, for all of the way."""
    way: dict[str, None] = {}
    each = start
    while each not in top and each not in way:
        way[each] = None
        into = whole.get(each)
        if into is None or into not in whole:
            break
        each = into
    end = top.get(each, each)
    for passed in way:
        top[passed] = end

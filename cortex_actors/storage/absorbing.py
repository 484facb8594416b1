"""Absorbing: what remembering was planned to do, done in one transaction, if it still holds.

A plan was thought out beside the transactions. Here it is looked at again: every memory that is to
become a part must be active and not pinned, and no active memory of the scope may say already what
one of the new ones is to say. Else nothing is written, and whoever planned plans again.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, select, update

from cortex_actors.domain.memory import ChangeKind, Memory, MemoryStatus, Realm
from cortex_actors.errors import BadInput, NotFound, Refused
from cortex_actors.storage import (
    convergences,
    embedded,
    lineage,
    memories,
    memorychanges,
    memoryconflicts,
    memoryrows,
    memorystates,
    realms,
    schema,
    vicinity,
)
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.memorychanges import Change
from cortex_actors.storage.tables.memory import MERGEABLE
from cortex_actors.storage.vicinity import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.agent import Caller
    from cortex_actors.domain.insight import Decider
    from cortex_actors.storage.blobs import Matrix

_FIRST = "SELECT json_extract(payload, '$.ids[0]') FROM events WHERE idempotency_key = ?"
_NAME = "UPDATE events SET idempotency_key = ? WHERE seq = ?"


class Merge(Protocol):
    """One merge of a plan."""

    @property
    def whole(self) -> Memory:
        """What the two become."""

    @property
    def part(self) -> Memory:
        """What was known before."""

    @property
    def by(self) -> Decider:
        """Which layer decided."""

    @property
    def why(self) -> str:
        """Why."""


class Against(Protocol):
    """One contradiction of a plan."""

    @property
    def memory_id(self) -> str:
        """What contradicts."""

    @property
    def by(self) -> Decider:
        """Which layer says so."""

    @property
    def why(self) -> str:
        """Why."""


class Planned(Protocol):
    """What is to be written."""

    @property
    def first(self) -> Memory:
        """The memory that it begins with."""

    @property
    def is_new(self) -> bool:
        """Whether that has still to be written."""

    @property
    def steps(self) -> Sequence[Merge]:
        """The merges, in order."""

    @property
    def clashes(self) -> Sequence[Against]:
        """What contradicts it."""

    @property
    def vectors(self) -> Mapping[bytes, Matrix]:
        """By the hash of the text."""

    @property
    def last(self) -> Memory:
        """What is active in the end."""


@dataclass(frozen=True, slots=True)
class How:
    """Who has something written, when, and in which vector space.

    Attributes:
        by: who is responsible: `owner`, an agent, or `archivist`.
        quiet: whether nothing is noted of it: it is a trial.

    """

    by: str
    at: int
    model: str
    quiet: bool = False


def commit(connection: Connection, plan: Planned, how: How) -> bool:
    """Write a plan; False, and nothing is written, when it does not hold any more."""
    if not _holds(connection, plan):
        return False
    if plan.is_new:
        memories.save(connection, [plan.first])
        memorystates.begin(connection, [plan.first.id], how.at)
    else:
        compared(connection, plan.first.id)
    embedded.keep_vectors(connection, how.model, plan.vectors)
    node = plan.first.id
    for step in plan.steps:
        _merge(connection, node, step, how)
        node = step.whole.id
    _clash(connection, node, plan.clashes, how)
    if plan.first.realm is not Realm.PRIVATE and (plan.is_new or plan.steps):
        convergences.wait(connection, [node])  # for what other agents say
    return True


def known(connection: Connection, memory: Memory, *, merged: bool) -> Memory | None:
    """Return the active memory that says already what a new one is to say.

    With `merged`, also the one that such a memory has become part of.
    """
    if memory.type not in MERGEABLE:
        return None
    look = vicinity.known if merged else vicinity.says
    found = look(connection, Scope.of(memory), _digest(memory.text))
    return None if found is None else memories.by_id(connection, [found]).get(found)


def compared(connection: Connection, memory_id: str) -> None:
    """Note that a memory has been compared with the others."""
    mine = update(schema.memories).where(schema.memories.c.id == memory_id)
    connection.execute(mine.values(merge_due=0))


def due(connection: Connection, limit: int) -> list[Memory]:
    """Return active memories that have still to be compared, oldest first.

    One that is pinned waits until it is not: no plan for it would hold.
    """
    row = schema.memories.c
    query = select(row.id).where(
        row.merge_due == 1,
        row.status == MemoryStatus.ACTIVE,
        row.pinned_at.is_(None),
        row.type.in_(MERGEABLE),
        row.realm != Realm.VILLAGE,
    )
    ids = connection.execute(query.order_by(row.id).limit(limit)).scalars().all()
    found = memories.by_id(connection, ids)
    return [found[each] for each in ids if each in found]


def replace(connection: Connection, ids: Sequence[str], new_id: str, how: How) -> tuple[str, ...]:
    """Let active memories be superseded by a new one; return which were.

    Who may have that done is asked before.
    """
    done = [each for each in ids if memorystates.supersede(connection, each, new_id, how.at)]
    for each in done:
        if not how.quiet:
            change = Change(ChangeKind.SUPERSEDE, each, by=how.by, at=how.at, others=(new_id,))
            memorychanges.note(connection, change)
    return tuple(done)


def replaced(
    connection: Connection,
    ids: Sequence[str],
    caller: Caller,
    *,
    agent: str,
    is_new: bool = True,
) -> tuple[str, ...]:
    """Return the active memories that are to be superseded by one that is said.

    Raises `NotFound` and `NotYours` for what is not there for the caller, or not its own, `Refused`
    for what is another agent's than who says that one, and where it `is_new` for what does not hold
    any more: said again, it has done so before.
    """
    if not ids:
        return ()
    realms.require_own(connection, ids, caller)
    realms.require_said_by(connection, ids, agent)
    found = lineage.current(connection, ids)
    for each, now in found.items():
        if now is None and is_new:
            message = f"cannot supersede #{each}: it does not hold any more"
            raise Refused(f"{message}; see: cortex memory show {each}")
    return tuple(dict.fromkeys(now for now in found.values() if now is not None))


def keyed(connection: Connection, key: str, text: str) -> Memory | None:
    """Return what has become of what was remembered under a key; None for a new key.

    Raises `BadInput` for a key that stands for another text, `NotFound` for one whose memory was
    forgotten.
    """
    found = driver_of(connection).execute(_FIRST, (key,)).fetchone()
    if found is None:
        return None
    row = schema.memories.c
    said = connection.execute(select(row.text_hash).where(row.id == found[0])).scalar()
    if said is None:
        message = "what was remembered under this idempotency key was forgotten; use another key"
        raise NotFound(message)
    if said != _digest(text):
        message = (
            "this idempotency key was used to remember another text; give what differs a key of "
            "its own"
        )
        raise BadInput(message)
    now = lineage.current(connection, [found[0]])[found[0]] or str(found[0])
    return memoryrows.read(connection, [now], MemoryStatus)[now]


def keep_key(connection: Connection, seq: int, key: str) -> None:
    """Keep a client's key with the event that says what was remembered under it."""
    driver_of(connection).execute(_NAME, (key, seq))


def _holds(connection: Connection, plan: Planned) -> bool:
    """Tell whether what a plan was thought out for is still so."""
    parts = [each.part for each in plan.steps]
    ids = [each.id for each in parts] + ([] if plan.is_new else [plan.first.id])
    if ids:
        row = schema.memories.c
        query = select(row.id).where(
            row.id.in_(ids), row.status == MemoryStatus.ACTIVE, row.pinned_at.is_(None)
        )
        if set(connection.execute(query).scalars()) != set(ids):
            return False
    said = {plan.first.text, *(each.text for each in parts)}
    return all(
        vicinity.says(connection, Scope.of(each.whole), _digest(each.whole.text)) is None
        for each in plan.steps
        if each.whole.text not in said
    )


def _clash(connection: Connection, node: str, clashes: Sequence[Against], how: How) -> None:
    """Note what contradicts a memory, but for what was forgotten since it was thought out."""
    row = schema.memories.c
    query = select(row.id).where(row.id.in_([each.memory_id for each in clashes]))
    there = set(connection.execute(query).scalars()) if clashes else set()
    for each in clashes:
        if each.memory_id in there:
            memoryconflicts.note(
                connection, node, each.memory_id, by=each.by, reason=each.why, at=how.at
            )


def _merge(connection: Connection, node: str, step: Merge, how: How) -> None:
    """Make one memory of two, and note it."""
    parts = (node, step.part.id)
    memorystates.form(connection, step.whole, parts, at=how.at, by=step.by, why=step.why)
    if not how.quiet:
        change = Change(
            ChangeKind.MERGE, step.whole.id, by=how.by, at=how.at, others=parts, reason=step.why
        )
        memorychanges.note(connection, change)


def _digest(text: str) -> bytes:
    """Return the SHA-256 by which a text is known."""
    return sha256(text.encode()).digest()

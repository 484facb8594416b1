"""Absorbing: what remembering was planned to do, done in one transaction, if it still holds.

A plan was thought out beside the transactions. Here it is looked at again: every memory that is to
become a part must be active and not pinned, and no active memory of the scope may say already what
one of the new ones is to say. Else nothing is written, and the caller plans again.

Consolidating: of two memories that say the same, one is kept and the other becomes part of it.

Nothing is deleted: the one that goes is merged into the one that stays, which gets its accesses,
its tags, and its layer where that is the deeper one; the attention of either is then never more
than that of the one that is kept. What it was before is noted, so that taking the two apart gives
it back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import MERGEABLE, ChangeKind, Layer, Memory, MemoryStatus, Realm
from cortex_actors.errors import BadInput, NotFound, Refused
from cortex_actors.rules import decay
from cortex_actors.rules.contradiction import DEFAULTS
from cortex_actors.rules.decay import Decay, is_deeper
from cortex_actors.rules.merging import MergeGates, MergeVerdict, judge_pair
from cortex_actors.storage import embeddings, memory_history, memory_records, realms
from cortex_actors.storage.memory import memory_states, village
from cortex_actors.storage.memory.memory_lists import LEAST
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.storage.search import similar_memories
from cortex_actors.storage.search.similar_memories import MergeScope
from cortex_actors.storage.tables.columns import change_in, change_rows, put_rows
from cortex_actors.storage.tables.schema import events, memories, memory_attention, memory_tags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.agent import Caller


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One merge: what was said so far, and a memory that was known, become `whole`."""

    whole: Memory
    part: Memory
    by: Decider
    why: str


@dataclass(frozen=True, slots=True)
class MemoryClash:
    """A memory that cannot hold beside the one that is remembered."""

    memory_id: str
    by: Decider
    why: str


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What is to be written, all of it or nothing.

    Attributes:
        first: the memory that it begins with.
        is_new: whether `first` has still to be written: one that was saved without a vector and is
            compared now has been.
        steps: the merges, in order; each whole is a part of the next.
        clashes: what contradicts it, of what stays active.
        vectors: by the hash of the text; of what has none, the indexer makes one.
        known: the memory that says it already: then nothing is written.

    """

    first: Memory
    is_new: bool = True
    steps: tuple[MergeStep, ...] = ()
    clashes: tuple[MemoryClash, ...] = ()
    vectors: Mapping[bytes, embeddings.Matrix] = field(default_factory=dict)
    known: str | None = None

    @property
    def last(self) -> Memory:
        """The memory that is active in the end."""
        return self.steps[-1].whole if self.steps else self.first

    @property
    def absorbed(self) -> tuple[str, ...]:
        """The memories that were known before and become parts."""
        return tuple(each.part.id for each in self.steps)

    def as_unmerged(self) -> MergePlan:
        """Return the plan that only saves what it begins with, to be compared later."""
        first = replace(self.first, merge_due=True)
        return replace(self, first=first, steps=(), clashes=())


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


def commit(connection: Connection, plan: MergePlan, how: How) -> bool:
    """Write a plan; False, and nothing is written, when it does not hold any more."""
    if not _holds(connection, plan):
        return False
    if plan.is_new:
        memory_records.save(connection, [plan.first])
    else:
        mark_compared(connection, plan.first.id)
    embeddings.keep_vectors(connection, how.model, plan.vectors)
    node = plan.first.id
    for step in plan.steps:
        parts, node = (node, step.part.id), step.whole.id
        memory_states.write_whole(
            connection, step.whole, parts, at=how.at, by=step.by, why=step.why
        )
        if not how.quiet:
            change = MemoryChange(
                ChangeKind.MERGE, node, by=how.by, at=how.at, others=parts, reason=step.why
            )
            memory_history.note(connection, change)
    # What contradicts it is noted, but for what was forgotten since it was thought out.
    query = select(memories.c.id).where(memories.c.id.in_([e.memory_id for e in plan.clashes]))
    there = set(connection.execute(query).scalars()) if plan.clashes else set()
    for each in plan.clashes:
        if each.memory_id in there:
            similar_memories.note_conflict(
                connection, node, each.memory_id, by=each.by, reason=each.why, at=how.at
            )
    if plan.first.realm is not Realm.PRIVATE and (plan.is_new or plan.steps):
        village.note_due(connection, [node])  # for what other agents say
    return True


def find_known(connection: Connection, memory: Memory, *, merged: bool) -> Memory | None:
    """Return the active memory that says already what a new one is to say.

    With `merged`, also the one that such a memory has become part of.
    """
    if memory.type not in MERGEABLE:
        return None
    look = similar_memories.find_active if merged else similar_memories.find_text
    found = look(connection, MergeScope.from_memory(memory), memory_records.digest(memory.text))
    return None if found is None else memory_records.load_active(connection, [found]).get(found)


def mark_compared(connection: Connection, memory_id: str) -> None:
    """Note that a memory has been compared with the others."""
    change_rows(connection, memories, [{"one": memory_id, "merge_due": 0}])


def list_due(connection: Connection, limit: int) -> list[Memory]:
    """Return active memories that have still to be compared, oldest first.

    One that is pinned waits until it is not: no plan for it would hold.
    """
    row = memories.c
    query = select(row.id).where(
        row.merge_due == 1,
        row.status == MemoryStatus.ACTIVE,
        row.pinned_at.is_(None),
        row.type.in_(MERGEABLE),
        row.realm != Realm.VILLAGE,
    )
    ids = connection.execute(query.order_by(row.id).limit(limit)).scalars().all()
    found = memory_records.load_active(connection, ids)
    return [found[each] for each in ids if each in found]


def replace_memory(
    connection: Connection, ids: Sequence[str], new_id: str, how: How
) -> tuple[str, ...]:
    """Let active memories be superseded by a new one; return which were.

    Who may have that done is asked before.
    """
    done = [each for each in ids if memory_states.supersede(connection, each, new_id, how.at)]
    if not how.quiet:
        change = MemoryChange(ChangeKind.SUPERSEDE, "", by=how.by, at=how.at, others=(new_id,))
        memory_history.note(connection, *(replace(change, memory_id=each) for each in done))
    return tuple(done)


def list_replaced(
    connection: Connection, ids: Sequence[str], caller: Caller, *, agent: str, is_new: bool = True
) -> tuple[str, ...]:
    """Return the active memories that are to be superseded by one that is said.

    Raises `NotFound` and `NotYours` for what is not there for the caller, or not its own, `Refused`
    for what is another agent's than who says that one, and where it `is_new` for what does not hold
    any more: said again, it has done so before.
    """
    if not ids:
        return ()
    realms.require_own(connection, ids, caller)
    memory_records.require_said_by(connection, ids, agent)
    found = memory_history.find_current(connection, ids)
    for each, now in found.items():
        if now is None and is_new:
            message = f"cannot supersede #{each}: it does not hold any more"
            raise Refused(f"{message}; see: cortex memory show {each}")
    return tuple(dict.fromkeys(now for now in found.values() if now is not None))


def find_by_key(connection: Connection, key: str, text: str) -> Memory | None:
    """Return what has become of what was remembered under a key; None for a new key.

    Raises `BadInput` for a key that was used with another text, `NotFound` for one whose memory was
    forgotten.
    """
    first = select(events.c.payload[("ids", 0)].as_string())
    found = connection.execute(first.where(events.c.idempotency_key == key)).first()
    if found is None:
        return None
    row = memories.c
    said = connection.execute(select(row.text_hash).where(row.id == found[0])).scalar()
    if said is None:
        raise NotFound(
            "what was remembered under this idempotency key was forgotten; use another key"
        )
    if said != memory_records.digest(text):
        raise BadInput(
            "this idempotency key was used to remember another text; give what differs a key of "
            "its own"
        )
    now = memory_history.find_current(connection, [found[0]])[found[0]] or str(found[0])
    return memory_records.read(connection, [now], MemoryStatus)[now]


def keep_key(connection: Connection, seq: int, key: str) -> None:
    """Keep a client's key with the event that says what was remembered under it."""
    change_in(connection, events.c.seq, [seq], {"idempotency_key": key})


def _holds(connection: Connection, plan: MergePlan) -> bool:
    """Tell whether what a plan was thought out for is still so."""
    parts = [each.part for each in plan.steps]
    ids = [each.id for each in parts] + ([] if plan.is_new else [plan.first.id])
    if ids:
        row = memories.c
        query = select(row.id).where(
            row.id.in_(ids), row.status == MemoryStatus.ACTIVE, row.pinned_at.is_(None)
        )
        if set(connection.execute(query).scalars()) != set(ids):
            return False
    said = {plan.first.text, *(each.text for each in parts)}
    wholes = [each.whole for each in plan.steps if each.whole.text not in said]
    return not any(
        similar_memories.find_text(
            connection, MergeScope.from_memory(each), memory_records.digest(each.text)
        )
        for each in wholes
    )


class Keep(StrEnum):
    """Which of two memories is kept, beside naming one."""

    #: The one that was read more often; of equals the first.
    HIGHER_ACCESS = "higher_access"
    #: The one with more attention now; of equals the first.
    HIGHER_ATTENTION = "higher_attention"


def choose_kept(
    first: Memory, second: Memory, keep: str, *, now: int, decays: Mapping[Layer, Decay]
) -> tuple[Memory, Memory]:
    """Return which of two memories is kept, and which goes.

    `keep` is a word of `Keep`, or the id of one of the two, or the beginning of it. Raises
    `BadInput` for any other, and for two of which one cannot replace the other.
    """
    _must_fit(first, second)
    given = keep.strip().removeprefix("#").lower()
    ids = [each.id.lower() for each in (first, second)]
    named = [
        len(given) >= LEAST and any(it.startswith(given) for it in (each, each.partition("_")[2]))
        for each in ids
    ]
    if given == Keep.HIGHER_ACCESS:
        is_first = first.access_count >= second.access_count
    elif given == Keep.HIGHER_ATTENTION:
        is_first = decay.compute_attention(first, now, decays) >= decay.compute_attention(
            second, now, decays
        )
    elif sum(named) == 1:
        is_first = named[0]
    else:
        raise BadInput(
            f"cannot keep {keep!r} of {first.id} and {second.id}: keep is {Keep.HIGHER_ACCESS}, "
            f"{Keep.HIGHER_ATTENTION}, or the id of one of the two"
        )
    return (first, second) if is_first else (second, first)


def consolidate(
    connection: Connection,
    kept: Memory,
    gone: Memory,
    *,
    at: int,
    by: str,
    decays: Mapping[Layer, Decay],
    reader: str | None = None,
) -> int:
    """Make one active memory part of another; return the change's number for the reader.

    Raises `Refused` where the one that goes is pinned, and where the two cannot both hold.
    """
    _must_agree(connection, kept, gone)
    row = memory_attention.c
    names = ("access_count", "accessed_at", "attention", "weighed_at", "due_at")
    held = select(*(row[name] for name in names)).where(row.memory_id == kept.id)
    before = {
        **connection.execute(held).mappings().one(),
        "tags": list(kept.tags),
        "layer": str(kept.layer),
        "layer_since": kept.layer_since,
        "promoted_at": kept.promoted_at,
    }
    if not memory_states.merge(connection, kept.id, [gone.id], at=at, by=Decider.PERSON):
        raise Refused(
            f"cannot make {gone.id} part of {kept.id}: it is pinned, and so kept as it is; "
            f"keep that one, or unpin it first: cortex memory unpin {gone.id}"
        )
    _give(connection, kept, gone, at=at, decays=decays)
    change = MemoryChange(
        ChangeKind.CONSOLIDATE, kept.id, by=by, at=at, others=(gone.id,), before=before
    )
    (number,) = memory_history.note(connection, change)
    return memory_history.find_number(replace(change, id=number), reader)


def _must_fit(first: Memory, second: Memory) -> None:
    """Raise `BadInput` for two memories of which one cannot replace the other."""
    if first.id == second.id:
        raise BadInput(f"cannot consolidate {first.id} with itself: name two memories")
    if first.project_id != second.project_id:
        raise BadInput(
            f"cannot consolidate {first.id} and {second.id}: they belong to different projects, or "
            "one of them to none"
        )
    if (first.realm, first.agent_id) != (second.realm, second.agent_id):
        sides = [f"{each.id} is {each.agent_id}'s in {each.realm}" for each in (first, second)]
        message = "cannot consolidate two memories of different voices or readers"
        raise BadInput(f"{message}: {' and '.join(sides)}")
    if first.realm is Realm.BRIDGE and first.readers != second.readers:
        raise BadInput(
            f"cannot consolidate {first.id} and {second.id}: others may read the one than the other"
        )


def _must_agree(connection: Connection, kept: Memory, gone: Memory) -> None:
    """Raise `Refused` for two memories that contradict each other, unless a person kept both."""
    if similar_memories.is_kept(connection, kept.id, gone.id):
        return
    pair = f"cannot consolidate {kept.id} and {gone.id}: they cannot both hold"
    noted = dict(similar_memories.load_conflicts(connection, [kept.id]).get(kept.id, ()))
    if gone.id in noted:
        message = f"{pair} ({noted[gone.id]}); say which does: cortex memory supersede OLD NEW"
        raise Refused(f"{message}, or that both do: cortex memory keep-both {kept.id} {gone.id}")
    found = judge_pair(kept.text, gone.text, 1.0, gates=MergeGates(), thresholds=DEFAULTS)
    if found.verdict is MergeVerdict.CONFLICT:
        message = f"{pair} ({found.why}); say which does: cortex memory supersede OLD NEW"
        raise Refused(f"{message}, or leave both as they are")


def _give(
    connection: Connection, kept: Memory, gone: Memory, *, at: int, decays: Mapping[Layer, Decay]
) -> None:
    """Write what the memory that is kept has of both."""
    if is_deeper(gone.layer, kept.layer):
        promoted = _latest(kept.promoted_at, gone.promoted_at)
        values = {"layer": gone.layer, "layer_since": at, "promoted_at": promoted}
        change_rows(connection, memories, [{"one": kept.id, **values}])
    read = {
        "access_count": kept.access_count + gone.access_count,
        "accessed_at": _latest(kept.accessed_at, gone.accessed_at),
        "attention": max(decay.compute_attention(each, at, decays) for each in (kept, gone)),
        "weighed_at": at,
    }
    change_in(connection, memory_attention.c.memory_id, [kept.id], read)
    new = [tag for tag in gone.tags if tag not in kept.tags]
    put_rows(connection, memory_tags, ({"memory_id": kept.id, "tag": tag} for tag in new))


def _latest(*times: int | None) -> int | None:
    """Return the latest of some times; None where there is none."""
    return max((each for each in times if each is not None), default=None)

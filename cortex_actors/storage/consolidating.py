"""Consolidating: of two memories that say the same, one is kept and the other becomes part of it.

Nothing is deleted: the one that goes is merged into the one that stays, which gets its accesses,
its tags, and its layer where that is the deeper one; the attention of either is then never more
than that of the one that is kept. What it was before is noted, so that taking the two apart gives
it back.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select, update

from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import ChangeKind, Realm
from cortex_actors.errors import BadInput, Refused
from cortex_actors.rules import decay
from cortex_actors.rules.contradiction import DEFAULTS
from cortex_actors.rules.decay import is_deeper
from cortex_actors.rules.merging import Gates, Verdict, ruled
from cortex_actors.storage import memorychanges, memoryconflicts, memorystates
from cortex_actors.storage.memorychanges import Change
from cortex_actors.storage.memorylist import LEAST
from cortex_actors.storage.schema import memories, memory_attention, memory_tags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.memory import Layer, Memory
    from cortex_actors.rules.decay import Decay


class Keep(StrEnum):
    """Which of two memories is kept, beside naming one."""

    #: The one that was read more often; of equals the first.
    HIGHER_ACCESS = "higher_access"
    #: The one with more attention now; of equals the first.
    HIGHER_ATTENTION = "higher_attention"


def chosen(
    first: Memory, second: Memory, keep: str, *, now: int, decays: Mapping[Layer, Decay]
) -> tuple[Memory, Memory]:
    """Return which of two memories is kept, and which goes.

    `keep` is a word of `Keep`, or the id of one of the two, or the beginning of it. Raises
    `BadInput` for any other, and for two of which one cannot stand for the other.
    """
    _must_fit(first, second)
    given = keep.strip().removeprefix("#").lower()
    named = [_is_named(each.id, given) for each in (first, second)]
    if given == Keep.HIGHER_ACCESS:
        is_first = first.access_count >= second.access_count
    elif given == Keep.HIGHER_ATTENTION:
        is_first = decay.of(first, now, decays) >= decay.of(second, now, decays)
    elif sum(named) == 1:
        is_first = named[0]
    else:
        message = (
            f"cannot keep {keep!r} of {first.id} and {second.id}: keep is {Keep.HIGHER_ACCESS}, "
            f"{Keep.HIGHER_ATTENTION}, or the id of one of the two"
        )
        raise BadInput(message)
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
    before = _before(connection, kept)
    if not memorystates.merge(connection, kept.id, [gone.id], at=at, by=Decider.PERSON):
        message = (
            f"cannot make {gone.id} part of {kept.id}: it is pinned, and so kept as it is; "
            f"keep that one, or unpin it first: cortex memory unpin {gone.id}"
        )
        raise Refused(message)
    _give(connection, kept, gone, at=at, decays=decays)
    change = Change(ChangeKind.CONSOLIDATE, kept.id, by=by, at=at, others=(gone.id,), before=before)
    (row,) = memorychanges.note(connection, change)
    return memorychanges.number_of(replace(change, id=row), reader)


def _must_fit(first: Memory, second: Memory) -> None:
    """Raise `BadInput` for two memories of which one cannot stand for the other."""
    if first.id == second.id:
        raise BadInput(f"cannot consolidate {first.id} with itself: name two memories")
    if (first.realm, first.agent_id) != (second.realm, second.agent_id):
        sides = " and ".join(
            f"{each.id} is {each.agent_id}'s in {each.realm}" for each in (first, second)
        )
        message = f"cannot consolidate two memories of different voices or readers: {sides}"
        raise BadInput(message)
    if first.realm is Realm.BRIDGE and first.readers != second.readers:
        message = (
            f"cannot consolidate {first.id} and {second.id}: others may read the one than the other"
        )
        raise BadInput(message)


def _must_agree(connection: Connection, kept: Memory, gone: Memory) -> None:
    """Raise `Refused` for two memories that contradict each other, unless a person kept both."""
    if memoryconflicts.is_kept(connection, kept.id, gone.id):
        return
    pair = f"cannot consolidate {kept.id} and {gone.id}: they cannot both hold"
    noted = dict(memoryconflicts.standing(connection, [kept.id]).get(kept.id, ()))
    if gone.id in noted:
        message = f"{pair} ({noted[gone.id]}); say which does: cortex memory supersede OLD NEW"
        message = f"{message}, or that both do: cortex memory keep-both {kept.id} {gone.id}"
        raise Refused(message)
    found = ruled(kept.text, gone.text, 1.0, gates=Gates(), thresholds=DEFAULTS)
    if found.verdict is Verdict.CONFLICT:
        message = f"{pair} ({found.why}); say which does: cortex memory supersede OLD NEW"
        raise Refused(f"{message}, or leave both as they are")


def _is_named(memory_id: str, given: str) -> bool:
    """Tell whether what was given is a memory's id, or the beginning of it."""
    known = memory_id.lower()
    return len(given) >= LEAST and (
        known.startswith(given) or known.partition("_")[2].startswith(given)
    )


def _before(connection: Connection, memory: Memory) -> dict[str, Any]:
    """Return what a memory is before it is given what the other one has."""
    row = memory_attention.c
    query = select(row.access_count, row.accessed_at, row.attention, row.weighed_at, row.due_at)
    held = connection.execute(query.where(row.memory_id == memory.id)).one()
    return {
        **held._asdict(),
        "tags": list(memory.tags),
        "layer": str(memory.layer),
        "layer_since": memory.layer_since,
        "promoted_at": memory.promoted_at,
    }


def _give(
    connection: Connection,
    kept: Memory,
    gone: Memory,
    *,
    at: int,
    decays: Mapping[Layer, Decay],
) -> None:
    """Write what the memory that is kept has of both."""
    if is_deeper(gone.layer, kept.layer):
        promoted = _latest(kept.promoted_at, gone.promoted_at)
        values = {"layer": gone.layer, "layer_since": at, "promoted_at": promoted}
        connection.execute(update(memories).where(memories.c.id == kept.id).values(values))
    mine = update(memory_attention).where(memory_attention.c.memory_id == kept.id)
    connection.execute(
        mine.values(
            access_count=kept.access_count + gone.access_count,
            accessed_at=_latest(kept.accessed_at, gone.accessed_at),
            attention=max(decay.of(each, at, decays) for each in (kept, gone)),
            weighed_at=at,
        )
    )
    new = [tag for tag in gone.tags if tag not in kept.tags]
    if new:
        rows = [{"memory_id": kept.id, "tag": tag} for tag in new]
        connection.execute(insert(memory_tags), rows)


def _latest(*times: int | None) -> int | None:
    """Return the latest of some times; None where there is none."""
    return max((each for each in times if each is not None), default=None)

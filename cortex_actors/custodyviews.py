"""What the verbs about the health of memories answer: shapes for clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.clock import DAY
from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.rules import decay
from cortex_actors.storage import memory_records, similar_memories

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.memory import Layer, Memory, Realm
    from cortex_actors.rules.decay import Decay
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.memory_attention import Earned
    from cortex_actors.storage.memory_lists import Idle, Pair, RealmHealth

#: From how many on something is worth saying (the document's): stale memories, promotions.
MANY_STALE, MANY_CANDIDATES = 10, 5

#: Decimals of an attention and of a cosine.
_DECIMALS = 4


def idle(one: Idle, now: int, decays: Mapping[Layer, Decay]) -> dict[str, Any]:
    """Return a memory that nobody has read for long."""
    held = one.held
    return {
        "id": one.id,
        "content_preview": one.text,
        "realm": str(one.realm),
        "agent": one.agent_id,
        "layer": str(held.layer),
        "last_accessed": one.last_at,
        "days_since_access": round((now - one.last_at) / DAY, 1),
        "access_count": held.access_count,
        "attention_weight": round(held.now(now, decays), _DECIMALS),
        "pinned": held.pinned_at is not None,
    }


def pairs(connection: Connection, found: Sequence[Pair], *, letters: int) -> list[dict[str, Any]]:
    """Return pairs of memories that say nearly the same; one may have gone by now.

    `conflict` says why two of them cannot both hold, where that was found: these are not the same.
    """
    ids = {each for pair in found for each in (pair.left, pair.right)}
    known = memory_records.read(connection, ids, (MemoryStatus.ACTIVE,))
    disputes = similar_memories.standing(connection, ids)
    return [
        {
            "first": _side(known[pair.left], letters),
            "second": _side(known[pair.right], letters),
            "similarity": round(pair.cosine, _DECIMALS),
            "conflict": dict(disputes.get(pair.left, ())).get(pair.right),
        }
        for pair in found
        if pair.left in known and pair.right in known
    ]


def _side(memory: Memory, letters: int) -> dict[str, Any]:
    """Return one of a pair."""
    return {
        "id": memory.id,
        "content_preview": memory.text[:letters],
        "realm": str(memory.realm),
        "agent": memory.agent_id,
        "layer": str(memory.layer),
        "access_count": memory.access_count,
    }


def consolidated(
    kept: Memory, gone: Memory, *, now: int, decays: Mapping[Layer, Decay]
) -> dict[str, Any]:
    """Return what came of making one memory part of another."""
    return {
        "kept_id": kept.id,
        "discarded_id": gone.id,
        "new_access_count": kept.access_count,
        "new_attention_weight": round(decay.of(kept, now, decays), _DECIMALS),
        "layer": str(kept.layer),
        "tags": list(kept.tags),
    }


def earned(one: Earned) -> dict[str, Any]:
    """Return a memory that has earned a deeper layer."""
    return {
        "id": one.id,
        "layer": str(one.layer),
        "to": str(one.to),
        "reason": one.reason,
        "access_count": one.access_count,
    }


def health(found: Mapping[Realm, RealmHealth], pairs: int | None) -> dict[str, Any]:
    """Return how the memories of each realm are, with what could be done about it."""
    realms = {str(realm): _realm(each) for realm, each in found.items()}
    stale = sum(each.stale_count for each in found.values())
    candidates = sum(each.promotion_candidates for each in found.values())
    return {
        "realms": realms,
        "summary": {
            "total_memories": sum(each.total for each in found.values()),
            "total_stale": stale,
            "total_promotion_candidates": candidates,
            "total_duplicates": pairs,
        },
        "recommendations": _recommended(stale, candidates, pairs or 0),
    }


def _realm(found: RealmHealth) -> dict[str, Any]:
    """Return how the memories of one realm are."""
    return {
        "total": found.total,
        "by_layer": {str(layer): count for layer, count in found.by_layer.items()},
        "avg_attention": found.avg_attention,
        "stale_count": found.stale_count,
        "promotion_candidates": found.promotion_candidates,
    }


def _recommended(stale: int, candidates: int, pairs: int) -> list[str]:
    """Return what could be done."""
    said = []
    if stale > MANY_STALE:
        said.append(f"{stale} memories were not read for 30 days: cortex memory stale")
    if candidates > MANY_CANDIDATES:
        said.append(f"{candidates} memories have earned a deeper layer: cortex memory promotions")
    if pairs:
        said.append(f"{pairs} pairs say nearly the same: cortex memory duplicates")
    return said

"""What the verbs about memories answer: shapes for clients, made in the ledger's reads.

Ids of what whoever asks may not read are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.rules import decay as attention
from cortex_actors.storage import (
    agent_records,
    memory_history,
    memory_lists,
    memory_records,
    memory_states,
    similar_memories,
)
from cortex_actors.storage.search.hits import time_range

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cortex_actors.domain.memory import Layer, Memory
    from cortex_actors.rules.decay import Decay
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.memory_history import Change, Node

#: Memories of one lineage that an answer holds; and those that its drawing shows.
NODES, DRAWN = 2_000, 200

#: Characters that an abstract in a drawing has.
_BRIEF = 80

#: Changes of one memory that come with it.
_CHANGES = 20


def whole(
    connection: Connection,
    name: str,
    *,
    reader: str | None,
    now: int,
    decays: Mapping[Layer, Decay],
) -> dict[str, Any]:
    """Return everything that is known of a memory; raises `NotFound`, `BadInput`.

    `text` is the form in which agents are told of one, `content` what was said.
    """
    memory = memory_lists.one(connection, memory_lists.find(connection, name, reader=reader))
    nodes = _shown(connection, memory_history.tree(connection, memory.id), reader)
    moments = memory_states.moments(connection, memory.id)
    changes = memory_history.listed(connection, memory=memory.id, reader=reader, limit=_CHANGES)
    disputes = similar_memories.standing(connection, [memory.id]).get(memory.id, [])
    apart_from = memory_states.of(connection, [memory.id]).get(memory.id, ())
    now_is = memory_history.current(connection, [memory.id])[memory.id]
    became = (memory.replaced_by, moments["merged_into"], now_is)
    told = (each for change in changes for each in (change.memory_id, *change.others))
    linked = {*memory.replies_to, *(each for each, _ in disputes), *apart_from, *told}
    seen = memory_records.readers_part(
        connection, linked | {each for each in became if each}, reader
    )
    return {
        **brief(connection, [memory], now=now, decays=decays)[0],
        "responding_to": [each for each in memory.replies_to if each in seen],
        "text": drawn(memory, nodes),
        **moments,
        "merged_into": _known(moments["merged_into"], seen),
        "replaced_by": _known(memory.replaced_by, seen),
        "current": _known(now_is, seen),
        "conflicts": [{"id": each, "reason": why} for each, why in disputes if each in seen],
        "apart": sorted(each for each in apart_from if each in seen),
        "believed": [
            {"since": began, "until": ended}
            for began, ended in memory_records.of(connection, memory.id)
        ],
        "lineage": [_node(each) for each in nodes[:NODES]] if len(nodes) > 1 else [],
        "lineage_total": len(nodes),
        "changes": [change_told(each, seen) for each in changes],
    }


def brief(
    connection: Connection,
    some: Sequence[Memory],
    *,
    now: int,
    decays: Mapping[Layer, Decay],
) -> list[dict[str, Any]]:
    """Return memories as a list shows them."""
    names = agent_records.displays(connection, [each.agent_id for each in some])
    return [_brief(each, names, now, decays) for each in some]


def drawn(memory: Memory, nodes: Sequence[Node]) -> str:
    """Return a memory as agents are told of it, with the tree of what it was made of."""
    state = "active" if memory.status is MemoryStatus.ACTIVE else "inactive"
    lines = [
        f"#{memory.id} ({state})",
        f"Abstract: {memory.abstract}",
        f"Summary: {memory.summary}",
        f"Text:\n{memory.text}",
    ]
    if len(nodes) > 1:
        lines += ["Lineage:", *_branches(nodes[:DRAWN])]
        if len(nodes) > DRAWN:
            lines.append(f"    ... and {len(nodes) - DRAWN:,} more")
    return "\n".join(lines)


def change_told(change: Change, seen: Collection[str]) -> dict[str, Any]:
    """Return a change; of the other memories, those that whoever asks may know of."""
    return {
        "id": change.number,
        "kind": str(change.kind),
        "memory": change.memory_id,
        "others": [each for each in change.others if each in seen],
        "by": change.by,
        "reason": change.reason,
        "at": change.at,
        "undone_at": change.undone_at,
        "undone_by": change.undone_by,
    }


def changes(
    connection: Connection, found: Sequence[Change], *, reader: str | None
) -> list[dict[str, Any]]:
    """Return changes as a list shows them."""
    named = {each for change in found for each in change.others}
    seen = memory_records.readers_part(connection, named, reader)
    if reader is None:
        seen |= named  # the ids of what was forgotten are all that is left of it
    return [change_told(each, seen) for each in found]


def _brief(
    memory: Memory, names: Mapping[str, str], now: int, decays: Mapping[Layer, Decay]
) -> dict[str, Any]:
    """Return what a memory says of itself."""
    decay = decays.get(memory.layer)
    return {
        "id": memory.id,
        "content": memory.text,
        "status": str(memory.status),
        "realm": str(memory.realm),
        "agent": memory.agent_id,
        "agent_display": names[memory.agent_id],
        "layer": str(memory.layer),
        "type": str(memory.type),
        "role": memory.role,
        "thread": memory.thread,
        "tags": list(memory.tags),
        "related_agents": list(memory.related),
        "abstract": memory.abstract,
        "summary": memory.summary,
        "created_at": memory.created_at,
        "layer_since": memory.layer_since,
        "promoted_at": memory.promoted_at,
        "pinned": memory.pinned_at is not None,
        "pinned_at": memory.pinned_at,
        "time_range": time_range(memory.said_from, memory.said_until),
        "said_from": memory.said_from,
        "said_until": memory.said_until,
        # Hours until half of its attention is left; what does not fade has none.
        "decay_rate": None if decay is None else decay.half_life_h,
        "attention": round(attention.of(memory, now, decays), 4),
        "access_count": memory.access_count,
        "accessed_at": memory.accessed_at,
        "saved_by": memory.saved_by,
        "trust": str(memory.trust),
        "merge_due": memory.merge_due,
    }


def _shown(connection: Connection, nodes: Sequence[Node], reader: str | None) -> list[Node]:
    """Return the nodes that somebody may read, with all that lies around each."""
    seen = memory_records.readers_part(connection, [each.id for each in nodes], reader)
    shown: dict[str | None, Node] = {}
    for node in nodes:
        if node.id in seen and (node.parent is None or node.parent in shown):
            shown[node.id] = node
    return list(shown.values())


def _known(name: str | None, seen: Collection[str]) -> str | None:
    """Return an id where it may be known."""
    return name if name in seen else None


def _node(node: Node) -> dict[str, Any]:
    """Return a memory of a lineage."""
    return {
        "id": node.id,
        "standing": node.standing,
        "status": str(node.status),
        "abstract": node.abstract,
        "depth": node.depth,
        "parent": node.parent,
    }


def _branches(nodes: Sequence[Node]) -> list[str]:
    """Return the lines of a tree."""
    last = _lasts(nodes)
    lines: list[str] = []
    #: What stands in front of the parts of the memory at a depth.
    fronts = [""]
    for number, node in enumerate(nodes):
        del fronts[node.depth + 1 :]
        front = fronts[node.depth]
        joint = "" if not node.depth else "└── " if number in last else "├── "
        lines.append(f'{front}{joint}#{node.id} ({node.standing}) "{_short(node.abstract)}"')
        below = "    " if not node.depth or number in last else "│   "
        fronts.append(front + below)
    return lines


def _lasts(nodes: Sequence[Node]) -> set[int]:
    """Return which of the nodes are the last part of their whole."""
    found: dict[str | None, int] = {}
    for number, node in enumerate(nodes):
        found[node.parent] = number
    return set(found.values())


def _short(text: str) -> str:
    """Return a text on one line of a drawing."""
    line = " ".join(text.split())
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF - 1]}…"

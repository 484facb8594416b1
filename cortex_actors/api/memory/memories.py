"""The verbs that look at memories: one whole, lists of them, what was done, what conflicts.

What the verbs about memories answer: shapes for clients, made in the ledger's reads.

Ids of what the caller may not read are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters
from cortex_actors.api.registry import Call, operation
from cortex_actors.api.shapes import shape_dataclass, shape_fields
from cortex_actors.domain.insight import ALL, MemorySort
from cortex_actors.domain.memory import ChangeKind, Memory, MemoryStatus
from cortex_actors.rules import decay as attention
from cortex_actors.storage import memory_history, memory_records, projects
from cortex_actors.storage.agent_records import load_display_names
from cortex_actors.storage.memory import memory_lists, memory_states
from cortex_actors.storage.realms import filter_readable
from cortex_actors.storage.search.hits import format_hours
from cortex_actors.storage.search.similar_memories import list_conflicts, load_conflicts
from cortex_actors.text import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.memory_history import LineageNode, MemoryChange


#: Memories of one lineage that an answer holds; and those that its drawing shows.
NODES, DRAWN = 2_000, 200

#: Characters that an abstract in a drawing has.
_BRIEF = 80

#: Changes of one memory that come with it.
_CHANGES = 20


def shape_memory(
    connection: Connection, name: str, *, reader: str | None, call: Call
) -> dict[str, Any]:
    """Return everything that is known of a memory; raises `NotFound`, `BadInput`.

    `text` is the form that agents read, `content` what was said.
    """
    memory = memory_lists.load_memory(
        connection, memory_lists.find_id(connection, name, reader=reader)
    )
    nodes = _shown(connection, memory_history.load_tree(connection, memory.id), reader)
    moments = memory_states.load_moments(connection, memory.id)
    changes, _ = memory_history.list_changes(
        connection, memory=memory.id, reader=reader, limit=_CHANGES
    )
    disputes = load_conflicts(connection, [memory.id]).get(memory.id, [])
    apart_from = memory_states.list_apart(connection, [memory.id]).get(memory.id, ())
    became = {
        "merged_into": moments["merged_into"],
        "replaced_by": memory.replaced_by,
        "current": memory_history.find_current(connection, [memory.id])[memory.id],
    }
    told = (each for change in changes for each in (change.memory_id, *change.others))
    linked = {*memory.replies_to, *(each for each, _ in disputes), *apart_from, *told}
    seen = filter_readable(connection, linked | {*filter(None, became.values())}, reader)
    lineage = [
        shape_dataclass(each, "is_leaf") | {"standing": each.standing} for each in nodes[:NODES]
    ]
    return {
        **shape_list(connection, [memory], call=call)[0],
        "responding_to": [each for each in memory.replies_to if each in seen],
        "text": draw_memory(memory, nodes),
        **moments,
        **{name: each if each in seen else None for name, each in became.items()},
        "conflicts": [{"id": each, "reason": why} for each, why in disputes if each in seen],
        "apart": sorted(each for each in apart_from if each in seen),
        "believed": [
            {"since": began, "until": ended}
            for began, ended in memory_records.list_beliefs(connection, memory.id)
        ],
        "lineage": lineage if len(nodes) > 1 else [],
        "lineage_total": len(nodes),
        "changes": [change_told(each, seen) for each in changes],
    }


def shape_list(
    connection: Connection, some: Sequence[Memory], *, call: Call
) -> list[dict[str, Any]]:
    """Return memories as a list shows them."""
    now, decays = call.clock.now(), call.settings().memory.decays
    names = load_display_names(connection, [each.agent_id for each in some])
    known = projects.load_names(connection) if any(each.project_id for each in some) else {}
    told = {"content": "text", "agent": "agent_id", "related_agents": "related"}
    # Hours until half of its attention is left; what does not fade has none.
    rates = {layer: decay.half_life_h for layer, decay in decays.items()}
    return [
        {
            **shape_dataclass(memory, "replies_to", "replaced_by", **told),
            "agent_display": names[memory.agent_id],
            "project": known.get(memory.project_id),
            "pinned": memory.pinned_at is not None,
            "time_range": format_hours(memory.said_from, memory.said_until),
            "decay_rate": rates.get(memory.layer),
            "attention": round(attention.compute_attention(memory, now, decays), 4),
        }
        for memory in some
    ]


def draw_memory(memory: Memory, nodes: Sequence[LineageNode]) -> str:
    """Return a memory as agents read it, with the tree of what it was made of."""
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


def change_told(change: MemoryChange, seen: Collection[str]) -> dict[str, Any]:
    """Return a change; of the other memories, those that the caller may know."""
    told = shape_dataclass(change, "before", id="number", memory="memory_id")
    shown = [each for each in change.others if each in seen]
    return {**told, "kind": change.name, "others": shown}


def shape_changes(
    connection: Connection, found: Sequence[MemoryChange], *, reader: str | None
) -> list[dict[str, Any]]:
    """Return changes as a list shows them."""
    named = {each for change in found for each in change.others}
    seen = filter_readable(connection, named, reader)
    if reader is None:
        seen |= named  # the ids of what was forgotten are all that is left of it
    return [change_told(each, seen) for each in found]


def _shown(
    connection: Connection, nodes: Sequence[LineageNode], reader: str | None
) -> list[LineageNode]:
    """Return the nodes that the reader may read, and whose wholes it may read."""
    seen = filter_readable(connection, [each.id for each in nodes], reader)
    shown: dict[str | None, LineageNode] = {}
    for node in nodes:
        if node.id in seen and (node.parent is None or node.parent in shown):
            shown[node.id] = node
    return list(shown.values())


def _branches(nodes: Sequence[LineageNode]) -> list[str]:
    """Return the lines of a tree."""
    last = set({node.parent: number for number, node in enumerate(nodes)}.values())
    lines: list[str] = []
    #: The beginning of a line for the parts of the memory at a depth.
    fronts = [""]
    for number, node in enumerate(nodes):
        del fronts[node.depth + 1 :]
        front = fronts[node.depth]
        joint = "" if not node.depth else "└── " if number in last else "├── "
        lines.append(f'{front}{joint}#{node.id} ({node.standing}) "{_short(node.abstract)}"')
        below = "    " if not node.depth or number in last else "│   "
        fronts.append(front + below)
    return lines


def _short(text: str) -> str:
    """Return a text on one line of a drawing."""
    line = " ".join(text.split())
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF - 1]}…"


@operation("memory.show", http="GET /memories/{id}", agents=True)
async def memory(call: Call, id: str, *, as_agent: str | None = None) -> dict[str, Any]:
    """Show one memory with everything that is known of it, and what it was made of.

    `text` is what agents read: what it says, and the tree of what it was made of.
    Raises `NotFound` (for what the call.caller may not read, too), and `BadInput` for what means
    several.
    """
    reader = call.caller.choose_reader(as_agent)
    return await call.records.read(lambda c: shape_memory(c, id, reader=reader, call=call))


@operation("memory.list", http="GET /memories", agents=True)
async def memories(
    call: Call,
    *,
    project: str | None = None,
    status: str = MemoryStatus.ACTIVE,
    pinned: bool = False,
    conflicts: bool = False,
    sort: str = MemorySort.NEWEST,
    skip: int = 0,
    limit: int = 20,
    as_agent: str | None = None,
    **narrow: Any,  # noqa: ANN401 - as they are declared
) -> dict[str, Any]:
    """List memories, those that are pinned first.

    Returns a page, and how many there are. `status` is one of them, or `all`; the other conditions
    are those of `search`. Raises `BadInput`, `UnknownProject`.
    """
    now, decays = call.clock.now(), call.settings().memory.decays
    where, _ = await call.make_conditions(project, None, as_agent=as_agent, **narrow)
    parameters.check_page(limit, skip, of="memories")
    wanted = memory_lists.MemoryFilter(
        where=where,
        states=() if status == ALL else (terms.parse_word(MemoryStatus, status, name="status"),),
        pinned=pinned,
        conflicts=conflicts,
        sort=parameters.read_word(MemorySort, sort, what="order") or MemorySort.NEWEST,
        limit=limit,
        skip=skip,
    )

    def look(connection: Connection) -> dict[str, Any]:
        found, total = memory_lists.list_memories(connection, wanted, now=now, decays=decays)
        return {"memories": shape_list(connection, found, call=call), "total": total}

    return await call.records.read(look)


@operation("memory.changes", http="GET /memory-changes", agents=True)
async def memory_changes(
    call: Call,
    *,
    memory: str | None = None,
    kind: str | None = None,
    skip: int = 0,
    limit: int = 50,
    as_agent: str | None = None,
) -> dict[str, Any]:
    """List what was done with memories, newest first; each can be undone by its number.

    Of what was forgotten only the id is left. Raises `BadInput`, `NotFound`.
    """
    parameters.check_page(limit, skip, of="changes")
    chosen = parameters.read_word(ChangeKind, kind, what="kind of change")
    reader = call.caller.choose_reader(as_agent)

    def look(connection: Connection) -> dict[str, Any]:
        about = memory
        # One that is forgotten is named by its whole id.
        if memory is not None and not memory_history.is_known(connection, memory, reader=reader):
            about = memory_lists.find_id(connection, memory, reader=reader)
        found, total = memory_history.list_changes(
            connection, memory=about, kind=chosen, reader=reader, limit=limit, skip=skip
        )
        return {"changes": shape_changes(connection, found, reader=reader), "total": total}

    return await call.records.read(look)


@operation("memory.conflicts", http="GET /memory-conflicts", agents=True)
async def conflicts(
    call: Call, *, skip: int = 0, limit: int = 20, as_agent: str | None = None
) -> dict[str, Any]:
    """List pairs of memories that cannot both hold, newest first, with why.

    One ends when a memory is superseded by the other, archived or forgotten, or when both are
    kept. Raises `BadInput`.
    """
    parameters.check_page(limit, skip, of="conflicts")
    reader = call.caller.choose_reader(as_agent)

    def look(connection: Connection) -> dict[str, Any]:
        found, total = list_conflicts(connection, reader=reader, limit=limit, skip=skip)
        ids = [each for pair in found for each in (pair.left, pair.right)]
        said = memory_records.read(connection, ids, MemoryStatus)
        shown = [
            {
                "left": _side(said[each.left]),
                "right": _side(said[each.right]),
                **shape_fields(each, "reason", "decided_by", "found_at"),
            }
            for each in found
        ]
        return {"conflicts": shown, "total": total}

    return await call.records.read(look)


def _side(memory: Memory) -> dict[str, Any]:
    """Return one of two memories that conflict."""
    return shape_fields(memory, "id", "realm", "created_at", content="text", agent="agent_id")

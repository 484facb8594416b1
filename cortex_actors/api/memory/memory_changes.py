"""The verbs that keep memories: they come to deeper layers, and are pinned.

The operations by which memories go and come back: archived, superseded, taken apart, forgotten.

Only its agent and the owner of the daemon change a memory, however many agents may read it.
Where the owner speaks as an agent (`as_agent`), that one's rights count. Every change is written
down with what undoing it needs, but for forgetting, which nothing undoes.

Whose a memory is: who may change it, and the errors of who may not, or of one that is not so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api.registry import Call, Said, operation
from cortex_actors.api.shapes import shape_dataclass
from cortex_actors.domain.event import Ids
from cortex_actors.domain.memory import ChangeKind, Layer, Memory, MemoryStatus
from cortex_actors.errors import BadInput, NotFound, Refused
from cortex_actors.memory.archivist import compare_soon
from cortex_actors.rules.admission import check_note, check_text
from cortex_actors.rules.decay import find_next_layer, is_deeper
from cortex_actors.storage import memory_history, memory_records, realms
from cortex_actors.storage.memory import memory_delete, memory_lists, memory_states, memory_undo
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.storage.search import similar_memories
from cortex_actors.text.terms import parse_word

if TYPE_CHECKING:
    from cortex_actors.domain.agent import Caller
    from cortex_actors.storage.ledger.actor import Connection


#: Memories that one request may name.
MOST = 1_000

#: What a memory is that is not active, and what would make it so. By what one is superseded is not
#: said: the caller may not be allowed to read that.
_NOT_ACTIVE = {
    MemoryStatus.MERGED: "part of another memory; split that first: cortex memory split",
    MemoryStatus.SUPERSEDED: "superseded; restore it first: cortex memory restore",
    MemoryStatus.ARCHIVED: "archived; restore it first: cortex memory restore",
}


def require_mine(connection: Connection, name: str, caller: Caller) -> Memory:
    """Return the memory that a name means, which the caller may change.

    Raises `NotFound` for what the caller may not read, `BadInput` for what means several, and
    `NotYours` for what is another agent's.
    """
    found = memory_lists.find_id(connection, name, reader=caller.choose_reader())
    realms.require_own(connection, [found], caller)
    return memory_lists.load_memory(connection, found)


def require_all_mine(connection: Connection, names: object, caller: Caller) -> list[Memory]:
    """Return the memories that names mean, each once; raises as `require_mine` does."""
    found = [require_mine(connection, each, caller) for each in read_names(names)]
    return list({each.id: each for each in found}.values())


def require_active(memory: Memory, doing: str) -> Memory:
    """Return a memory that is active; raises `Refused` for any other, saying what it is."""
    if memory.status is not MemoryStatus.ACTIVE:
        raise Refused(f"cannot {doing} {memory.id}: it is {_NOT_ACTIVE[memory.status]}")
    return memory


def require_restorable(memory: Memory) -> Memory:
    """Return a memory that can be restored; raises `Refused` for any other."""
    if memory.status is MemoryStatus.ACTIVE:
        raise Refused(f"cannot restore {memory.id}: it is active already")
    return memory if memory.status is not MemoryStatus.MERGED else require_active(memory, "restore")


def read_names(names: object) -> list[str]:
    """Return a list of names; raises `BadInput` for anything else, and for too many."""
    some = [names] if isinstance(names, str) else names
    if not isinstance(some, list | tuple) or not all(isinstance(each, str) for each in some):
        raise BadInput("say which memories: a list of ids")
    if not 1 <= len(some) <= MOST:
        raise BadInput(f"name 1 to {MOST:,} memories at once, not {len(some):,}")
    return list(some)


@operation("memory.save", http="POST /memories/{id}/save", agents=True)
async def save(call: Call, id: str, *, as_agent: str | None = None) -> dict[str, Any]:
    """Keep a memory that would soon fade: from the first layer to the next.

    One that lies deeper already is left alone. Raises `NotFound`, `BadInput`, `NotYours`,
    `Refused`.
    """
    return await _deepen(call, id, lambda _: Layer.WORKING, ChangeKind.SAVE, as_agent)


@operation("memory.promote", http="POST /memories/{id}/promote", agents=True)
async def promote(
    call: Call, id: str, to: str | None = None, *, as_agent: str | None = None
) -> dict[str, Any]:
    """Bring a memory to the next layer, or to a deeper one that is named.

    Its attention is whole again. Raises as `save` does, and `BadInput` for a layer that is not
    deeper.
    """
    named = None if to is None else parse_word(Layer, to, name="layer")

    def choose(memory: Memory) -> Layer:
        layer = named or find_next_layer(memory.layer)
        if layer is None:
            raise Refused(f"cannot promote {memory.id}: it is in the cortex, the last layer")
        if named is not None and not is_deeper(layer, memory.layer):
            message = f"cannot promote {memory.id} to {layer}: it is in {memory.layer} already"
            raise BadInput(f"{message}; from the first to the deepest: {', '.join(Layer)}")
        return layer

    return await _deepen(call, id, choose, ChangeKind.PROMOTE, as_agent)


@operation("memory.crystallize", http="POST /memories/{id}/crystallize", agents=True)
async def crystallize(call: Call, id: str, *, as_agent: str | None = None) -> dict[str, Any]:
    """Bring a memory to the cortex, where nothing fades. Raises as `save` does."""
    return await _deepen(call, id, lambda _: Layer.CORTEX, ChangeKind.CRYSTALLIZE, as_agent)


@operation("memory.pin", http="POST /memories/{id}/pin", agents=True)
async def pin(call: Call, id: str, *, as_agent: str | None = None) -> dict[str, Any]:
    """Keep a memory as it is: it is never merged, faded or archived by itself.

    Raises as `save` does.
    """
    return await _fasten(call, id, as_agent, pinned=True)


@operation("memory.unpin", http="POST /memories/{id}/unpin", agents=True)
async def unpin(call: Call, id: str, *, as_agent: str | None = None) -> dict[str, Any]:
    """Let a memory be treated as all others again. Raises as `save` does."""
    return await _fasten(call, id, as_agent, pinned=False)


async def _deepen(
    call: Call,
    name: str,
    choose: Callable[[Memory], Layer],
    kind: ChangeKind,
    as_agent: str | None,
) -> dict[str, Any]:
    """Bring a memory to the layer that is chosen for it, and say so."""
    at, caller = call.clock.now(), call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Said]]:
        memory = require_active(require_mine(connection, name, caller), str(kind))
        layer = choose(memory)
        wanted = {memory.id: layer}
        moved = memory_history.deepen(connection, wanted, at=at, by=caller.by, kind=kind)
        answer = {"id": memory.id, "from": str(memory.layer), "changed": bool(moved)}
        if not moved:
            return {**answer, "layer": str(memory.layer)}, ()
        return {**answer, "layer": str(layer)}, [(topics.MEMORY_PROMOTED, Ids(tuple(moved)))]

    return await call.change_and_publish(work)


async def _fasten(call: Call, name: str, as_agent: str | None, *, pinned: bool) -> dict[str, Any]:
    """Pin or unpin a memory."""
    at, caller = call.clock.now(), call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> dict[str, Any]:
        memory = require_mine(connection, name, caller)
        if pinned:
            require_active(memory, "pin")
        changed = memory_history.pin(connection, [memory.id], pins=pinned, at=at, by=caller.by)
        return {"id": memory.id, "pinned": pinned, "changed": bool(changed)}

    return await call.change(work)


@operation("memory.archive", http="POST /memories/archive", agents=True)
async def archive(
    call: Call, ids: Sequence[str], reason: str | None = None, *, as_agent: str | None = None
) -> dict[str, Any]:
    """Take memories out of what is found; they can be restored.

    Raises `Refused` for one that is not active, and as `save` does.
    """
    at, said = call.clock.now(), check_note(reason, what="a reason")
    caller = call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> dict[str, Any]:
        some = [
            require_active(each, "archive") for each in require_all_mine(connection, ids, caller)
        ]
        gone = memory_states.archive(connection, [each.id for each in some], at)
        for name in gone:
            change = MemoryChange(ChangeKind.ARCHIVE, name, by=caller.by, at=at, reason=said)
            memory_history.note(connection, change)
        return {"archived": gone}

    return await call.change(work)


@operation("memory.restore", http="POST /memories/restore", agents=True)
async def restore(call: Call, ids: Sequence[str], *, as_agent: str | None = None) -> dict[str, Any]:
    """Let memories be found again that were archived or superseded.

    Raises `Refused` for one that is neither, or whose words another one says by now, and as
    `save` does.
    """
    at, caller = call.clock.now(), call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> dict[str, Any]:
        some = [require_restorable(each) for each in require_all_mine(connection, ids, caller)]
        before = {each.id: memory_undo.describe_state(connection, each.id) for each in some}
        back = memory_states.restore(connection, list(before), at)
        for name in back:
            change = MemoryChange(
                ChangeKind.RESTORE, name, by=caller.by, at=at, before=before[name]
            )
            memory_history.note(connection, change)
        return {"restored": back}

    return await call.change(work)


@operation("memory.supersede", http="POST /memories/supersede", agents=True)
async def supersede(
    call: Call, old: str, new: str, reason: str | None = None, *, as_agent: str | None = None
) -> dict[str, Any]:
    """Let a memory be replaced by one that says what holds now.

    The old one is found no more, but as of a date on which it was believed. Raises `Refused`
    where one of them is not active, or the two are not one agent's, and as `save` does.
    """
    at, said = call.clock.now(), check_note(reason, what="a reason")
    caller = call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> dict[str, Any]:
        before = require_active(require_mine(connection, old, caller), "supersede")
        name = memory_lists.find_id(connection, new, reader=caller.choose_reader())
        after = require_active(memory_lists.load_memory(connection, name), "supersede anything by")
        if before.id == after.id:
            raise BadInput(f"cannot supersede {before.id} by itself; give two memories")
        memory_records.require_said_by(connection, [before.id], after.agent_id)
        memory_states.supersede(connection, before.id, after.id, at)
        change = MemoryChange(
            ChangeKind.SUPERSEDE, before.id, by=caller.by, at=at, others=(after.id,), reason=said
        )
        memory_history.note(connection, change)
        return {"superseded": before.id, "by": after.id}

    return await call.change(work)


@operation("memory.edit", http="POST /memories/{id}/edit", agents=True)
async def edit(
    call: Call, id: str, content: str, *, redact: bool = False, as_agent: str | None = None
) -> dict[str, Any]:
    """Give a memory other words; its id, time, tags, layer, pin and lineage stay.

    `undo` of the change gives it the words before. Returns the memories of the same agent that say
    just that as `same`. Raises `Refused` for one that is not active, for words that a memory of the
    same place has, and for a secret (`redact` masks it), and as `save` does.
    """
    at, caller = call.clock.now(), call.caller.choose_rights(as_agent)
    # On a thread: 64 KB that are made to be slow take up to 2 s to look through.
    text = await asyncio.to_thread(check_text, content, redact=redact)

    def work(connection: Connection) -> dict[str, Any]:
        memory = require_active(require_mine(connection, id, caller), "edit")
        same = memory_undo.edit(connection, memory, content=text, by=caller.by, at=at)
        after = memory_lists.load_memory(connection, memory.id)
        changed = after.text != memory.text
        return {"id": memory.id, "changed": changed, "content": after.text, "same": same}

    done = await call.change(work)
    compare_soon(call.actors.archivist)
    return done


@operation("memory.split", http="POST /memories/{id}/split", agents=True)
async def split(call: Call, id: str, *, as_agent: str | None = None) -> dict[str, Any]:
    """Take the newest merge of a memory apart: its parts are found again, as they were.

    They are not made one by themselves any more, and the whole is archived; what a person had
    consolidated is kept. Raises `Refused` for one that is no merge, and as `save` does.
    """
    at, caller = call.clock.now(), call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> dict[str, Any]:
        memory = require_mine(connection, id, caller)
        change, parts = memory_undo.split(
            connection, memory.id, by=caller.by, at=at, reader=caller.agent
        )
        return {"id": memory.id, "kind": str(change.kind), "parts": parts}

    done = await call.change(work)
    compare_soon(call.actors.archivist)
    return done


@operation("memory.undo", http="POST /memory-changes/{change}/undo", agents=True)
async def undo(call: Call, change: int, *, as_agent: str | None = None) -> dict[str, Any]:
    """Take back what was done with a memory, by the number of the change.

    Raises `NotFound`, and `Refused` for what was undone already, is not so any more, or cannot
    be undone.
    """
    at, caller = call.clock.now(), call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> dict[str, Any]:
        reader = caller.agent
        found = memory_history.load_change(connection, change, reader=reader)
        # A change of what the caller may not read does not exist for it.
        is_known = memory_history.is_known(connection, found.memory_id, reader=reader)
        if not (caller.is_owner or is_known):
            raise memory_history.make_unknown(found.number)
        if not caller.is_owner and found.kind is not ChangeKind.FORGET:
            realms.require_own(connection, [found.memory_id], caller)
        done, changed = memory_undo.undo(connection, change, by=caller.by, at=at, reader=reader)
        return {"change": change, "kind": done.name, "memory": done.memory_id} | {
            "changed": changed
        }

    taken = await call.change(work)
    compare_soon(call.actors.archivist)
    return taken


@operation("memory.keep-both", http="POST /memory-conflicts/keep-both", agents=True)
async def keep_both(
    call: Call, left: str, right: str, *, as_agent: str | None = None
) -> dict[str, Any]:
    """Say that two memories hold, though they were found to conflict.

    Raises `NotFound` where there is no conflict between them, and as `save` does.
    """
    at, caller = call.clock.now(), call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> dict[str, Any]:
        one, other = (require_mine(connection, each, caller).id for each in (left, right))
        if not similar_memories.keep_both(connection, one, other, at):
            message = f"there is no conflict between {one} and {other}"
            raise NotFound(f"{message}; list them with: cortex memory conflicts")
        return {"kept": sorted([one, other])}

    return await call.change(work)


@operation("memory.forget", http="POST /memories/forget", agents=True, sessions=False)
async def forget(call: Call, ids: Sequence[str], *, as_agent: str | None = None) -> dict[str, Any]:
    """Delete memories for good, with everything they were made of; nothing undoes this.

    So goes what was made of them once. Answers once their words are written over in the ledger.
    Raises `Refused` for a part of a bigger memory, and as `save` does.
    """
    at, caller = call.clock.now(), call.caller.choose_rights(as_agent)

    def work(connection: Connection) -> dict[str, Any]:
        some = [each.id for each in require_all_mine(connection, ids, caller)]
        realms.require_own(connection, sorted(memory_history.list_parts(connection, some)), caller)
        gone = memory_delete.forget(connection, some, by=caller.by, at=at)
        return shape_dataclass(gone, forgotten="ids")

    answer = await call.change(work)
    while await call.records.write(memory_delete.wipe):
        pass
    return answer

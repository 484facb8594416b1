"""Whose a memory is: who may change it, and the errors of who may not, or of one that is not so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.errors import BadInput, Refused
from cortex_actors.storage import memory_lists, memory_records

if TYPE_CHECKING:
    from cortex_actors.domain.agent import Caller
    from cortex_actors.domain.memory import Memory
    from cortex_actors.storage.ledger.actor import Connection

#: Memories that one request may name.
MOST = 1_000

#: What a memory is that is not active, and what would make it so. By what one is superseded is not
#: said: whoever asks may not read that.
_NOT_ACTIVE = {
    MemoryStatus.MERGED: "part of another memory; split that first: cortex memory split",
    MemoryStatus.SUPERSEDED: "superseded; restore it first: cortex memory restore",
    MemoryStatus.ARCHIVED: "archived; restore it first: cortex memory restore",
}


def mine(connection: Connection, name: str, caller: Caller) -> Memory:
    """Return the memory that a name means, which the caller may change.

    Raises `NotFound` for what the caller may not read, `BadInput` for what means several, and
    `NotYours` for what is another agent's.
    """
    found = memory_lists.find(connection, name, reader=caller.reader())
    memory_records.require_own(connection, [found], caller)
    return memory_lists.one(connection, found)


def mine_all(connection: Connection, names: object, caller: Caller) -> list[Memory]:
    """Return the memories that names mean, each once; raises as `mine` does."""
    found = [mine(connection, each, caller) for each in named(names)]
    return list({each.id: each for each in found}.values())


def active(memory: Memory, doing: str) -> Memory:
    """Return a memory that is active; raises `Refused` for any other, saying what it is."""
    if memory.status is not MemoryStatus.ACTIVE:
        raise Refused(f"cannot {doing} {memory.id}: it is {_NOT_ACTIVE[memory.status]}")
    return memory


def restorable(memory: Memory) -> Memory:
    """Return a memory that can be restored; raises `Refused` for any other."""
    if memory.status is MemoryStatus.ACTIVE:
        raise Refused(f"cannot restore {memory.id}: it is active already")
    return memory if memory.status is not MemoryStatus.MERGED else active(memory, "restore")


def named(names: object) -> list[str]:
    """Return a list of names; raises `BadInput` for anything else, and for too many."""
    some = [names] if isinstance(names, str) else names
    if not isinstance(some, list | tuple) or not all(isinstance(each, str) for each in some):
        raise BadInput("say which memories: a list of ids")
    if not 1 <= len(some) <= MOST:
        raise BadInput(f"name 1 to {MOST:,} memories at once, not {len(some):,}")
    return list(some)

"""The verbs that look at memories: one whole, lists of them, what was done, what conflicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cortex_actors import keepviews, narrowing, wants
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.insight import ALL, MemorySort
from cortex_actors.domain.memory import ChangeKind, MemoryStatus
from cortex_actors.storage import memory_history, memory_lists, memory_records, similar_memories
from cortex_actors.storage.memory_lists import Wanted
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.memory import Memory
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.search.query import Where


class KeepLookVerbs(Verbs):
    """Part of the front desk."""

    async def memory(
        self,
        id: str,  # noqa: A002 - what every client calls it
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return one memory with everything that is known of it, by its id or its beginning.

        `text` is how agents are told of one: what it says, and the tree of what it was made of.
        Raises `NotFound` (for what the caller may not read, too), and `BadInput` for what means
        several.
        """
        reader, now = caller.reader(as_agent), self._parts.clock.now()
        decays = self._parts.memory().decays
        return await self._parts.records.read(
            lambda c: keepviews.whole(c, id, reader=reader, now=now, decays=decays)
        )

    async def memories(
        self,
        *,
        status: str = MemoryStatus.ACTIVE,
        pinned: bool = False,
        conflicts: bool = False,
        layers: Sequence[str] = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,  # noqa: A002 - what every client calls it
        tags: Sequence[str] = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
        sort: str = MemorySort.NEWEST,
        skip: int = 0,
        limit: int = 20,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return a page of memories, those that are pinned first, and how many there are.

        `status` is one of them, or `all`; the other conditions are those of `search`. Raises
        `BadInput`.
        """
        now = self._parts.clock.now()
        what: dict[str, Any] = {"layers": layers, "realm": realm, "agent": agent, "type": type}
        when: dict[str, Any] = {"since": since, "until": until, "min_attention": min_attention}
        reader = caller.reader(as_agent)
        where = narrowing.where(now=now, reader=reader, tags=tags, thread=thread, **what, **when)
        wanted = _wanted(where, status, sort=sort, limit=limit, skip=skip)
        return await self._listed(replace(wanted, pinned=pinned, conflicts=conflicts), now)

    async def _listed(self, wanted: Wanted, now: int) -> dict[str, Any]:
        """Return a page of memories as clients get it."""
        decays = self._parts.memory().decays

        def look(connection: Connection) -> dict[str, Any]:
            found, total = memory_lists.listed(connection, wanted, now=now, decays=decays)
            shown = keepviews.brief(connection, found, now=now, decays=decays)
            return {"memories": shown, "total": total}

        return await self._parts.records.read(look)

    async def memory_changes(
        self,
        *,
        memory: str | None = None,
        kind: str | None = None,
        skip: int = 0,
        limit: int = 50,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return what was done with memories, newest first: with one, or of one kind, or all.

        What was forgotten is told by its id alone. Raises `BadInput`, `NotFound`.
        """
        wants.page(limit, skip, of="changes")
        chosen = wants.chosen(ChangeKind, kind, what="kind of change")
        reader = caller.reader(as_agent)

        def look(connection: Connection) -> dict[str, Any]:
            about = None if memory is None else _about(connection, memory, reader)
            found = memory_history.listed(
                connection, memory=about, kind=chosen, reader=reader, limit=limit, skip=skip
            )
            total = memory_history.count(connection, memory=about, kind=chosen, reader=reader)
            shown = keepviews.changes(connection, found, reader=reader)
            return {"changes": shown, "total": total}

        return await self._parts.records.read(look)

    async def conflicts(
        self,
        *,
        skip: int = 0,
        limit: int = 20,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return the pairs of active memories that cannot both hold, newest first, with why.

        One ends when a memory is superseded by the other, archived or forgotten, or when both are
        kept. Raises `BadInput`.
        """
        wants.page(limit, skip, of="conflicts")
        reader = caller.reader(as_agent)

        def look(connection: Connection) -> dict[str, Any]:
            found = similar_memories.list_conflicts(
                connection, reader=reader, limit=limit, skip=skip
            )
            ids = [each for pair in found for each in (pair.left, pair.right)]
            said = memory_records.read(connection, ids, MemoryStatus)
            shown = [
                {
                    "left": _side(said[each.left]),
                    "right": _side(said[each.right]),
                    "reason": each.reason,
                    "decided_by": str(each.decided_by),
                    "found_at": each.found_at,
                }
                for each in found
            ]
            return {
                "conflicts": shown,
                "total": similar_memories.count_conflicts(connection, reader),
            }

        return await self._parts.records.read(look)


def _wanted(where: Where, status: str, *, sort: str, limit: int, skip: int) -> Wanted:
    """Return what a list is of; raises `BadInput` naming the words that there are."""
    wants.page(limit, skip, of="memories")
    states = () if status == ALL else (narrowing.word(MemoryStatus, status, name="status"),)
    order = wants.chosen(MemorySort, sort, what="order") or MemorySort.NEWEST
    return Wanted(where=where, states=states, sort=order, limit=limit, skip=skip)


def _about(connection: Connection, name: str, reader: str | None) -> str:
    """Return the memory that a name means; one that is forgotten is named by its whole id."""
    if memory_history.is_known(connection, name, reader=reader):
        return name
    return memory_lists.find(connection, name, reader=reader)


def _side(memory: Memory) -> dict[str, Any]:
    """Return one of two memories that conflict."""
    return {
        "id": memory.id,
        "content": memory.text,
        "agent": memory.agent_id,
        "realm": str(memory.realm),
        "created_at": memory.created_at,
    }

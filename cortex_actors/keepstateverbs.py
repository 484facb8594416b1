"""The verbs by which memories go and come back: archived, superseded, taken apart, forgotten.

A memory is changed by its agent, or by the owner of the daemon; nobody else, whoever may read it.
Where the owner speaks as an agent (`as_agent`), that one's rights count. Every change is written
down with what undoing it needs, but for forgetting, which nothing undoes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors import keepown
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.memory import ChangeKind
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.rules.admission import noted
from cortex_actors.storage import (
    memory_delete,
    memory_history,
    memory_lists,
    memory_records,
    memory_states,
    memory_undo,
    similar_memories,
)
from cortex_actors.storage.memory_history import Change
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.storage.ledger.actor import Connection


class KeepStateVerbs(Verbs):
    """Part of the front desk."""

    async def archive(
        self,
        ids: Sequence[str],
        reason: str | None = None,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Take memories out of what is found; they can be restored.

        Raises `Refused` for one that is not active, and as `save` does.
        """
        at, said = self._parts.clock.now(), noted(reason, what="a reason")
        caller = caller.speaking(as_agent)

        def work(connection: Connection) -> dict[str, Any]:
            some = [
                keepown.active(each, "archive")
                for each in keepown.mine_all(connection, ids, caller)
            ]
            gone = memory_states.archive(connection, [each.id for each in some], at)
            for name in gone:
                change = Change(ChangeKind.ARCHIVE, name, by=caller.by, at=at, reason=said)
                memory_history.note(connection, change)
            return {"archived": gone}

        return await self._change(work)

    async def restore(
        self, ids: Sequence[str], *, as_agent: str | None = None, caller: Caller = OWNER
    ) -> dict[str, Any]:
        """Let memories be found again that were archived or superseded.

        Raises `Refused` for one that is neither, or whose words another one says by now, and as
        `save` does.
        """
        at, caller = self._parts.clock.now(), caller.speaking(as_agent)

        def work(connection: Connection) -> dict[str, Any]:
            some = [keepown.restorable(each) for each in keepown.mine_all(connection, ids, caller)]
            before = {each.id: memory_undo.before_restoring(connection, each.id) for each in some}
            back = memory_states.restore(connection, list(before), at)
            for name in back:
                change = Change(ChangeKind.RESTORE, name, by=caller.by, at=at, before=before[name])
                memory_history.note(connection, change)
            return {"restored": back}

        return await self._change(work)

    async def supersede(
        self,
        old: str,
        new: str,
        reason: str | None = None,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Let a memory be replaced by one that says what holds now.

        The old one is found no more, but as of a date on which it was believed. Raises `Refused`
        where one of them is not active, or the two are not one agent's, and as `save` does.
        """
        at, said = self._parts.clock.now(), noted(reason, what="a reason")
        caller = caller.speaking(as_agent)

        def work(connection: Connection) -> dict[str, Any]:
            before = keepown.active(keepown.mine(connection, old, caller), "supersede")
            name = memory_lists.find(connection, new, reader=caller.reader())
            after = keepown.active(memory_lists.one(connection, name), "supersede anything by")
            if before.id == after.id:
                raise BadInput(f"cannot supersede {before.id} by itself; give two memories")
            memory_records.require_said_by(connection, [before.id], after.agent_id)
            memory_states.supersede(connection, before.id, after.id, at)
            change = Change(
                ChangeKind.SUPERSEDE,
                before.id,
                by=caller.by,
                at=at,
                others=(after.id,),
                reason=said,
            )
            memory_history.note(connection, change)
            return {"superseded": before.id, "by": after.id}

        return await self._change(work)

    async def split(
        self,
        id: str,  # noqa: A002 - what every client calls it
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Take the newest merge of a memory apart: its parts are found again, as they were.

        They are not made one by themselves any more, and the whole is archived; what a person had
        consolidated is kept. Raises `Refused` for one that is no merge, and as `save` does.
        """
        at, caller = self._parts.clock.now(), caller.speaking(as_agent)

        def work(connection: Connection) -> dict[str, Any]:
            memory = keepown.mine(connection, id, caller)
            change, parts = memory_undo.split(
                connection, memory.id, by=caller.by, at=at, reader=caller.agent
            )
            return {"id": memory.id, "kind": str(change.kind), "parts": parts}

        done = await self._change(work)
        self._parts.archivist.look()
        return done

    async def undo(
        self, change: int, *, as_agent: str | None = None, caller: Caller = OWNER
    ) -> dict[str, Any]:
        """Take back what was done with a memory, by the number of the change.

        Raises `NotFound`, and `Refused` for what was undone already, is not so any more, or cannot
        be undone.
        """
        at, caller = self._parts.clock.now(), caller.speaking(as_agent)

        def work(connection: Connection) -> dict[str, Any]:
            reader = caller.agent
            found = memory_history.one(connection, change, reader=reader)
            _require_change(connection, found, caller)
            done, changed = memory_undo.undo(connection, change, by=caller.by, at=at, reader=reader)
            return {"change": change, "kind": str(done.kind), "memory": done.memory_id} | {
                "changed": changed
            }

        taken = await self._change(work)
        self._parts.archivist.look()
        return taken

    async def keep_both(
        self, left: str, right: str, *, as_agent: str | None = None, caller: Caller = OWNER
    ) -> dict[str, Any]:
        """Say that two memories hold, though they were found to conflict.

        Raises `NotFound` where there is no conflict between them, and as `save` does.
        """
        at, caller = self._parts.clock.now(), caller.speaking(as_agent)

        def work(connection: Connection) -> dict[str, Any]:
            one, other = (keepown.mine(connection, each, caller).id for each in (left, right))
            if not similar_memories.keep_both(connection, one, other, at):
                message = f"there is no conflict between {one} and {other}"
                raise NotFound(f"{message}; list them with: cortex memory conflicts")
            return {"kept": sorted([one, other])}

        return await self._change(work)

    async def forget(
        self, ids: Sequence[str], *, as_agent: str | None = None, caller: Caller = OWNER
    ) -> dict[str, Any]:
        """Delete memories for good, with what they were made of, and what was made of them once.

        Answers once their words are written over in the ledger. Raises `Refused` for a part of a
        bigger memory, and as `save` does.
        """
        at, caller = self._parts.clock.now(), caller.speaking(as_agent)

        def work(connection: Connection) -> dict[str, Any]:
            some = [each.id for each in keepown.mine_all(connection, ids, caller)]
            memory_records.require_own(
                connection, sorted(memory_history.below(connection, some)), caller
            )
            gone = memory_delete.forget(connection, some, by=caller.by, at=at)
            return {
                "forgotten": list(gone.ids),
                "parts": list(gone.parts),
                "wholes": list(gone.wholes),
                "archived": list(gone.archived),
            }

        answer = await self._change(work)
        while await self._parts.records.write(memory_delete.wipe):
            pass
        return answer


def _require_change(connection: Connection, change: Change, caller: Caller) -> None:
    """Raise `NotFound` for a change of what the caller may not read, `NotYours` of another's."""
    if caller.is_owner:
        return
    if not memory_history.is_known(connection, change.memory_id, reader=caller.agent):
        raise memory_history.unknown(change.number)
    if change.kind is not ChangeKind.FORGET:
        memory_records.require_own(connection, [change.memory_id], caller)

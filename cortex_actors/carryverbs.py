"""The verbs that carry memories from one home to another: out page by page, in from a file.

Whoever exports gets what it may read; only the owner imports. What is imported is marked so for
ever, overwrites nothing, is merged with nothing, and says no events.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cortex_actors import carriage, wants
from cortex_actors.domain.agent import OWNER, Caller, agent_id
from cortex_actors.domain.memory import Realm
from cortex_actors.errors import BadInput, Refused
from cortex_actors.storage import memory_transfer
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.memory_transfer import Arrived

#: Records of a page.
PAGE: Final = 500

#: Seconds after which a call ends, to be gone on with: a verb may take 120.
LONG: Final = 45.0

#: Ids that are told of which something else is known.
TOLD: Final = 20

#: What can be exported -> how a page of it is read; the first three are everybody's.
KINDS: Final = {
    "agents": memory_transfer.agent_page,
    "memories": memory_transfer.memory_page,
    "crumbs": memory_transfer.crumb_page,
    "changes": memory_transfer.change_page,
    "pairs": memory_transfer.pair_page,
}

#: What the pages of agents and of changes begin behind.
_NUMBER: Final = re.compile(r"[0-9]{1,18}")

#: What only the owner is told.
_OWNERS: Final = frozenset({"changes", "pairs"})


class CarryVerbs(Verbs):
    """Part of the front desk."""

    async def export(
        self,
        kind: str = "memories",
        *,
        after: str = "",
        limit: int = 200,
        agent: str | None = None,
        realm: str | None = None,
        active: bool = False,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return the next records of a kind, and what `after` is for those behind them.

        Kinds are agents, memories, crumbs, and for the owner changes and pairs; `active` leaves out
        what may not be found now. Raises `BadInput`.
        """
        if kind not in KINDS:
            raise BadInput(f"cannot export {kind}; there are {', '.join(KINDS)}")
        wants.page(limit, 0, of=kind)
        wanted = memory_transfer.Wanted(
            reader=caller.reader(as_agent),
            agent=None if agent is None else agent_id(agent),
            realm=wants.chosen(Realm, realm, what="realm"),
            active=active,
        )
        if kind in _OWNERS and wanted.reader is not None:
            return {"kind": kind, "records": [], "next": None}
        if kind in {"agents", "changes"} and not _NUMBER.fullmatch(after or "0"):
            raise BadInput(f"cannot export {kind} behind {after!r}: that is no number")
        page = partial(KINDS[kind], wanted=wanted, after=after, limit=min(limit, PAGE))
        records, following = await self._parts.records.read(page)
        return {"kind": kind, "records": records, "next": following}

    async def import_memories(
        self, path: str, *, dry_run: bool = False, skip: int = 0, stamp: str | None = None
    ) -> dict[str, Any]:
        """Take in the memories of a file that are not there yet; only the owner may.

        All of it is looked at before anything is written. A large file takes several calls: `next`
        is the `skip` of the next one, with the same `stamp`; None at the end. How many records and
        secrets there are is told by the first. Taken in again, it adds nothing. Raises `BadInput`
        with the place of a wrong record, `NotFound`, and `Refused` for a file that was changed
        meanwhile.
        """
        clock = self._parts.clock
        begun, at = clock.monotonic(), clock.now()
        found = await self._looked_at(path, skip, stamp)
        total, done, whole = memory_transfer.Arrived(), skip, False
        waiting = carriage.groups(path, found.form, skip=skip)
        try:
            while done == skip or clock.monotonic() - begun < LONG:
                coming = await asyncio.to_thread(next, waiting, None)
                if coming is None:
                    whole = True
                    break
                done, group = coming
                _add(total, await self._group(group, at=at, dry_run=dry_run))
        finally:
            with suppress(ValueError):  # cancelled, while the thread still reads
                waiting.close()
        if whole and not dry_run:
            # Takes its own while: a call that has taken that long already leaves it to the next.
            whole = done == skip or clock.monotonic() - begun < LONG
            if whole:
                await self._answer(path, found.form)
        told = _told(found, total) | {"next": None if whole else done}
        return {"path": path, "dry_run": dry_run, **told}

    async def _looked_at(self, path: str, skip: int, stamp: str | None) -> carriage.Checked:
        """Return what a file holds; a part of one that was looked at is not looked at again."""
        found = await asyncio.to_thread(carriage.glance if skip else carriage.check, path)
        if skip and stamp != found.stamp:
            raise Refused(
                f"refused to go on with {path}: it was changed meanwhile; import it anew, what was "
                "taken in stays"
            )
        return found

    async def _group(self, group: Sequence[dict[str, Any]], *, at: int, dry_run: bool) -> Arrived:
        """Take a group in, or see what would come of it."""

        def work(connection: Connection) -> Arrived:
            arrived = memory_transfer.arrive(connection, group, at=at)
            if dry_run:
                raise _OnlyLooked(arrived)
            return arrived

        try:
            return await self._parts.records.write(work)
        except _OnlyLooked as looked:
            return looked.arrived

    async def _answer(self, path: str, form: str) -> None:
        """Write which of the memories answer which, now that all are there."""
        waiting = carriage.groups(path, form, answering=True)
        while (found := await asyncio.to_thread(next, waiting, None)) is not None:
            await self._parts.records.write(partial(memory_transfer.answer, found=found[1]))


class _OnlyLooked(Exception):
    """Undoes a unit of work that was only to be tried."""

    def __init__(self, arrived: Arrived) -> None:
        super().__init__("only looked")
        self.arrived = arrived


def _add(total: Arrived, some: Arrived) -> None:
    """Count what became of a group."""
    total.added += some.added
    total.existing += some.existing
    total.differing += some.differing


def _told(found: carriage.Checked, total: memory_transfer.Arrived) -> dict[str, Any]:
    """Return what a file held, and what of it came in with this call."""
    return {
        "format": found.form,
        "records": found.records,
        "added": dict(total.added),
        "existing": total.existing,
        "differing": total.differing[:TOLD],
        "redacted": found.redacted,
        "stamp": found.stamp,
    }

"""What `--repair` does: everything that can be made again, one unit of work after the other.

Nothing of a person's is ever written: of files, reading is asked for. Whatever cuts it short leaves
what was done; a second run does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.domain.event import FileChanged
from cortex_actors.domain.hit import Repair
from cortex_actors.domain.project import innermost
from cortex_actors.storage.health.repairs import MENDS, Mend

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.checkup.rounds import Look
    from cortex_actors.storage.ledger.actor import Connection


class Query(Protocol):
    """Runs queries on a connection that only reads."""

    async def __call__(self, query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Return what the query finds."""


@dataclass(frozen=True, slots=True)
class Ward:
    """How what is to be mended is reached: through a daemon, or past one that is down."""

    #: Runs a query beside the daemon's own readers.
    read: Query
    #: Commits a unit of work.
    write: Callable[[Callable[[Connection], Any]], Awaitable[Any]]
    #: Says, durably, that files have changed.
    say: Callable[[Sequence[FileChanged]], Awaitable[Any]]
    #: Begins a new generation of the index; None where a unit of work does.
    renew: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """One repair and what it did, in words."""

    repair: Repair
    did: str


async def treat(look: Look, ward: Ward) -> list[Done]:
    """Do everything that was found and can be mended, in the order of `Repair`."""
    wanted = {each.repair for each in look.diagnoses if each.repair is not None}
    return [
        Done(repair, did)
        for repair in Repair
        if repair in wanted and (did := await _treated(repair, look, ward))
    ]


async def _treated(repair: Repair, look: Look, ward: Ward) -> str:
    """Mend one kind of damage and say what was done; "" when there was nothing left to do."""
    if repair is Repair.FILES:
        return await _read_again(look, ward)
    if repair is Repair.INDEX and ward.renew is not None:
        await ward.renew()
        return f"1 {MENDS[repair].did}"
    return await _mended(MENDS[repair], look.model, ward)


async def _mended(mend: Mend, model: str, ward: Ward) -> str:
    """Do what there is to do, a slice for each unit of work."""
    todo = await ward.read(partial(_found, mend, model))
    for start in range(0, len(todo), mend.slice):
        await ward.write(partial(_worked, mend, model, todo[start : start + mend.slice]))
    return f"{len(todo):,} {mend.did}" if todo else ""


def _found(mend: Mend, model: str, opened: Connection) -> Sequence[Any]:
    """Return what a mend has to do."""
    return mend.find(opened, model)


def _worked(mend: Mend, model: str, todo: Sequence[Any], connection: Connection) -> None:
    """Do some of it, in the transaction of the connection."""
    mend.work(connection, model, todo)


async def _read_again(look: Look, ward: Ward) -> str:
    """Say that the files that were missed have changed, durably; nobody writes them."""
    seen = look.seen
    if seen is None:
        return ""
    late = [
        FileChanged(owner.id, path)
        for path in seen.missed
        if path not in seen.soon and (owner := innermost(seen.projects, path)) is not None
    ]
    await ward.say(late)
    return f"{len(late):,} files wait to be read again" if late else ""

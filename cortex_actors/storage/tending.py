"""Tending: memories are weighed anew, sink when they have earned it, and may be put away.

Each is done a little at a time, in transactions of their own, so that others write between two of
them; what a crash cuts off is done by the next run. What is said of a part commits with it. With
`dry_run` nothing is written, and the answer is what would be done. Conditions on rows of `memories`
narrow all of it: an agent tends its own memories alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from cortex_actors.clock import DAY
from cortex_actors.domain.event import Ids
from cortex_actors.storage import attending, fading, sinking, weighing
from cortex_actors.storage.append import store
from cortex_actors.storage.schema import memories
from cortex_actors.topics import MEMORY_DECAYED, MEMORY_PROMOTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection

    from cortex_actors.bus.bus import Bus
    from cortex_actors.clock import Clock
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.memorysections import MemorySettings
    from cortex_actors.storage.attending import Held
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.sinking import Earned

    #: Conditions on rows of `memories`.
    Where: TypeAlias = tuple[ColumnElement[bool], ...]

    Said: TypeAlias = list[Event[Payload]]

T = TypeVar("T")

#: Memories that one unit of work writes (the document's).
BATCH = 100

#: The words for why a memory is put away.
FADED = "Faded for"


@dataclass(frozen=True, slots=True)
class Weighed:
    """What weighing came to: memories looked at, written anew, and those that have faded by now.

    `faded` are how many of these had not when they were weighed before.
    """

    total: int = 0
    updated: int = 0
    below: int = 0
    faded: int = 0

    def with_page(self, page: weighing.Page) -> Weighed:
        """Return this with some more memories."""
        return Weighed(
            self.total + page.total,
            self.updated + len(page.moved),
            self.below + page.below,
            self.faded + len(page.faded),
        )


@dataclass(frozen=True, slots=True)
class Sunk:
    """How many memories were looked at, which have earned a deeper layer, and which are there."""

    total: int
    eligible: tuple[Earned, ...]
    promoted: tuple[str, ...] = ()


class Tending:
    """Does it, by the settings and in the name it was handed."""

    def __init__(
        self,
        records: Records,
        bus: Bus,
        clock: Clock,
        *,
        settings: MemorySettings,
        by: str,
        source: str,
    ) -> None:
        """Remember whom to ask; `by` is who does it, and `source` who says so."""
        self._records = records
        self._bus = bus
        self._clock = clock
        self._decays, self._earning = settings.decays, settings.earning
        self._by, self._source = by, source

    async def weigh(self, *where: ColumnElement[bool], dry_run: bool = False) -> Weighed:
        """Write the attention that memories have now where it has moved; say which have faded."""
        sums, after = Weighed(), ""
        while (page := await self._records.read(partial(self._page, after, where))).total:
            sums, after = sums.with_page(page), page.last
            for some in () if dry_run else _batches(page.moved):
                await self._write(partial(self._weigh, some))
        return sums

    async def sink_ripe(self) -> list[str]:
        """Let memories sink that only waited for their age; costs what is ripe, and no more."""
        moved: list[str] = []
        while await self._records.read(self._is_any_ripe):
            moved += await self._write(self._sink_ripe)
        return moved

    async def sink(self, *where: ColumnElement[bool], dry_run: bool = False) -> Sunk:
        """Let every memory sink that has earned it, by one layer."""
        found = await self._records.read(partial(self._earned, where))
        moved: list[str] = []
        for some in () if dry_run else _batches([each.id for each in found.eligible]):
            moved += await self._write(partial(self._sink, some))
        return replace(found, promoted=tuple(moved))

    async def archive(
        self, days: float, *where: ColumnElement[bool], dry_run: bool = False
    ) -> list[str]:
        """Put memories away that have lain faded for so many days; none for 0 days.

        Each is a change that can be undone. The time is that of the ledger's last events where the
        clock is ahead of them: a clock that is wrong must not make everything old.
        """
        gone: list[str] = []
        after = ""
        while days > 0 and (
            some := await self._records.read(partial(self._idle, days, after, where))
        ):
            after = some[-1]
            gone += some if dry_run else await self._write(partial(self._put_away, days, some))
        return gone

    def _page(self, after: str, where: Where, connection: Connection) -> weighing.Page:
        now = self._clock.now()
        return weighing.look(connection, after, *where, now=now, decays=self._decays)

    def _weigh(self, ids: Sequence[str], connection: Connection) -> tuple[None, Said]:
        page = weighing.write(connection, ids, now=self._clock.now(), decays=self._decays)
        return None, self._told(MEMORY_DECAYED, page.faded)

    def _earned(self, where: Where, connection: Connection) -> Sunk:
        found = sinking.earned(connection, *where, now=self._clock.now(), earning=self._earning)
        return Sunk(attending.count(connection, *where), tuple(found))

    def _sink(self, ids: Sequence[str], connection: Connection) -> tuple[list[str], Said]:
        """Let those memories sink that have earned it still."""
        some = list(attending.held(connection, ids).values())
        return self._sunk(connection, some)

    def _is_any_ripe(self, connection: Connection) -> bool:
        """Tell whether a memory is ripe: where none is, nothing is written."""
        return bool(attending.ripe(connection, self._clock.now(), 1))

    def _sink_ripe(self, connection: Connection) -> tuple[list[str], Said]:
        """Let the next memories sink that are ripe."""
        return self._sunk(connection, attending.ripe(connection, self._clock.now(), BATCH))

    def _sunk(self, connection: Connection, some: Sequence[Held]) -> tuple[list[str], Said]:
        now = self._clock.now()
        moved = sinking.sink(connection, some, now=now, earning=self._earning, by=self._by)
        return moved, self._told(MEMORY_PROMOTED, moved)

    def _idle(self, days: float, after: str, where: Where, connection: Connection) -> list[str]:
        """Return the next memories that have lain faded for so many days."""
        before = fading.today(connection, self._clock.now()) - round(days * DAY)
        return weighing.idle(
            connection, *where, before=before, decays=self._decays, limit=BATCH, after=after
        )

    def _put_away(
        self, days: float, ids: Sequence[str], connection: Connection
    ) -> tuple[list[str], Said]:
        """Archive those of the memories that lie faded still: one may have been read meanwhile."""
        still = self._idle(days, "", (memories.c.id.in_(ids),), connection)
        gone = weighing.put_away(
            connection, still, at=self._clock.now(), by=self._by, reason=f"{FADED} {days:g} days"
        )
        return gone, []

    def _told(self, topic: str, ids: Sequence[str]) -> Said:
        """Return what is said of memories; nothing of none."""
        return [self._bus.event(topic, Ids(tuple(ids)), source=self._source)] if ids else []

    async def _write(self, unit: Callable[[Connection], tuple[T, Said]]) -> T:
        """Change something and say so in one transaction; return what the change gave."""

        def whole(connection: Connection) -> tuple[T, Said]:
            given, said = unit(connection)
            return given, store(connection, said)

        given, stored = await self._records.write(whole)
        for each in stored:
            self._bus.announce(each)
        return given


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield ids, as many at a time as one unit writes."""
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]

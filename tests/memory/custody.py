"""What the tests of the custodian share: memories that are read, sink and fade beside a ledger."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from cortex_actors.domain.event import Ids
from cortex_actors.domain.memory import Access, Layer, Memory, Realm
from cortex_actors.memory.custodian import NAME, Custodian
from cortex_actors.runtime.names import NamedActor
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import memory_records
from cortex_actors.storage.tables.schema import memory_changes
from cortex_actors.testing import EPOCH, eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.storage.ledger.actor import Records
    from tests.pipeline.support import Office


def memory(number: int, **known: Any) -> Memory:
    """Return a memory that was said when the clock began."""
    fields: dict[str, Any] = {
        "id": f"mem_{number:026d}",
        "realm": Realm.PRIVATE,
        "agent_id": "CLAUDE",
        "text": f"the number is {number}",
        "created_at": EPOCH,
        "layer": Layer.SENSORY,
    }
    return Memory(**{**fields, **known})


class Custody:
    """A custodian in an office, and the memories it looks after."""

    def __init__(self, office: Office, **settings: Any) -> None:
        self.office = office
        self.settings = MemorySettings(**settings)
        self.flush: Callable[..., Any] = partial(
            NamedActor[Any](NAME, office.names).ask, Custodian.flush
        )
        self.describe: Callable[..., Any] = partial(
            NamedActor[Any](NAME, office.names).ask, Custodian.describe
        )
        self.tell: Callable[..., Any] = partial(
            NamedActor[Any](NAME, office.names).ask, Custodian.note_access
        )

    async def begin(self, records: Records | None = None) -> Custody:
        """Have it at work; `records` is its way to the ledger."""
        make = partial(
            Custodian,
            self.office.desk(NAME),
            records or self.office.records,
            settings=self.settings,
        )
        self.handle = await self.office.employ(NAME, make)
        # Behind its first look for events: one that the ledger never answered would be tried again
        # by the clock, and hold up whoever asks meanwhile.
        await self.describe()
        return self

    async def save(self, *some: Memory) -> list[str]:
        """Save memories; return their ids."""
        await self.office.write(lambda c: memory_records.save(c, some))
        return [each.id for each in some]

    async def read(self, *ids: str, cosine: float = 0.9, times: int = 1) -> None:
        """Tell that memories were in answers, and return once that was taken down."""
        for _ in range(times):
            await self.tell([Access(each, cosine) for each in ids])

    async def over(self) -> None:
        """Let the window end, and return once everything is written."""
        self.office.clock.advance(self.settings.flush_s)
        await eventually(self.is_written)

    async def one(self, memory_id: str) -> Memory:
        """Return a memory, whatever its state."""
        states = ("active", "merged", "archived", "superseded")
        found = await self.office.read(lambda c: memory_records.read(c, [memory_id], states))  # type: ignore[arg-type]
        return found[memory_id]

    async def changes(self, memory_id: str) -> list[tuple[str, str, str | None]]:
        """Return what was done with a memory: kind, by whom and why."""
        row = memory_changes.c
        query = select(row.kind, row.by, row.reason).where(row.memory_id == memory_id)
        rows = await self.office.read(lambda c: c.execute(query.order_by(row.id)).all())
        return [(kind, by, reason) for kind, by, reason in rows]

    def said(self, topic: str) -> list[tuple[str, ...]]:
        """Return the ids that events of a topic named."""
        payloads = [each.payload for each in self.office.said if each.topic == topic]
        return [each.ids for each in payloads if isinstance(each, Ids)]

    async def is_written(self) -> bool:
        return bool(0 == (await self.describe())["waiting"])

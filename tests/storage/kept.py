"""The verbs about what becomes of a memory, over the ledger's tables in memory."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cortex_actors.api.desk import FrontDesk
from cortex_actors.api.registry import Call
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.memory import ChangeKind, Layer, Memory, Realm
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.memory import memory_states
from cortex_actors.storage.memory_history import MemoryChange
from cortex_actors.testing import EPOCH, ManualClock
from tests.fakes import FakeActor, partial_call
from tests.storage.things import in_memory, mem, memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from tests.storage.things import Tables

T = TypeVar("T")

W = mem("w")


class NotedCall(Call):
    """A call that publishes nothing: what it would publish is noted by the desk."""

    async def change_and_publish(
        self, work: Callable[[Connection], tuple[T, Any]], *, dry_run: bool = False
    ) -> T:
        desk = cast("Desk", self.records)
        given, said = await desk.write(work)
        desk.said += [(topic, payload.ids) for topic, payload in said]
        return given


class Desk(FrontDesk):
    """The verbs over the ledger's tables in memory, and no actor around them."""

    def __init__(self, tables: Tables) -> None:
        """Take down what is said."""
        self.tables = tables
        self.said: list[tuple[str, Any]] = []
        self.clock = ManualClock()
        settings = SimpleNamespace(memory=MemorySettings())
        actors = SimpleNamespace(archivist=FakeActor(SimpleNamespace(look=lambda: None)))
        parts = {"records": self, "clock": self.clock, "settings": lambda: settings}
        super().__init__(partial_call(NotedCall, actors=actors, **parts))

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query."""
        return query(self.tables.connection)

    async def write(self, unit: Callable[[Connection], T]) -> T:
        """Run a unit of work, all or nothing."""
        with self.tables.connection.begin_nested():
            return unit(self.tables.connection)


@contextmanager
def furnished() -> Iterator[Desk]:
    """Give the verbs, two memories of A, a whole made of two, and a post of the village."""
    with in_memory() as tables:
        parts = [memory(f"part {each}", id=each, thread="w", abstract=each) for each in "mn"]
        some = [
            memory("port 1", id="a", layer=Layer.SENSORY, thread=""),
            memory("port 2", 1, id="b", thread=""),
            memory("hello", 2, id="v", realm=Realm.VILLAGE),
        ]
        tables.write(lambda c: memory_records.save(c, [*some, *parts]))
        whole = Memory(
            **{name: getattr(parts[0], name) for name in Memory.__slots__}
            | {"id": W, "text": "parts m and n", "abstract": "both", "summary": "all of it"}
        )
        ids = [each.id for each in parts]
        tables.write(
            lambda c: memory_states.write_whole(c, whole, ids, at=EPOCH + 3, by=Decider.RULES)
        )
        merge = MemoryChange(ChangeKind.MERGE, W, by="A", at=EPOCH + 3, others=tuple(ids))
        tables.write(lambda c: memory_history.note(c, merge))
        yield Desk(tables)

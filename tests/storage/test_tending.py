"""Memories are weighed anew, sink when they have earned it, and are put away when they faded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.bus.bus import Bus
from cortex_actors.clock import DAY
from cortex_actors.domain.memory import PROBE, ChangeKind, Layer, MemoryStatus, MemoryType
from cortex_actors.rules.decay import HOUR
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import memory_history, memory_records
from cortex_actors.storage.events import Publisher
from cortex_actors.storage.ledger.backups import BELIEVED
from cortex_actors.storage.memory import memory_attention, memory_undo
from cortex_actors.storage.memory.memory_attention import BATCH, Tending, WeighedMemories
from cortex_actors.storage.tables.schema import memories as rows
from cortex_actors.testing import EPOCH, ManualClock
from cortex_actors.topics import MEMORY_DECAYED, MEMORY_PROMOTED
from tests.bus.journal import MemoryJournal
from tests.storage.room import Records
from tests.storage.things import Tables, mem, memory

if TYPE_CHECKING:
    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.memory import Memory

#: Seconds of an hour and a day.
HOUR_S, DAY_S = 3_600, 86_400


class Scene:
    """Some memories, a clock, and somebody who tends them."""

    def __init__(self, tables: Tables, **settings: Any) -> None:
        self.tables = tables
        self.clock = ManualClock()
        self.records = Records(tables)
        self.said: list[Event[Payload]] = []
        self.settings = MemorySettings(**settings)
        bus = Bus(MemoryJournal(self.clock), self.clock)
        bus.subscribe("*", self.said.append)
        self.tending = Tending(
            Publisher(bus, self.records, "scheduler"),  # type: ignore[arg-type]
            self.clock,
            self.settings,
            by="scheduler",
        )

    def save(self, *some: Memory) -> None:
        self.tables.write(lambda c: memory_records.save(c, some))

    def one(self, name: str) -> Memory:
        found = self.tables.read(lambda c: memory_records.read(c, [mem(name)], MemoryStatus))
        return found[mem(name)]

    def told(self, topic: str) -> list[str]:
        """Return the ids that were said on a topic."""
        events = [each for each in self.said if each.topic == topic]
        return [name for each in events for name in getattr(each.payload, "ids", ())]

    def days(self, number: float) -> None:
        """Let days pass, and so much be said that the ledger believes it."""
        self.clock.advance(number * DAY_S)
        at = self.clock.now()
        for each in range(BELIEVED):
            self.tables.connection.exec_driver_sql(
                "INSERT INTO events (id, topic, payload, at, source) VALUES (?, 'x', '{}', ?, 't')",
                (f"evt_{at + each:026d}", at),
            )


@pytest.fixture
def scene(tables: Tables) -> Scene:
    """Give a scene by the document's numbers."""
    return Scene(tables)


class TestWeigh:
    async def test_moved_alone(self, scene: Scene) -> None:
        """Only attention that moved by more than a hundredth is written."""
        scene.save(
            memory("new", layer=Layer.WORKING), memory("old", -72 * HOUR, layer=Layer.WORKING)
        )
        scene.clock.advance(HOUR_S)  # a working memory loses 1 % of its freshness in an hour

        assert WeighedMemories(total=2, updated=1, below=0, faded=0) == await scene.tending.weigh()
        assert [1.0, pytest.approx(0.495, abs=0.001)] == [
            scene.one(each).attention for each in ("new", "old")
        ]

    async def test_faded_once(self, scene: Scene) -> None:
        """What came to its floor is said once."""
        scene.save(memory("x", layer=Layer.SENSORY), memory("deep", layer=Layer.CORTEX))
        scene.clock.advance(5 * DAY_S)
        first = await scene.tending.weigh()
        scene.clock.advance(5 * DAY_S)
        second = await scene.tending.weigh()

        assert [WeighedMemories(2, 1, 1, 1), WeighedMemories(2, 0, 1, 0)] == [first, second]
        assert [mem("x")] == scene.told(MEMORY_DECAYED)
        assert 0.1 == scene.one("x").attention

    async def test_dry(self, scene: Scene) -> None:
        """A dry run says what would change, and writes and says nothing."""
        scene.save(memory("x", layer=Layer.SENSORY))
        scene.clock.advance(5 * DAY_S)

        assert WeighedMemories(1, 1, 1, 1) == await scene.tending.weigh(dry_run=True)
        assert 1.0 == scene.one("x").attention
        assert not scene.said
        assert not scene.records.writes

    async def test_batches(self, scene: Scene) -> None:
        """However many they are, one unit of work writes a hundred."""
        scene.save(*(memory(f"x{each}", layer=Layer.SENSORY) for each in range(BATCH + 1)))
        scene.clock.advance(DAY_S)
        await scene.tending.weigh()

        assert 2 == scene.records.writes

    async def test_pinned(self, scene: Scene) -> None:
        """What is pinned has all attention; probes are no memories."""
        scene.save(memory("x", layer=Layer.SENSORY, pinned_at=EPOCH), memory("y", agent_id=PROBE))
        scene.clock.advance(DAY_S)

        assert WeighedMemories(total=1) == await scene.tending.weigh()


class TestSink:
    async def test_by_age(self, scene: Scene) -> None:
        """What was read often enough sinks when it is a day old, without being read again."""
        scene.save(
            memory("x", layer=Layer.WORKING, access_count=5), memory("y", layer=Layer.WORKING)
        )
        held = scene.tables.read(
            lambda c: list(memory_attention.load_inputs(c, [mem("x")]).values())
        )
        scene.tables.write(
            lambda c: memory_attention.sink(
                c, held, now=EPOCH, earning=scene.settings.earning, by="custodian"
            )
        )
        assert [] == await scene.tending.sink_ripe()
        assert not scene.records.writes

        scene.clock.advance(DAY_S)
        assert [mem("x")] == await scene.tending.sink_ripe()
        assert [] == await scene.tending.sink_ripe()
        assert Layer.LONG_TERM == scene.one("x").layer
        assert [mem("x")] == scene.told(MEMORY_PROMOTED)

    async def test_report(self, scene: Scene) -> None:
        """A dry run names those that have earned a deeper layer, with the reason."""
        self._four(scene)
        found = await scene.tending.sink(dry_run=True)

        assert (4, ()) == (found.total, found.promoted)
        assert [
            (mem("c"), Layer.WORKING, Layer.LONG_TERM),
            (mem("a"), Layer.SENSORY, Layer.WORKING),
        ] == [(each.id, each.layer, each.to) for each in sorted(found.eligible, reverse=True)]
        assert "Access count 2 >= threshold 2" in [each.reason for each in found.eligible]
        assert not scene.records.writes

    async def test_all(self, scene: Scene) -> None:
        """They all sink by one layer, exactly once."""
        self._four(scene)
        first, second = await scene.tending.sink(), await scene.tending.sink()

        assert ({mem("a"), mem("c")}, ()) == (set(first.promoted), second.promoted)
        assert [Layer.WORKING, Layer.SENSORY, Layer.LONG_TERM, Layer.WORKING] == [
            scene.one(each).layer for each in "abcd"
        ]

    async def test_own(self, scene: Scene) -> None:
        """Conditions narrow it: an agent tends its own."""
        self._four(scene)
        scene.save(memory("z", agent_id="B", layer=Layer.SENSORY, access_count=2))
        found = await scene.tending.sink(rows.c.agent_id == "B")

        assert (1, (mem("z"),)) == (found.total, found.promoted)

    async def test_undone(self, scene: Scene) -> None:
        """A step that somebody has undone is not made again by itself."""
        scene.save(memory("x", layer=Layer.SENSORY, access_count=2))
        await scene.tending.sink()
        (change,) = scene.tables.read(lambda c: memory_history.list_changes(c, memory=mem("x")))[0]
        scene.tables.write(lambda c: memory_undo.undo(c, change.id, by="owner", at=EPOCH + 1))
        held = scene.tables.read(
            lambda c: list(memory_attention.load_inputs(c, [mem("x")]).values())
        )
        again = scene.tables.write(
            lambda c: memory_attention.sink(
                c, held, now=EPOCH + 2, earning=scene.settings.earning, by="custodian"
            )
        )

        assert ([], ()) == (again, (await scene.tending.sink()).promoted)
        assert Layer.SENSORY == scene.one("x").layer

    async def test_converged_before(self, scene: Scene) -> None:
        """What several agents agreed with before it was long-term sinks into the cortex then."""
        scene.save(memory("x", -3 * DAY, layer=Layer.WORKING, access_count=5), memory("y"))
        scene.tables.connection.exec_driver_sql(
            "INSERT INTO convergences (id, kind, likeness, found_at) VALUES (1, 'HARMONY', 0.9, 1)"
        )
        scene.tables.connection.exec_driver_sql(
            "INSERT INTO convergence_memories VALUES (1, ?)", (mem("x"),)
        )
        assert (mem("x"),) == (await scene.tending.sink()).promoted

        assert [mem("x")] == await scene.tending.sink_ripe()
        assert Layer.CORTEX == scene.one("x").layer

    @staticmethod
    def _four(scene: Scene) -> None:
        scene.save(
            memory("a", layer=Layer.SENSORY, access_count=2),
            memory("b", layer=Layer.SENSORY, access_count=1),
            memory("c", -DAY, layer=Layer.WORKING, access_count=5),
            memory("d", layer=Layer.WORKING, access_count=5),
        )


class TestArchive:
    async def test_never(self, scene: Scene) -> None:
        """By the document nothing is ever put away."""
        scene.save(memory("x", layer=Layer.SENSORY))
        scene.days(10_000)

        assert [] == await scene.tending.archive(scene.settings.archive_days)

    async def test_days(self, scene: Scene) -> None:
        """What has lain faded for so many days is archived, with a note, and can come back."""
        scene.save(memory("x", layer=Layer.SENSORY), memory("deep", layer=Layer.CORTEX))
        scene.save(memory("pin", layer=Layer.SENSORY, pinned_at=EPOCH))
        scene.save(memory("who", layer=Layer.SENSORY, type=MemoryType.AGENT_PROFILE))
        scene.days(7.5)
        assert [] == await scene.tending.archive(7)  # it took most of a day to fade

        scene.days(1)
        assert [mem("x")] == await scene.tending.archive(7, dry_run=True)
        assert MemoryStatus.ACTIVE == scene.one("x").status
        assert [mem("x")] == await scene.tending.archive(7)
        assert MemoryStatus.ARCHIVED == scene.one("x").status

        (change,) = scene.tables.read(lambda c: memory_history.list_changes(c, memory=mem("x")))[0]
        assert (ChangeKind.ARCHIVE, "scheduler", "Faded for 7 days") == (
            change.kind,
            change.by,
            change.reason,
        )
        scene.tables.write(lambda c: memory_undo.undo(c, change.id, by="owner", at=EPOCH))
        assert MemoryStatus.ACTIVE == scene.one("x").status

    async def test_wrong_clock(self, scene: Scene) -> None:
        """A clock that is years ahead puts nothing away."""
        scene.save(memory("x", layer=Layer.SENSORY))
        scene.days(1)
        scene.clock.advance(3_650 * DAY_S)

        assert [] == await scene.tending.archive(7)

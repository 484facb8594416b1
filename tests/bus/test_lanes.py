"""What is in hand at once commits, project by project, in the order of its events."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.commits import Delivery, Outcome
from cortex_actors.bus.consumer import DeliveryLanes
from cortex_actors.domain.event import Event, FileChanged, ScanRequested
from cortex_actors.errors import LedgerDown
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.names import NamedActor
from cortex_actors.testing import ManualClock, eventually
from tests.bus.journal import MemoryJournal
from tests.bus.support import Script, Stage, Wide

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    from cortex_actors.bus.commits import Rest
    from cortex_actors.domain.event import Payload


@asynccontextmanager
async def stage(script: Script, kind: type[Wide] = Wide) -> AsyncIterator[Stage]:
    """Give a stage with a supervised consumer, and end it afterwards."""
    play = Stage()
    try:
        await play.supervised({"accumulator": script}, kind)
        yield play
    finally:
        await play.end()


class Slow(MemoryJournal):
    """A journal whose answers come late, when the test wants that."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.gate = asyncio.Event()
        self.gate.set()
        self.held = False

    async def find_next(
        self, consumer: str, in_hand: Collection[Delivery] = ()
    ) -> Delivery | Rest | None:
        """Look now, and answer when the gate is open."""
        found = await super().find_next(consumer, in_hand)
        self.held = isinstance(found, Delivery) and not self.gate.is_set()
        await self.gate.wait()
        return found


def gated(*names: str, **more: Any) -> Script:
    """Return a script whose handlers wait for the test."""
    return Script(gates={name: asyncio.Event() for name in names}, **more)


async def idle(play: Stage) -> None:
    """Return when the consumer has done what it could."""
    for _ in range(20):
        await play.journal.find_next("nobody")
        await asyncio.wait([asyncio.get_running_loop().create_task(_turn())])


async def _turn() -> None:
    """Let the loop have a turn."""


class TestOrder:
    async def test_early(self) -> None:
        """A handler that ends early commits after the earlier events of its project."""
        script = gated("/a")
        async with stage(script) as play:
            await play.change("/a", "/b", "/c")
            await eventually(lambda: 3 == len(script.seen) and ["/a"] == script.inside)
            await idle(play)
            before = script.paths()
            script.gates["/a"].set()
            await eventually(lambda: 3 == len(script.effects))

        assert [] == before
        assert ["/a", "/b", "/c"] == script.paths()

    async def test_other_project(self) -> None:
        """It does not wait for another project's."""
        script = gated("/a")
        async with stage(script) as play:
            await play.change("/a")
            await play.change("/b", project="prj_2")
            await eventually(lambda: ["/b"] == script.paths())
            script.gates["/a"].set()
            await eventually(lambda: 2 == len(script.effects))

        assert ["/b", "/a"] == script.paths()

    async def test_no_project(self) -> None:
        """What is of no project waits for nobody, and nobody for it."""
        script = gated(topics.SCAN_REQUESTED, "/a")
        async with stage(script) as play:
            await play.change("/a")
            await play.bus.publish(topics.SCAN_REQUESTED, ScanRequested(), source="test")
            await play.change("/b", project="prj_2")
            await eventually(lambda: 1 == len(script.effects))
            script.gates[topics.SCAN_REQUESTED].set()
            await eventually(lambda: 2 == len(script.effects))
            script.gates["/a"].set()
            await eventually(lambda: 3 == len(script.effects))

        assert ["prj_2", None, "prj_1"] == [e.payload.project_id for e in script.effects]

    async def test_any_order_of_ends(self) -> None:
        """Whatever ends first, every project's effects are in the order of its events."""
        names = [f"/{n}" for n in range(12)]
        script = gated(*names)
        async with stage(script) as play:
            for number, name in enumerate(names):
                await play.change(name, project=f"prj_{number % 2}")
            while len(script.effects) < len(names):
                await eventually(lambda: bool(script.inside) or len(script.effects) == len(names))
                for name in script.inside[-1:]:
                    script.gates[name].set()
                await idle(play)

        for project in ("prj_0", "prj_1"):
            seqs = [e.seq or 0 for e in script.effects if e.payload.project_id == project]
            assert sorted(seqs) == seqs

    async def test_at_once(self) -> None:
        """Handlers of one project run beside one another all the same."""
        script = gated("/a", "/b", "/c")
        async with stage(script) as play:
            await play.change("/a", "/b", "/c")
            await eventually(lambda: ["/a", "/b", "/c"] == script.inside)
            for gate in script.gates.values():
                gate.set()
            await eventually(lambda: 3 == len(script.effects))

    async def test_repeat(self) -> None:
        """A repeat comes before what was said after it, although it had to wait."""
        script = gated("/a")
        async with stage(script) as play:
            await play.change("/a")
            await eventually(lambda: ["/a"] == script.inside)
            await play.change("/a", "/b")
            script.gates["/a"].set()
            await eventually(lambda: 3 == len(script.effects))

        assert ["/a", "/a", "/b"] == script.paths()


class TestGivenBack:
    async def test_crash(self) -> None:
        """What waits behind an event that crashes is not committed, and comes again behind it."""
        script = gated("/bad", poison={"/bad"})
        async with stage(script) as play:
            await play.change("/bad", "/b", "/c")
            await eventually(lambda: 3 == len(script.seen) and ["/bad"] == script.inside)
            script.gates["/bad"].set()
            await eventually(lambda: 2 == script.lives and 1 == play.clock.sleepers)
            before = script.paths()
            script.poison.clear()
            play.clock.advance(1)
            await eventually(lambda: 3 == len(script.effects))

        assert [] == before
        assert ["/bad", "/b", "/c"] == script.paths()
        assert [] == play.memory.dead

    async def test_ledger_away(self) -> None:
        """When an outcome cannot be committed, the later ones of its project wait for it."""
        script = gated("/a", "/c", errors=[LedgerDown("away")])
        async with stage(script) as play:
            await play.change("/a")
            await eventually(lambda: ["/a"] == script.inside)
            script.gates["/a"].set()
            await eventually(lambda: 2 == play.clock.sleepers)
            await play.change("/b", "/c")
            await play.change("/d", project="prj_2")
            await idle(play)
            seen = len(script.seen)
            play.clock.advance(1)
            await eventually(lambda: ["/c"] == script.inside)
            script.gates["/c"].set()
            await eventually(lambda: 4 == len(script.effects))

        assert 1 == seen
        assert ["/a", "/b", "/c"] == [path for path in script.paths() if path != "/d"]
        assert ["accumulator"] != play.told("restarted")

    async def test_behind_a_failure(self) -> None:
        """Handlers that run behind one that could not commit are ended, and run again in order."""
        script = gated("/a", "/b")
        async with stage(script) as play:
            await play.change("/a", "/b", "/c")
            await eventually(lambda: 3 == len(script.seen))
            script.errors.append(LedgerDown("away"))
            script.gates["/a"].set()
            await eventually(lambda: [] == script.inside)
            script.gates["/b"].set()
            await idle(play)
            before = script.paths()
            play.clock.advance(1)
            await eventually(lambda: 3 == len(script.effects))

        assert [] == before
        assert ["/a", "/b", "/c"] == script.paths()

    async def test_partly_settled(self) -> None:
        """When an earlier life settles a part of a delivery late, the rest keeps its place."""
        script = gated("/a")
        async with stage(script) as play:
            (first,) = await play.change("/a")
            early = await play.journal.find_next("accumulator")
            await eventually(lambda: ["/a"] == script.inside)
            assert isinstance(early, Delivery)
            assert (first.seq,) == early.seqs
            await play.change("/a", "/b")
            NamedActor[Any]("accumulator", play.names).tell(AsyncioActor.crash)
            await eventually(lambda: 3 == len(script.seen))
            await play.journal.settle(early, Outcome(lambda _: script.effects.append(early.event)))
            script.gates["/a"].set()
            await eventually(lambda: 3 == len(script.effects))

        assert ["/a", "/a", "/b"] == script.paths()

    async def test_looked_up_before(self) -> None:
        """What was looked up before an earlier one failed is not handed out past it."""
        script, play = gated("/a", errors=[LedgerDown("away")]), Stage()
        slow = play.journal = Slow(play.clock)
        play.bus = Bus(slow, play.clock)
        ref = await play.alone("accumulator", script, Wide)
        await play.change("/a")
        await eventually(lambda: ["/a"] == script.inside)
        slow.gate.clear()
        await play.change("/b")
        await eventually(lambda: slow.held)
        script.gates["/a"].set()
        await eventually(lambda: 2 == play.clock.sleepers)
        slow.gate.set()
        await idle(play)
        seen = len(script.seen)
        play.clock.advance(1)
        await eventually(lambda: 2 == len(script.effects))
        ref.stop(block=False)
        await ref.join()

        assert 1 == seen
        assert ["/a", "/b"] == script.paths()

    async def test_stop(self) -> None:
        """A stop finishes what is in hand, those that wait for their turn included."""
        script, play = gated("/a"), Stage()
        ref = await play.alone("accumulator", script, Wide)
        await play.change("/a", "/b", "/c", "/d")
        await eventually(lambda: 3 == len(script.seen) and ["/a"] == script.inside)
        ref.shut_down()
        script.gates["/a"].set()
        await ref.join()

        assert ["/a", "/b", "/c"] == script.paths()
        assert 1 == play.memory.waiting("accumulator")


def delivery(*seqs: int, project: str = "prj_1", path: str = "/a") -> Delivery:
    """Return a delivery of several events."""
    payload: Payload = FileChanged(project, path)
    event = Event(f"evt_{seqs[-1]}", topics.FILE_CHANGED, payload, 0, "test", seqs[-1])
    return Delivery("accumulator", event, seqs, path)


class TestLanes:
    async def test_conflated(self) -> None:
        """Of events that are handled as one, the first counts."""
        lanes, went = DeliveryLanes(), list[int]()
        places = [lanes.enter(delivery(*seqs)) for seqs in ((5,), (3, 9), (7,))]
        tasks = [asyncio.ensure_future(lanes.turn(place)) for place in places]
        for _ in range(3):
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            (index,) = [n for n, task in enumerate(tasks) if task.done()]
            went.append(places[index].seq)
            lanes.leave(places.pop(index))
            tasks.pop(index)

        assert [3, 5, 7] == went

    @pytest.mark.parametrize("project", ["prj_2", ""])
    async def test_beside(self, project: str) -> None:
        """Another project's is not waited for, nor is one of no project."""
        lanes = DeliveryLanes()
        lanes.enter(delivery(1, project=project))
        await lanes.turn(lanes.enter(delivery(2)))

    async def test_halted(self) -> None:
        """Once one is given back, so are all behind it, until all of them have left."""
        lanes = DeliveryLanes()
        first, second, other = (
            lanes.enter(delivery(1)),
            lanes.enter(delivery(2)),
            lanes.enter(delivery(3, project="prj_2")),
        )
        lanes.give_back(first)
        lanes.leave(first)
        halted = lanes.halted
        lanes.leave(second)

        assert [True, False] == [second.given_back, other.given_back]
        assert [True, False] == [halted, lanes.halted]

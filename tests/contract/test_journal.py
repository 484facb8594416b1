from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.journal import Delivery, Failure, Journal, Outcome, Rest
from cortex_actors.domain.payload import AccumulationComplete, FileChanged, Ids, Payload
from cortex_actors.storage.journal import LedgerJournal
from cortex_actors.testing import ManualClock, MemoryJournal
from tests.storage.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from cortex_actors.domain.event import Event

CHANGED = topics.FILE_CHANGED


def noting(effects: list[object], effect: object) -> Callable[[object], None]:
    """Return the work that has an effect."""
    return lambda _connection: effects.append(effect)


class Bench:
    """A journal under test, and the clock it lives by."""

    def __init__(self, journal: Journal, clock: ManualClock) -> None:
        self.journal = journal
        self.clock = clock
        self.bus = Bus(journal, clock)

    async def change(self, *paths: str) -> list[Event[Payload]]:
        """Append that files have changed."""
        events = [
            self.bus.event(CHANGED, FileChanged("prj_1", path), source="test") for path in paths
        ]
        return await self.journal.append(events)

    async def take(self, *in_hand: Delivery, consumer: str = "accumulator") -> Delivery:
        """Return what is next, which must be a delivery."""
        found = await self.journal.next(consumer, in_hand)
        assert isinstance(found, Delivery)
        return found

    async def path(self, *in_hand: Delivery) -> str:
        """Return the path of the file that is next."""
        delivery = await self.take(*in_hand)
        payload: FileChanged = delivery.event.payload
        return payload.path

    async def nothing(self, *in_hand: Delivery, consumer: str = "accumulator") -> bool:
        """Tell whether nothing is to be handled."""
        return await self.journal.next(consumer, in_hand) is None


@pytest.fixture(params=["memory", "ledger"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    """Give each journal in turn."""
    if request.param == "memory":
        clock = ManualClock()
        yield Bench(MemoryJournal(clock), clock)
        return
    async with opened(tmp_path) as store:
        yield Bench(LedgerJournal(store.records, store.clock), store.clock)


class TestAppend:
    async def test_order(self, bench: Bench) -> None:
        """Events get rising numbers, in the order they were given."""
        first = await bench.change("/a", "/b")
        second = await bench.change("/c")
        seqs = [event.seq or 0 for event in first + second]

        assert sorted(set(seqs)) == seqs

    async def test_same_id(self, bench: Bench) -> None:
        """Saying an event twice is saying it once."""
        (event,) = await bench.change("/a")
        again = await bench.journal.append([event])
        delivery = await bench.take()

        assert [event] == again
        assert (event.seq,) == delivery.seqs

    async def test_same_id_after_handling(self, bench: Bench) -> None:
        """An event that was handled is not handed out again when it is said again."""
        (event,) = await bench.change("/a")
        await bench.journal.settle(await bench.take(), Outcome())
        await bench.journal.append([event])

        assert await bench.nothing()

    async def test_every_consumer(self, bench: Bench) -> None:
        """Each consumer handles an event by itself."""
        event = bench.bus.event(
            topics.SCAN_REQUESTED, topics.parse(topics.SCAN_REQUESTED, {}), source="test"
        )
        await bench.journal.append([event])
        await bench.journal.settle(await bench.take(), Outcome())

        assert await bench.nothing()
        assert event.id == (await bench.take(consumer="watchlist")).event.id

    async def test_nobody(self, bench: Bench) -> None:
        """Who is not named hears nothing."""
        await bench.change("/a")

        assert await bench.nothing(consumer="organiser")


class TestNext:
    async def test_stays(self, bench: Bench) -> None:
        """What is not settled is handed out again, as it was."""
        await bench.change("/a")

        assert await bench.take() == await bench.take()

    async def test_oldest_first(self, bench: Bench) -> None:
        """The oldest event is next."""
        await bench.change("/a", "/b")

        assert "/a" == await bench.path()

    async def test_in_hand(self, bench: Bench) -> None:
        """What is in hand is not handed out, nor is a repeat of it."""
        await bench.change("/a", "/b")
        first = await bench.take()
        await bench.change("/a")

        assert "/b" == await bench.path(first)
        assert await bench.nothing(first, await bench.take(first))

    async def test_in_hand_without_key(self, bench: Bench) -> None:
        """Events without a key are handed out beside one another."""
        said = [
            bench.bus.event(topics.PROJECT_ADDED, Ids((f"prj_{n}",)), source="x") for n in range(2)
        ]
        await bench.journal.append(said)
        first = await bench.take(consumer="watchlist")
        second = await bench.take(first, consumer="watchlist")

        assert [("prj_0",), ("prj_1",)] == [each.event.payload.ids for each in (first, second)]
        assert await bench.nothing(first, second, consumer="watchlist")

    async def test_union(self, bench: Bench) -> None:
        """Waiting events of one key are one delivery, with the ids of all."""
        for number in range(10):
            payload = AccumulationComplete(f"run_{number}", "prj_1", (f"ins_{number}",))
            event = bench.bus.event(topics.ACCUMULATION_COMPLETE, payload, source="accumulator")
            await bench.journal.append([event])
        delivery = await bench.take(consumer="reconciler")
        expected = AccumulationComplete("run_9", "prj_1", tuple(f"ins_{n}" for n in range(10)))
        await bench.journal.settle(delivery, Outcome())

        assert expected == delivery.event.payload
        assert 10 == len(delivery.seqs)
        assert await bench.nothing(consumer="reconciler")

    async def test_topics_apart(self, bench: Bench) -> None:
        """Events of two topics are never one, although their keys read alike."""
        for topic in (topics.RECONCILIATION_REQUESTED, topics.ACCUMULATION_COMPLETE):
            fields: dict[str, object] = {"run_id": "r", "project_id": None}
            payload = topics.parse(topic, fields if topic.startswith("acc") else {})
            await bench.journal.append([bench.bus.event(topic, payload, source="x")])
        first = await bench.take(consumer="reconciler")
        second = await bench.take(first, consumer="reconciler")

        assert (1, 1) == (len(first.seqs), len(second.seqs))

    async def test_repeat_after_settling(self, bench: Bench) -> None:
        """A repeat that came while one was in hand is handled once more."""
        await bench.change("/a")
        delivery = await bench.take()
        await bench.change("/a")
        await bench.change("/a")
        await bench.journal.settle(delivery, Outcome())

        assert 2 == len((await bench.take()).seqs)


class TestSettle:
    async def test_says(self, bench: Bench) -> None:
        """What an outcome says waits for its consumers, with a number."""
        await bench.change("/a")
        said = bench.bus.event(
            topics.ACCUMULATION_COMPLETE, AccumulationComplete("run_1", None), source="x"
        )
        (stored,) = await bench.journal.settle(await bench.take(), Outcome(say=[said]))

        assert stored.seq is not None
        assert stored == (await bench.take(consumer="reconciler")).event

    async def test_twice(self, bench: Bench) -> None:
        """Settling a second time has no effect and says nothing."""
        effects: list[object] = []
        await bench.change("/a")
        delivery = await bench.take()
        for name in ("first", "second"):
            said = bench.bus.event(topics.PROJECT_ADDED, Ids((name,)), source="x")
            work = Outcome(noting(effects, name), [said])
            await bench.journal.settle(delivery, work)

        assert ["first"] == effects
        assert ("first",) == (await bench.take(consumer="watchlist")).event.payload.ids

    async def test_failing_work(self, bench: Bench) -> None:
        """Work that raises leaves the event unhandled and says nothing."""

        def bad(_connection: object) -> None:
            raise KeyError("work")

        await bench.change("/a")
        said = bench.bus.event(topics.PROJECT_ADDED, Ids(()), source="x")
        with pytest.raises(KeyError):
            await bench.journal.settle(await bench.take(), Outcome(bad, [said]))

        assert "/a" == await bench.path()
        assert await bench.nothing(consumer="watchlist")

    async def test_many_at_once(self, bench: Bench) -> None:
        """Deliveries settled at the same time are each settled once."""
        await bench.change(*(f"/{n}" for n in range(30)))
        hands: list[Delivery] = []
        for _ in range(30):
            hands.append(await bench.take(*hands))
        effects: list[object] = []
        settling = [
            bench.journal.settle(hand, Outcome(noting(effects, hand.seqs))) for hand in hands
        ]
        await asyncio.gather(*settling)

        assert [hand.seqs for hand in hands] == effects
        assert await bench.nothing()


class TestFail:
    async def test_rest(self, bench: Bench) -> None:
        """After a crash nothing is handed out for the pause, then the event with its attempts."""
        await bench.change("/a", "/b")
        await bench.journal.fail(await bench.take(), Failure("trace", 5))
        rest = await bench.journal.next("accumulator")
        bench.clock.advance(4)
        less = await bench.journal.next("accumulator")
        bench.clock.advance(1)
        delivery = await bench.take()

        assert [Rest(5.0), Rest(1.0)] == [rest, less]
        assert ("/a", 1) == (delivery.event.payload.path, delivery.attempts)

    async def test_others_do_not_rest(self, bench: Bench) -> None:
        """One consumer's crash is no other's."""
        event = bench.bus.event(
            topics.SCAN_REQUESTED, topics.parse(topics.SCAN_REQUESTED, {}), source="test"
        )
        await bench.journal.append([event])
        await bench.journal.fail(await bench.take(), Failure("trace", 5))

        assert 0 == (await bench.take(consumer="watchlist")).attempts

    async def test_final(self, bench: Bench) -> None:
        """After the last attempt the event is gone, and the next one is handed out at once."""
        await bench.change("/a", "/b")
        await bench.journal.fail(await bench.take(), Failure("trace", 5, final=True))

        assert "/b" == await bench.path()

    @pytest.mark.parametrize("hours", [-48, -1])
    async def test_clock_jumps_back(self, bench: Bench, hours: int) -> None:
        """A wall clock that jumps back by hours keeps no consumer from its work."""
        await bench.change("/a")
        await bench.journal.fail(await bench.take(), Failure("trace", 1))
        bench.clock.jump(hours * 3_600)

        assert "/a" == await bench.path()

    async def test_poison_among_repeats(self, bench: Bench) -> None:
        """A repeat that joins a crashed event shares its attempts."""
        await bench.change("/a")
        await bench.journal.fail(await bench.take(), Failure("trace", 1))
        await bench.change("/a")
        bench.clock.advance(1)
        delivery = await bench.take()

        assert (1, 2) == (delivery.attempts, len(delivery.seqs))

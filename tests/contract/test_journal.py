"""What becomes of what was handed out."""

from __future__ import annotations

import asyncio

import pytest

from cortex_actors import topics
from cortex_actors.bus.commits import Delivery, Failure, Outcome, Rest
from cortex_actors.domain.event import AccumulationComplete, Ids
from tests.contract.bench import Bench, noting


class TestSettle:
    async def test_says(self, bench: Bench) -> None:
        """What an outcome says waits for its consumers, with a number."""
        await bench.change("/a")
        said = bench.bus.make_event(
            topics.ACCUMULATION_COMPLETE, AccumulationComplete("run_1", None), source="x"
        )
        settled = await bench.journal.settle(await bench.take(), Outcome(say=[said]))
        assert settled is not None
        (stored,) = settled

        assert stored.seq is not None
        assert stored == (await bench.take(consumer="reconciler")).event

    async def test_twice(self, bench: Bench) -> None:
        """Settling a second time has no effect and says nothing."""
        effects: list[object] = []
        await bench.change("/a")
        delivery = await bench.take()
        for name in ("first", "second"):
            said = bench.bus.make_event(topics.PROJECT_ADDED, Ids((name,)), source="x")
            work = Outcome(noting(effects, name), [said])
            again = await bench.journal.settle(delivery, work)

        assert ([], ["first"]) == (again, effects)
        assert ("first",) == (await bench.take(consumer="watchlist")).event.payload.ids

    async def test_in_parts(self, bench: Bench) -> None:
        """A delivery of which another life settled a part changes nothing; the rest comes again."""
        effects: list[object] = []
        await bench.change("/a")
        first = await bench.take()
        (second,) = await bench.change("/a")
        both = await bench.take()
        await bench.journal.settle(first, Outcome(noting(effects, "first")))
        said = await bench.journal.settle(both, Outcome(noting(effects, "both")))

        assert (None, ["first"]) == (said, effects)
        assert (second.seq,) == (await bench.take()).seqs

    async def test_failing_work(self, bench: Bench) -> None:
        """Work that raises leaves the event unhandled and says nothing."""

        def bad(_connection: object) -> None:
            raise KeyError("work")

        await bench.change("/a")
        said = bench.bus.make_event(topics.PROJECT_ADDED, Ids(()), source="x")
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
        rest = await bench.journal.find_next("accumulator")
        bench.clock.advance(4)
        less = await bench.journal.find_next("accumulator")
        bench.clock.advance(1)
        delivery = await bench.take()

        assert [Rest(5.0), Rest(1.0)] == [rest, less]
        assert ("/a", 1) == (delivery.event.payload.path, delivery.attempts)

    async def test_others_do_not_rest(self, bench: Bench) -> None:
        """One consumer's crash is no other's."""
        event = bench.bus.make_event(
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

"""What a consumer is handed: oldest first, repeats as one, a project in its order."""

from __future__ import annotations

from cortex_actors import topics
from cortex_actors.bus.commits import Outcome
from cortex_actors.domain.event import AccumulationComplete, Ids, ScanRequested
from tests.contract.bench import SCAN, Bench


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
            bench.bus.make_event(topics.PROJECT_ADDED, Ids((f"prj_{n}",)), source="x")
            for n in range(2)
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
            event = bench.bus.make_event(
                topics.ACCUMULATION_COMPLETE, payload, source="accumulator"
            )
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
            await bench.journal.append([bench.bus.make_event(topic, payload, source="x")])
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

    async def test_behind_a_repeat(self, bench: Bench) -> None:
        """A later event of a waiting repeat's project waits with it; other projects do not."""
        await bench.change("/a")
        first = await bench.take()
        await bench.change("/a", "/b")
        await bench.change("/c", project="prj_2")
        (scan,) = await bench.journal.append(
            [bench.bus.make_event(SCAN, ScanRequested(), source="x")]
        )
        other = await bench.take(first)
        whole = await bench.take(first, other)
        nothing = await bench.nothing(first, other, whole)
        await bench.journal.settle(first, Outcome())
        again = await bench.take(other, whole)

        assert "/c" == other.event.payload.path
        assert scan == whole.event
        assert nothing
        assert ("/a", "/b") == (again.event.payload.path, await bench.path(other, whole, again))

    async def test_repeats_across_a_repeat(self, bench: Bench) -> None:
        """Of events that are handled as one the first counts: the others come with it."""
        await bench.change("/a", "/b")
        first = await bench.take()
        await bench.change("/a", "/b")

        assert (2, 4) == (await bench.take(first)).seqs

    async def test_before_a_repeat(self, bench: Bench) -> None:
        """An event that is older than the waiting repeat of its project goes first."""
        await bench.change("/a", "/b")
        first = await bench.take()
        await bench.change("/a", "/c")

        assert "/b" == await bench.path(first)
        assert await bench.nothing(first, await bench.take(first))

    async def test_behind_a_flood(self, bench: Bench) -> None:
        """However many events wait behind a repeat, all come out, and in their order."""
        names = [f"/{n:03}" for n in range(70)]
        await bench.change("/a")
        first = await bench.take()
        await bench.change("/a", *names)
        nothing = await bench.nothing(first)
        await bench.journal.settle(first, Outcome())
        seen = []
        while not await bench.nothing():
            delivery = await bench.take()
            seen.append(delivery.event.payload.path)
            await bench.journal.settle(delivery, Outcome())

        assert nothing
        assert ["/a", *names] == seen

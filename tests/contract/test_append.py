"""Events that are stored: once each, in order, and once for each key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.bus.commits import Outcome
from cortex_actors.domain.event import Custom, Ids
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from tests.contract.bench import Bench


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
        event = bench.bus.make_event(
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


class TestAppendOnce:
    async def test_repeat(self, bench: Bench) -> None:
        """What is said again under a key is the first event, and waits once."""
        first = await bench.once("k")
        again = await bench.once("k")
        delivery = await bench.take()

        assert (False, True) == (first.duplicate, again.duplicate)
        assert first == again
        assert (first.seq,) == delivery.seqs

    async def test_other_keys(self, bench: Bench) -> None:
        """Two keys are two events, and so are two that are said without one."""
        first, second = await bench.once("k"), await bench.once("l")
        third, fourth = await bench.change("/a", "/a")
        seqs = [event.seq for event in (first, second, third, fourth)]

        assert 4 == len(set(seqs))

    async def test_after_handling(self, bench: Bench) -> None:
        """A key is known after its event was handled, too."""
        first = await bench.once("k")
        await bench.journal.settle(await bench.take(), Outcome())
        again = await bench.once("k")

        assert first == again
        assert await bench.nothing()

    async def test_at_once(self, bench: Bench) -> None:
        """Of many that are said under one key at the same time, one is stored."""
        stored = await asyncio.gather(*(bench.once("k") for _ in range(20)))

        assert 1 == len({event.id for event in stored})
        assert 19 == sum(event.duplicate for event in stored)
        assert 1 == len((await bench.take()).seqs)

    async def test_other_payload(self, bench: Bench) -> None:
        """A key that stands for another payload is refused, and nothing is stored."""
        await bench.once("k")
        with pytest.raises(BadInput, match="'k' was used for another payload"):
            await bench.once("k", "/b")
        await bench.journal.settle(await bench.take(), Outcome())

        assert await bench.nothing()

    async def test_other_topic(self, bench: Bench) -> None:
        """A key that stands for another topic is refused."""
        await bench.once("k")
        event = bench.bus.make_event(topics.PROJECT_ADDED, Ids(()), source="test")
        with pytest.raises(BadInput, match="used for the topic file:changed"):
            await bench.journal.append_once(event, "k")

        assert await bench.nothing(consumer="watchlist")

    @pytest.mark.parametrize("other", [{"n": True}, {"n": 1.0}, {"n": "1"}, {"n": 1, "m": None}])
    async def test_nearly_alike(self, bench: Bench, other: dict[str, object]) -> None:
        """Payloads are compared as JSON, in which 1, 1.0 and true differ; order is nothing."""
        first = bench.bus.make_event("custom:x", Custom({"n": 1}), source="test")
        await bench.journal.append_once(first, "k")
        event = bench.bus.make_event("custom:x", Custom(other), source="test")
        with pytest.raises(BadInput):
            await bench.journal.append_once(event, "k")

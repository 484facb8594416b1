"""Stored events as people look at them, and what becomes of dead letters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import topics
from cortex_actors.api.events import replay
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.commits import Delivery, Failure, Outcome
from cortex_actors.domain.event import Custom, FileChanged, ScanRequested
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage import events
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.storage.ledger.actor import Records
from tests.fakes import partial_call

if TYPE_CHECKING:
    from cortex_actors.domain.event import Event, Payload
    from tests.storage.support import Store

TRACE = "Traceback (most recent call last):\n  File ...\nValueError: poison\n"


class Desk:
    """What is said, and how it goes on."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.journal = LedgerJournal(store.records, store.clock)
        self.bus = Bus(self.journal, store.clock)

    async def change(self, *paths: str) -> list[Event[Payload]]:
        """Say that files have changed."""
        return [
            await self.bus.publish(topics.FILE_CHANGED, FileChanged("prj_1", path), source="me")
            for path in paths
        ]

    async def take(self, *in_hand: Delivery, consumer: str = "accumulator") -> Delivery:
        """Return what is next."""
        found = await self.journal.find_next(consumer, in_hand)
        assert isinstance(found, Delivery)
        return found

    async def die(self, *, consumer: str = "accumulator") -> Delivery:
        """Set aside what is next."""
        delivery = await self.take(consumer=consumer)
        await self.journal.fail(delivery, Failure(TRACE, 1, final=True))
        return delivery

    async def damage(self, seq: int, payload: object) -> None:
        """Store something else as what an event says."""
        sql = "UPDATE events SET payload = ? WHERE seq = ?"
        await self.store.write(lambda c: c.exec_driver_sql(sql, (payload, seq)))

    async def states(self, **wanted: object) -> list[tuple[int, str]]:
        """Return the numbers and states of events."""
        found = await self.store.read(lambda c: events.list_events(c, **wanted))  # type: ignore[arg-type]
        return [(each.seq, each.state) for each in found]


@pytest.fixture
def desk(store: Store) -> Desk:
    """Give the events of a running ledger."""
    return Desk(store)


class TestListed:
    async def test_states(self, desk: Desk) -> None:
        """The newest come first, each with how it stands."""
        await desk.change("/a", "/b", "/c")
        await desk.die()
        await desk.journal.settle(await desk.take(), Outcome())

        assert [(3, "waiting"), (2, "handled"), (1, "dead")] == await desk.states()

    async def test_wanted(self, desk: Desk) -> None:
        """Topic, state, number and limit choose among them."""
        await desk.change("/a", "/b", "/c", "/d")
        await desk.bus.publish("custom:x", Custom({}), source="me")
        await desk.die()
        await desk.journal.settle(await desk.take(), Outcome())

        assert [4, 3] == [seq for seq, _ in await desk.states(waiting=True)]
        assert [1] == [seq for seq, _ in await desk.states(dead=True)]
        assert [4, 3, 1] == [seq for seq, _ in await desk.states(dead=True, waiting=True)]
        assert [5] == [seq for seq, _ in await desk.states(topic="cust?m:*")]
        assert [5, 4] == [seq for seq, _ in await desk.states(since=3)]
        assert [5, 4] == [seq for seq, _ in await desk.states(limit=2)]
        assert [] == await desk.states(topic="custom:*", waiting=True)

    async def test_standing(self, desk: Desk) -> None:
        """It says who has still to handle an event, after how many attempts, and when again."""
        await desk.bus.publish(topics.SCAN_REQUESTED, ScanRequested(), source="me")
        await desk.journal.fail(await desk.take(), Failure(TRACE, 30))
        (event,) = await desk.store.read(events.list_events)
        first, second = event.standings

        assert ("accumulator", "waiting", 1) == (
            first["consumer"],
            first["state"],
            first["attempts"],
        )
        assert desk.store.clock.now() + 30_000_000 == first["at"]
        assert "ValueError: poison" == first["error"]
        assert ("watchlist", 0, 0, None) == (
            second["consumer"],
            second["attempts"],
            second["at"],
            second["error"],
        )

    async def test_bounded(self, desk: Desk) -> None:
        """A list shows of a traceback a line, and of the line an end."""
        await desk.change("/a")
        trace = "\n".join(["x" * 1_000] * 50)
        await desk.journal.fail(await desk.take(), Failure(trace, 1))
        (event,) = await desk.store.read(events.list_events)

        assert events.LINE_LIMIT == len(event.standings[0]["error"] or "")

    async def test_plan(self, desk: Desk) -> None:
        """What waits or is dead is found by an index, not by reading every event."""
        plan = await desk.store.rows(
            "EXPLAIN QUERY PLAN SELECT * FROM events WHERE seq > 0 AND seq IN (SELECT seq FROM "
            "deliveries UNION ALL SELECT seq FROM dead_letters) ORDER BY seq DESC LIMIT 20"
        )

        assert "deliveries_by_seq" in str(plan)
        assert "dead_letters_by_seq" in str(plan)
        assert "SCAN events" not in str(plan)


class TestShown:
    async def test_whole(self, desk: Desk) -> None:
        """One event is shown with payload, key and whole tracebacks, by id as by number."""
        event = await desk.bus.publish(
            topics.FILE_CHANGED, FileChanged("prj_1", "/a"), source="me", idempotency_key="k"
        )
        await desk.die()
        for name in (event.id, str(event.seq)):
            found, payload, key = await desk.store.read(partial(events.load_event, name=name))

            assert event.id == found.id
            assert TRACE == found.standings[0]["error"]
            assert ({"project_id": "prj_1", "path": "/a"}, "k") == (payload, key)

    @pytest.mark.parametrize("stored", ["nojson", "", "[" * 100_000, b"\xff{", b"7" * 5_000])
    async def test_damaged(self, desk: Desk, stored: str | bytes) -> None:
        """A payload that is no JSON is shown as the text that is stored."""
        await desk.change("/a")
        await desk.die()
        await desk.damage(1, stored)
        text = stored if isinstance(stored, str) else stored.decode("utf-8", "surrogateescape")
        _, payload, _ = await desk.store.read(partial(events.load_event, name="1"))

        assert text == payload

    @pytest.mark.parametrize("name", ["", "7", "evt_x", "-1", "²", "9" * 30, "x" * 5_000])
    async def test_unknown(self, desk: Desk, name: str) -> None:
        """What is no event's name is not found."""
        with pytest.raises(NotFound, match="no event is called"):
            await desk.store.read(partial(events.load_event, name=name))


class TestReplay:
    async def test_again(self, desk: Desk) -> None:
        """A dead letter is put back as if it had never been tried, in its old place."""
        await desk.change("/a", "/b")
        await desk.die()
        put_back = await desk.store.write(lambda c: events.replay(c, ["1"]))
        delivery = await desk.take()

        assert [(1, "accumulator")] == put_back
        assert ("/a", 0) == (delivery.event.payload.path, delivery.attempts)
        assert [] == await desk.states(dead=True)

    async def test_conflates(self, desk: Desk) -> None:
        """It has its key again: with what waits for the same it is one."""
        await desk.change("/a")
        await desk.die()
        await desk.change("/a")
        await desk.store.write(lambda c: events.replay(c, None))

        assert (1, 2) == (await desk.take()).seqs

    async def test_every_consumer(self, desk: Desk) -> None:
        """Everybody who failed on an event gets it back, and nobody else."""
        await desk.bus.publish(topics.SCAN_REQUESTED, ScanRequested(), source="me")
        await desk.die()
        await desk.die(consumer="watchlist")
        await desk.change("/a")
        await desk.die()
        put_back = await desk.store.write(lambda c: events.replay(c, ["1"]))

        assert [(1, "accumulator"), (1, "watchlist")] == put_back
        assert [(2, "dead")] == await desk.states(dead=True)

    @pytest.mark.parametrize("stored", ["{}", "nojson", "", "[1]", "null", "7", b"\xff{"])
    async def test_unreadable(self, desk: Desk, stored: object) -> None:
        """One that this version cannot read keeps no other from being put back, and dies again."""
        await desk.change("/a", "/b")
        await desk.die()
        await desk.die()
        await desk.damage(1, stored)
        put_back = await desk.store.write(lambda c: events.replay(c, None))

        assert [(1, "accumulator"), (2, "accumulator")] == put_back
        assert (2,) == (await desk.take()).seqs
        assert [(1, "dead")] == await desk.states(dead=True)

    async def test_portions(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """All are put back, each of them once, although they die again between two portions."""
        monkeypatch.setattr(events, "AT_ONCE", 2)
        await desk.change("/a", "/b", "/c")
        for _ in range(3):
            await desk.die()

        class Dying(Records):
            async def write(self, unit: Any, *, vital: bool = False) -> Any:
                done = await super().write(unit, vital=vital)
                for _ in done:
                    await desk.die()
                return done

        call = partial_call(records=Dying(desk.store.names), wake=lambda _consumer: None)
        put_back = (await replay(call, ["all"]))["replayed"]

        assert [1, 2, 3] == [each["seq"] for each in put_back]

    @pytest.mark.parametrize("verb", [events.replay, events.discard])
    async def test_all_or_nothing(self, desk: Desk, verb: object) -> None:
        """One name that is no dead letter's, and nothing is changed."""
        await desk.change("/a", "/b")
        await desk.die()
        for wrong in ("2", "3", "evt_x"):
            with pytest.raises(NotFound):
                await desk.store.write(lambda c, wrong=wrong: verb(c, ["1", wrong]))  # type: ignore[operator, misc]

        assert [(1, "dead")] == await desk.states(dead=True)
        assert (2,) == (await desk.take()).seqs

    async def test_discard(self, desk: Desk) -> None:
        """A discarded one is gone for good; its event counts as handled."""
        await desk.change("/a", "/b")
        await desk.die()
        await desk.die()
        gone = await desk.store.write(lambda c: events.discard(c, None))

        assert [(1, "accumulator"), (2, "accumulator")] == gone
        assert [(2, "handled"), (1, "handled")] == await desk.states()
        assert [] == await desk.store.write(lambda c: events.replay(c, None))

    async def test_discard_damaged(self, desk: Desk) -> None:
        """What a dead letter says is not looked at when it is discarded."""
        await desk.change("/a")
        await desk.die()
        await desk.damage(1, "nojson")

        assert [(1, "accumulator")] == await desk.store.write(lambda c: events.discard(c, ["1"]))


class TestKeys:
    async def test_damaged(self, desk: Desk) -> None:
        """Whether a repeat is one cannot be told of a damaged event: its key stands for another."""
        say = partial(desk.bus.publish, "custom:x", Custom({}), source="me", idempotency_key="k")
        await say()
        await desk.damage(1, "nojson")

        with pytest.raises(BadInput, match="another payload"):
            await say()

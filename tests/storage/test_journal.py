from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Bus
from cortex_actors.bus.commits import Delivery, Failure, Outcome, Rest
from cortex_actors.bus.consumer import Desk
from cortex_actors.domain.event import AccumulationComplete, FileChanged, Ids, ScanRequested
from cortex_actors.errors import CortexError
from cortex_actors.runtime.actor import start_actor
from cortex_actors.sections import EventsSettings
from cortex_actors.storage import events as module
from cortex_actors.storage.events import LedgerJournal
from cortex_actors.testing import eventually
from tests.bus.support import Script, Scripted

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cortex_actors.domain.event import Event, Payload
    from tests.storage.support import Store

NOTE = "INSERT INTO index_ops (collection, item_id, op) VALUES ('c', 'x', 'put')"

CHANGE = FileChanged("prj_1", "/a")


@pytest.fixture
def journal(store: Store) -> LedgerJournal:
    """Give the journal of a running ledger."""
    return LedgerJournal(store.records, store.clock)


@pytest.fixture
def bus(journal: LedgerJournal, store: Store) -> Bus:
    """Give a bus on that journal."""
    return Bus(journal, store.clock)


def note(connection: Connection) -> None:
    """Have an effect."""
    connection.exec_driver_sql(NOTE)


async def state(store: Store) -> tuple[int, int, int]:
    """Return how many effects, waiting deliveries and events there are."""
    query = """
        SELECT (SELECT count(*) FROM index_ops), (SELECT count(*) FROM deliveries),
               (SELECT count(*) FROM events)
    """
    ((effects, waiting, events),) = await store.rows(query)
    assert isinstance(effects, int)
    assert isinstance(waiting, int)
    assert isinstance(events, int)
    return effects, waiting, events


async def taken(journal: LedgerJournal, consumer: str = "accumulator") -> Delivery:
    """Return what is next for a consumer."""
    found = await journal.find_next(consumer)
    assert isinstance(found, Delivery)
    return found


class TestAppend:
    async def test_row_for_every_consumer(self, bus: Bus, store: Store) -> None:
        """Every consumer of the catalogue has its row, although none of them is alive."""
        await bus.publish(topics.SCAN_REQUESTED, ScanRequested("prj_1"), source="test")
        rows = await store.rows("SELECT consumer, seq, key FROM deliveries ORDER BY consumer")

        assert [("accumulator", 1, "prj_1"), ("watchlist", 1, "prj_1")] == rows

    async def test_nobody_hears(self, bus: Bus, store: Store) -> None:
        """An event that nobody handles is kept and waits for nobody."""
        await bus.publish(topics.CRUMB_LEFT, Ids(("crm_1",)), source="trail")

        assert (0, 0, 1) == await state(store)

    async def test_waiting_keys(self, bus: Bus, store: Store) -> None:
        """Of some keys those are told of which an event waits, or is in hand, for that consumer."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        asked = ["/a", "/b"]

        assert {"/a"} == await store.read(
            lambda c: module.list_waiting_keys(c, "accumulator", asked)
        )
        assert set() == await store.read(lambda c: module.list_waiting_keys(c, "watchlist", asked))

    async def test_survives(self, bus: Bus, journal: LedgerJournal, store: Store) -> None:
        """What was published is there after the ledger was killed."""
        event = await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        store.handle.kill()
        await store.handle.exited()
        await store.open()

        assert event == (await taken(journal)).event

    async def test_file_name_that_is_not_text(self, bus: Bus, journal: LedgerJournal) -> None:
        """A path with bytes that are not UTF-8 comes back as it was."""
        path = b"/caf\xe9/CLAUDE.md".decode("utf-8", "surrogateescape")
        await bus.publish(topics.FILE_CHANGED, FileChanged("prj_1", path), source="test")

        assert path == (await taken(journal)).event.payload.path


class TestSettle:
    async def test_one_transaction(self, bus: Bus, journal: LedgerJournal, store: Store) -> None:
        """Effect, acknowledgement and said event are there together."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        said = bus.make_event(
            topics.ACCUMULATION_COMPLETE, AccumulationComplete("r", None), source="a"
        )
        await journal.settle(await taken(journal), Outcome(note, [said]))

        assert (1, 1, 2) == await state(store)
        assert said.id == (await taken(journal, "reconciler")).event.id

    @pytest.mark.parametrize("fails", ["work", "say"])
    async def test_nothing_of_it(
        self, bus: Bus, journal: LedgerJournal, store: Store, fails: str
    ) -> None:
        """When the work or a said event fails, there is no effect, no ack, no event."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        good = bus.make_event(topics.PROJECT_ADDED, Ids(()), source="a")
        bad = bus.make_event("nobody:knows", Ids(()), source="a")

        def work(connection: Connection) -> None:
            note(connection)
            if fails == "work":
                raise KeyError(fails)

        with pytest.raises((KeyError, CortexError)):
            await journal.settle(
                await taken(journal), Outcome(work, [good, bad][: 1 + (fails == "say")])
            )

        assert (0, 1, 1) == await state(store)

    async def test_in_parts(self, bus: Bus, journal: LedgerJournal, store: Store) -> None:
        """A delivery of which a part was settled elsewhere changes nothing."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        first = await taken(journal)
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        both = await taken(journal)
        await journal.settle(first, Outcome(note))
        said = await journal.settle(both, Outcome(note))

        assert said is None
        assert (1, 1, 2) == await state(store)


class TestFail:
    async def test_traceback_is_kept(self, bus: Bus, journal: LedgerJournal, store: Store) -> None:
        """Between attempts and after the last, the ledger tells why."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        await journal.fail(await taken(journal), Failure("trace 1", 1))
        between = await store.rows("SELECT attempts, error FROM deliveries")
        store.clock.advance(1)
        await journal.fail(await taken(journal), Failure("trace 2", 1, final=True))
        after = await store.rows("SELECT consumer, seq, attempts, error FROM dead_letters")
        counts = await store.read(lambda c: (module.count_waiting(c), module.count_dead(c)))

        assert [(1, "trace 1")] == between
        assert [("accumulator", 1, 2, "trace 2")] == after
        assert (0, 1) == counts

    async def test_settled_meanwhile(self, bus: Bus, journal: LedgerJournal, store: Store) -> None:
        """What was settled after all is no dead letter."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        delivery = await taken(journal)
        await journal.settle(delivery, Outcome())
        await journal.fail(delivery, Failure("late", 1, final=True))

        assert 0 == await store.read(module.count_dead)

    async def test_rest_outlives_a_restart(
        self, bus: Bus, journal: LedgerJournal, store: Store
    ) -> None:
        """A consumer rests although the ledger was restarted in between."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        await journal.fail(await taken(journal), Failure("x", 30))
        await store.handle.stop(5)
        await store.open()

        assert Rest(30.0) == await journal.find_next("accumulator")


class TestUnreadable:
    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ("payload = json_set(payload, '$.more', 1)", "it has no field 'more'"),
            ("payload = json_remove(payload, '$.path')", "the field 'path' is missing"),
            ("payload = '[]'", "'list' object"),
            ("payload = '{'", "Expecting property name"),
            ("topic = 'file:renamed'", "no topic is called 'file:renamed'"),
        ],
    )
    async def test_set_aside(
        self, bus: Bus, journal: LedgerJournal, store: Store, change: str, says: str
    ) -> None:
        """What this version cannot read becomes a dead letter that says why; the next is next."""
        for path in ("/a", "/b"):
            await bus.publish(topics.FILE_CHANGED, FileChanged("prj_1", path), source="test")
        await store.write(lambda c: c.exec_driver_sql(f"UPDATE events SET {change} WHERE seq = 1"))  # noqa: S608
        path = (await taken(journal)).event.payload.path
        ((dead,),) = await store.rows(
            "SELECT consumer || ' ' || seq || ' ' || attempts || ' ' || error FROM dead_letters"
        )

        assert "/b" == path
        assert str(dead).startswith("accumulator 1 1 this version cannot read the event 1 (file:")
        assert says in str(dead)

    async def test_behind_one_in_hand(self, bus: Bus, journal: LedgerJournal, store: Store) -> None:
        """A repeat of what is in hand that cannot be read is set aside, and nobody else."""
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")
        first = await taken(journal)
        for path in ("/a", "/b"):
            await bus.publish(topics.FILE_CHANGED, FileChanged("prj_1", path), source="test")
        sql = "UPDATE events SET payload = '{}' WHERE seq = 2"
        await store.write(lambda c: c.exec_driver_sql(sql))
        found = await journal.find_next("accumulator", [first])

        assert isinstance(found, Delivery)
        assert (3,) == found.seqs
        assert [(2,)] == await store.rows("SELECT seq FROM dead_letters")

    async def test_handled_on(self, bus: Bus, journal: LedgerJournal, store: Store) -> None:
        """A consumer does not crash over it, and handles what comes behind."""
        script = Script()
        for path in ("/a", "/b"):
            await bus.publish(topics.FILE_CHANGED, FileChanged("prj_1", path), source="test")
        sql = "UPDATE events SET topic = 'file:renamed' WHERE seq = 1"
        await store.write(lambda c: c.exec_driver_sql(sql))
        desk = Desk("accumulator", bus, journal, store.clock, EventsSettings())
        handle = await start_actor(store.names, "accumulator", partial(Scripted, desk, script))
        await eventually(lambda: ["/b"] == script.paths())
        await handle.stop(5)

        assert 1 == await store.read(module.count_dead)


class TestConsumerOnTheLedger:
    async def test_whole_way(self, bus: Bus, journal: LedgerJournal, store: Store) -> None:
        """Real consumers on the real ledger hand an event on, and all of it is acknowledged."""
        scripts = {"accumulator": Script(answers=True), "reconciler": Script()}
        settings = EventsSettings()
        for name, script in scripts.items():
            desk = Desk(name, bus, journal, store.clock, settings)
            await start_actor(store.names, name, partial(Scripted, desk, script))
        paths = [f"/{n}" for n in range(20)]
        for path in paths:
            await bus.publish(topics.FILE_CHANGED, FileChanged("prj_1", path), source="test")

        async def quiet() -> bool:
            return 0 == await store.read(module.count_waiting)

        await eventually(quiet)
        told = [one for event in scripts["reconciler"].effects for one in event.payload.changed_ids]

        assert paths == scripts["accumulator"].paths() == told
        for name in scripts:
            ref = store.names.whereis(name)
            assert ref is not None
            ref.shut_down()
            await ref.join()

    async def test_announced_after_commit(self, bus: Bus, store: Store) -> None:
        """Whoever hears an event finds it in the ledger."""
        seqs: list[int | None] = []

        def hear(event: Event[Payload]) -> None:
            seqs.append(event.seq)

        bus.subscribe("*", hear)
        await bus.publish(topics.FILE_CHANGED, CHANGE, source="test")

        assert [(1,)] == await store.rows("SELECT seq FROM events")
        assert [1] == seqs

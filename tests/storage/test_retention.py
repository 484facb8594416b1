"""What was handled long ago goes; what waits, and what only a person may let go of, stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert

from cortex_actors.clock import DAY, make_ulid
from cortex_actors.domain.event import Event, FileChanged, Payload
from cortex_actors.storage import projects
from cortex_actors.storage.events import store as append
from cortex_actors.storage.ledger import backups
from cortex_actors.storage.projects import PipelineRun
from cortex_actors.storage.tables.schema import dead_letters, deliveries
from cortex_actors.testing import EPOCH
from cortex_actors.topics import FILE_CHANGED

if TYPE_CHECKING:
    from tests.storage.support import Store

#: Days for which things are kept.
KEEP = 30


def at(days: float) -> int:
    """Return a time so many days before now."""
    return EPOCH - round(days * DAY)


async def said(store: Store, *ages: float) -> list[int]:
    """Store events of so many days ago, for an accumulator; return their numbers."""
    events: list[Event[Payload]] = [
        Event(f"evt_{make_ulid(at(age))}", FILE_CHANGED, FileChanged("p", f"/{age}"), at(age), "me")
        for age in ages
    ]
    stored = await store.write(lambda c: append(c, events))
    return [event.seq or 0 for event in stored]


async def handled(store: Store, *seqs: int) -> None:
    """Let events be handled."""
    rows = delete(deliveries).where(deliveries.c.seq.in_(seqs))
    await store.write(lambda c: c.execute(rows))


async def ran(
    store: Store,
    *ages: float,
    kind: str = "accumulator",
    path: str | None = "/a",
    state: str = "completed",
) -> None:
    """Store runs of so many days ago."""
    for age in ages:
        run = PipelineRun(f"run_{make_ulid(at(age))}", kind, at(age), at(age), state, path=path)
        await store.write(lambda c, run=run: projects.record(c, run))  # type: ignore[misc]


async def prune(store: Store, limit: int = 100) -> int:
    """Prune what is older than the days for which things are kept."""
    return await store.write(lambda c: backups.prune(c, at(KEEP), limit))


async def pruned(store: Store, now: int) -> int:
    """Prune as the scheduler does under a clock."""
    return await store.write(
        lambda c: backups.prune(c, backups.compute_horizon(c, now, KEEP), 1_000)
    )


async def ages(store: Store, query: str = "SELECT at FROM events ORDER BY 1") -> list[int]:
    """Return how many days old what is left is."""
    rows = await store.rows(query)
    return [round((EPOCH - int(str(row[0]))) / DAY) for row in rows]


class TestEvents:
    async def test_old(self, store: Store) -> None:
        """Handled events that are older than the limit go, the others stay."""
        await handled(store, *await said(store, 90, 31, 29, 0))
        gone = await prune(store)

        assert 2 == gone
        assert [29, 0] == await ages(store)

    async def test_waiting(self, store: Store) -> None:
        """What somebody has still to handle stays, however old it is, and so do dead letters."""
        old, dead, _, _ = await said(store, 90, 80, 70, 0)
        await handled(store, dead, dead + 1)
        letter = {"consumer": "accumulator", "seq": dead, "attempts": 5, "error": "x", "at": 0}
        await store.write(lambda c: c.execute(insert(dead_letters).values(letter)))
        gone = await prune(store)

        assert 1 == gone
        assert [90, 80, 0] == await ages(store)
        assert old in [row[0] for row in await store.rows("SELECT seq FROM deliveries")]

    async def test_portions(self, store: Store) -> None:
        """No more than the limit goes at once, the oldest first; in the end nothing is left."""
        await handled(store, *await said(store, 50, 90, 70, 0))
        portions = [await prune(store, 2), await prune(store, 2), await prune(store, 2)]

        assert [2, 1, 0] == portions
        assert [0] == await ages(store)

    async def test_key_goes_too(self, store: Store) -> None:
        """An idempotency key is known as long as its event."""
        await handled(store, *await said(store, 90, 0))
        await store.write(
            lambda c: c.exec_driver_sql("UPDATE events SET idempotency_key = 'k' WHERE seq = 1")
        )
        await prune(store)

        assert [(0,)] == await store.rows(
            "SELECT count(*) FROM events WHERE idempotency_key IS NOT NULL"
        )

    async def test_plan(self, store: Store) -> None:
        """Old events are found by an index: pruning costs what it deletes, not what there is."""
        plan = await store.rows(
            "EXPLAIN QUERY PLAN SELECT seq FROM events WHERE id < 'evt_01' AND at < 5 "
            "ORDER BY id LIMIT 5"
        )

        assert [True] == ["USING INDEX" in str(row) and "id<?" in str(row) for row in plan]


class TestClock:
    async def test_ahead(self, store: Store) -> None:
        """A clock that is years ahead makes nothing old that the ledger's own time does not."""
        await handled(store, *await said(store, 29, 1, 0))
        gone = await pruned(store, EPOCH + 3_650 * DAY)

        assert 0 == gone

    async def test_ahead_for_a_while(self, store: Store) -> None:
        """Nor do the first events that are said under such a clock."""
        await handled(store, *await said(store, 29, 1, 0, *[-3_650] * (backups.BELIEVED - 1)))
        early = await pruned(store, EPOCH + 3_650 * DAY)
        await handled(store, *await said(store, -3_650))
        late = await pruned(store, EPOCH + 3_650 * DAY)

        assert (0, 3) == (early, late)

    async def test_future(self, store: Store) -> None:
        """An event of a time that has not come is kept until it is old by the right clock."""
        await handled(store, *await said(store, -3_650, 90, *[0] * backups.BELIEVED))
        gone = await pruned(store, EPOCH)

        assert 1 == gone
        assert -3_650 in await ages(store)

    async def test_behind(self, store: Store) -> None:
        """A clock that is years behind makes nothing old, and an empty ledger has nothing."""
        empty = await pruned(store, EPOCH)
        await handled(store, *await said(store, 90, 60))
        gone = await pruned(store, EPOCH - 3_650 * DAY)
        first = await pruned(store, 0)

        assert (0, 0, 0) == (empty, gone, first)


class TestRuns:
    async def test_last_of_each(self, store: Store) -> None:
        """Old runs go, but never the last of a kind and path."""
        await ran(store, 90, 80, 70)
        await ran(store, 60, path="/b")
        await ran(store, 50, 40, kind="reconciler", path=None)
        await ran(store, 35, 2, path="/c")
        gone = await prune(store)

        assert 4 == gone
        assert [70, 60, 40, 2] == await ages(store, "SELECT finished_at FROM runs ORDER BY 1")

    async def test_last_reading(self, store: Store) -> None:
        """The last reading of a file is kept, however often it was found unchanged since."""
        await ran(store, 90, 80)
        await ran(store, 70, 60, 2, state="unchanged")
        gone = await prune(store)

        assert 3 == gone
        assert [80, 2] == await ages(store, "SELECT finished_at FROM runs ORDER BY 1")

    async def test_shared_limit(self, store: Store) -> None:
        """Events and runs share the limit."""
        await handled(store, *await said(store, 90, 80, 0))
        await ran(store, 90, 80, 70)

        assert [3, 1, 0] == [await prune(store, 3) for _ in range(3)]

    async def test_plan(self, store: Store) -> None:
        """Whether there is a later run is asked of an index."""
        plan = await store.rows(
            "EXPLAIN QUERY PLAN SELECT id FROM runs a WHERE EXISTS (SELECT 1 FROM runs b "
            "WHERE b.kind = a.kind AND b.path IS a.path AND b.finished_at > a.finished_at)"
        )

        assert "runs_by_path (kind=? AND path=? AND finished_at>?)" in str(plan)

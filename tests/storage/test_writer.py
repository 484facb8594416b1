from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.exc import IntegrityError

from cortex_actors.clock import SystemClock
from cortex_actors.errors import LedgerDown, StorageFull
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.storage.ledger.writer import (
    Checkpoints,
    Ground,
    LedgerFile,
    TransactionLimits,
    Writer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

#: Seconds for a thread to answer.
SOON = 20.0

#: Room for many units in a group.
GENEROUS = TransactionLimits(64, 0.2)

OWNER = "INSERT OR REPLACE INTO owner VALUES (1, {}, 1, 1)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the file of a migrated ledger whose epoch is 7."""
    path = tmp_path / "cortex.db"
    engine = opening.open_writing(path)
    migrate(engine, path)
    with engine.begin() as connection:
        connection.exec_driver_sql(OWNER.format(7))
    engine.dispose()
    return path


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    """Give a writer of epoch 7 that gathers generously."""
    writer = start(path)
    yield writer
    writer.join()


def start(
    path: Path, limits: TransactionLimits = GENEROUS, closed: Callable[[], None] = lambda: None
) -> Writer:
    """Start a writer of epoch 7."""
    engine = opening.open_writing(path)
    ground = Ground(
        path, LedgerFile(path), Checkpoints(engine, path, busy_ms=1_000), lambda _fault: None
    )
    return Writer(engine, 7, limits=limits, clock=SystemClock(), closed=closed, ground=ground)


def run(sql: str) -> Callable[[Connection], int]:
    """Return the unit that executes a statement."""
    return lambda connection: connection.exec_driver_sql(sql).rowcount


def note(text: str) -> Callable[[Connection], int]:
    """Return the unit that writes one row."""
    sql = "INSERT INTO index_ops (collection, item_id, op) VALUES ('c', ?, 'put')"
    return lambda connection: connection.exec_driver_sql(sql, (text,)).rowcount


#: Does not fit into a ledger of 60 pages.
BIG = run(
    "INSERT INTO index_ops (collection, item_id, op) VALUES ('c', hex(zeroblob(4000000)), 'put')"
)


def count_noted(connection: Connection) -> int:
    """Return how many rows there are, as a unit of work sees them."""
    return int(connection.exec_driver_sql("SELECT count(*) FROM index_ops").scalar_one())


def noted(path: Path) -> list[str]:
    """Return the rows that are in the file, as another connection sees them."""
    engine = opening.open_reading(path)
    with engine.begin() as connection:
        rows = connection.exec_driver_sql("SELECT item_id FROM index_ops ORDER BY seq")
        found = [row.item_id for row in rows]
    engine.dispose()
    return found


class Held:
    """Keeps a writer busy, so that what is submitted meanwhile waits together."""

    def __init__(self, writer: Writer) -> None:
        self.gate = threading.Event()
        begun = threading.Event()

        def unit(_connection: Connection) -> None:
            begun.set()
            assert self.gate.wait(SOON)

        self.done = writer.submit(unit)
        assert begun.wait(SOON)


class TestCommit:
    def test_answered_after(self, writer: Writer, path: Path) -> None:
        """Whoever is answered finds the row with another connection."""
        done = writer.submit(note("a"))

        assert 1 == done.result(SOON)
        assert ["a"] == noted(path)

    def test_order(self, writer: Writer, path: Path) -> None:
        """Units run in the order they were submitted."""
        wait([writer.submit(note(str(n))) for n in range(200)], SOON)

        assert [str(n) for n in range(200)] == noted(path)

    def test_share_a_transaction(self, writer: Writer, path: Path) -> None:
        """Units that wait together commit together: none is seen before the last has run."""
        held = Held(writer)
        seen: list[list[str]] = []
        futures = [writer.submit(note("a")), writer.submit(lambda _c: seen.append(noted(path)))]
        held.gate.set()
        wait(futures, SOON)

        assert [[]] == seen
        assert ["a"] == noted(path)

    def test_limit(self, path: Path) -> None:
        """No more units share a transaction than allowed."""
        writer = start(path, TransactionLimits(1, 0.2))
        held, seen = Held(writer), list[list[str]]()
        futures = [writer.submit(note("a")), writer.submit(lambda _c: seen.append(noted(path)))]
        held.gate.set()
        wait(futures, SOON)
        writer.join()

        assert [["a"]] == seen


class TestFailure:
    def test_alone(self, writer: Writer, path: Path) -> None:
        """A unit that fails is undone alone; its group commits."""

        def bad(connection: Connection) -> None:
            note("bad")(connection)
            raise KeyError("mine")

        held = Held(writer)
        good, failed, better = (writer.submit(each) for each in (note("a"), bad, note("b")))
        held.gate.set()

        assert isinstance(failed.exception(SOON), KeyError)
        assert [1, 1] == [good.result(SOON), better.result(SOON)]
        assert ["a", "b"] == noted(path)

    def test_constraint(self, writer: Writer, path: Path) -> None:
        """A row the schema forbids is its own unit's failure."""
        sql = "INSERT INTO index_ops (collection, item_id, op) VALUES ('c', 'x', 'eat')"

        assert isinstance(writer.submit(run(sql)).exception(SOON), IntegrityError)
        assert 1 == writer.submit(note("a")).result(SOON)

    def test_disk_full(self, writer: Writer, path: Path) -> None:
        """A full disk fails the whole group as LedgerDown; with room again writing goes on."""
        held = Held(writer)
        full: list[Future[Any]] = [
            writer.submit(run("PRAGMA max_page_count = 60")),
            writer.submit(note("a")),
            writer.submit(BIG),
            writer.submit(note("b")),
        ]
        held.gate.set()
        errors = [type(each.exception(SOON)) for each in full]
        kept = noted(path)
        writer.submit(run("PRAGMA max_page_count = 1000000")).exception(SOON)
        after = writer.submit(note("c")).result(SOON)

        assert [StorageFull] * 4 == errors
        assert [] == kept
        assert 1 == after

    def test_alone_in_vain(self, writer: Writer, path: Path) -> None:
        """What a unit failed over may be undone with its group: its caller hears of the disk."""

        def once(connection: Connection) -> int:
            if count_noted(connection):
                raise KeyError("it is there already")
            return note("a")(connection)

        held = Held(writer)
        group: list[Future[Any]] = [
            writer.submit(run("PRAGMA max_page_count = 60")),
            writer.submit(once),
            writer.submit(once),
            writer.submit(BIG),
        ]
        held.gate.set()
        errors = [type(each.exception(SOON)) for each in group]
        writer.submit(run("PRAGMA max_page_count = 1000000")).exception(SOON)

        assert [StorageFull] * 4 == errors
        assert [] == noted(path)
        assert 1 == writer.submit(once).result(SOON)

    def test_cancelled(self, writer: Writer, path: Path) -> None:
        """A unit whose caller gave up before it began is not run, and harms nobody."""

        def bad(_connection: Connection) -> None:
            raise KeyError("nobody waits for this")

        held = Held(writer)
        futures = [writer.submit(note("no")), writer.submit(bad)]
        cancelled = [each.cancel() for each in futures]
        held.gate.set()

        assert [True, True] == cancelled
        assert 1 == writer.submit(note("a")).result(SOON)
        assert ["a"] == noted(path)

    def test_too_late_to_cancel(self, writer: Writer) -> None:
        """What is already being written cannot be cancelled."""
        held = Held(writer)
        cancelled = held.done.cancel()
        held.gate.set()
        held.done.result(SOON)

        assert not cancelled


class TestFence:
    def test_superseded(self, writer: Writer, path: Path) -> None:
        """A writer whose epoch another daemon has passed writes nothing."""
        writer.submit(note("a")).result(SOON)
        other = opening.open_writing(path)
        with other.begin() as connection:
            connection.exec_driver_sql(OWNER.format(8))
        other.dispose()
        error = writer.submit(note("b")).exception(SOON)

        assert isinstance(error, LedgerDown)
        assert "epoch 8, ours is 7" in str(error)
        assert ["a"] == noted(path)

    def test_no_owner(self, writer: Writer, path: Path) -> None:
        """A ledger without an owner is nobody's to write."""
        writer.submit(run("DELETE FROM owner")).result(SOON)

        assert isinstance(writer.submit(note("a")).exception(SOON), LedgerDown)


class TestEnd:
    def test_queued_units_are_committed(self, path: Path) -> None:
        """A writer that is closed first commits and answers what was queued."""
        closed = threading.Event()
        writer = start(path, TransactionLimits(8, 0), closed.set)
        held = Held(writer)
        futures = [writer.submit(note(str(n))) for n in range(50)]
        writer.close()
        still_open = not closed.is_set()
        held.gate.set()
        writer.join()

        assert still_open
        assert closed.is_set()
        assert [1] * 50 == [future.result(0) for future in futures]
        assert 50 == len(noted(path))

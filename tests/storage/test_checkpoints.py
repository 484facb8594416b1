from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger import writer
from cortex_actors.storage.ledger.writer import Checkpoints

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

#: Bytes of a page.
PAGE = 4096


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every limit a fiftieth, so that little is enough."""
    monkeypatch.setattr(writer, "PAGES", 20)
    monkeypatch.setattr(writer, "CROWDED", 80)
    monkeypatch.setattr(writer, "KEPT", 80 * PAGE)
    monkeypatch.setattr(writer, "GROWN", 40 * PAGE)
    monkeypatch.setattr(writer, "PATIENCE", 20)


class Log:
    """A ledger of one table, and the log beside it."""

    def __init__(self, path: Path) -> None:
        self.engine = opening.open_writing(path)
        self.path = path
        self.raw = opening.find_driver(self.engine)
        self.raw.execute("CREATE TABLE bulk (bytes BLOB)")
        self.checkpoints = Checkpoints(self.engine, path, busy_ms=20)

    @property
    def pages(self) -> int:
        """Return the pages that the log's file has room for."""
        return self.path.with_name(f"{self.path.name}-wal").stat().st_size // PAGE

    def commit(self, pages: int, times: int = 1) -> int:
        """Commit so many pages so many times; return the pages of the longest log meanwhile."""
        longest = 0
        for _ in range(times):
            self.raw.execute("INSERT INTO bulk VALUES (zeroblob(?))", (pages * PAGE,))
            self.checkpoints.after_commit()
            longest = max(longest, self.pages)
        return longest


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """Give a ledger with a checkpointer."""
    log = Log(tmp_path / "cortex.db")
    yield log
    log.engine.dispose()


@pytest.fixture
def reader(log: Log) -> Iterator[Engine]:
    """Give a reader of it."""
    engine = opening.open_reading(log.path)
    yield engine
    engine.dispose()


class TestLength:
    def test_many_small(self, log: Log) -> None:
        """However many small commits there are, the log begins anew again and again."""
        assert log.commit(1, times=400) < 80

    def test_burst(self, log: Log) -> None:
        """Large commits after small ones are seen by the size of the file."""
        log.commit(1, times=60)

        assert log.commit(30, times=30) < 160

    def test_shrinks(self, log: Log) -> None:
        """The file of a log that one commit made huge is cut when it begins anew."""
        log.commit(1_000)
        huge = log.pages
        log.commit(1, times=40)

        assert huge > 1_000
        assert log.pages <= 80

    def test_long_reader(self, log: Log, reader: Engine) -> None:
        """A reader keeps the log from beginning anew only while it reads."""
        with reader.begin() as reading:
            reading.exec_driver_sql("SELECT count(*) FROM bulk").scalar()
            log.commit(10, times=60)
            grown = log.pages
        log.commit(1, times=40)

        assert grown > 600
        assert log.pages <= 80

    def test_finish(self, log: Log) -> None:
        """At the end the log is empty."""
        log.commit(10)
        log.checkpoints.finish()

        assert 0 == log.pages

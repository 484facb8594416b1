"""What SQLite does at best: the same rows and the same fsyncs, by bare `sqlite3` on one thread."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from benchmarks.said import fields
from cortex_actors import topics
from cortex_actors.clock import SystemClock, make_ulid
from cortex_actors.storage.ledger import connection
from cortex_actors.storage.ledger.connection import migrate

if TYPE_CHECKING:
    from pathlib import Path

_EVENT = "INSERT INTO events (id, topic, payload, at, source) VALUES (?, ?, ?, ?, ?)"
_DELIVERY = "INSERT INTO deliveries (consumer, seq, key) VALUES (?, ?, ?)"


class Floor:
    """A ledger with nobody around it: no actors, no loop, no other thread.

    It makes what no program can do without, an id and the JSON of a payload, and prepares each
    statement once (the driver keeps them by their text).
    """

    def __init__(self, folder: Path) -> None:
        """Make an empty ledger with the product's schema, and open it as the product does."""
        path = folder / "floor.db"
        self._engine = connection.open_writing(path)
        migrate(self._engine, path)
        self._driver = connection.find_driver(self._engine)
        self._clock = SystemClock()

    def close(self) -> None:
        """Close the file."""
        self._engine.dispose()

    def write(self, topic: str, times: int, at_once: int) -> list[float]:
        """Write so many events, `at_once` to a transaction; return the seconds each one took."""
        took: list[float] = []
        consumers = topics.find(topic).heard_by
        for start in range(0, times, at_once):
            begun = time.perf_counter()
            self._driver.execute("BEGIN IMMEDIATE")
            for number in range(start, start + at_once):
                self._write_one(topic, number, consumers)
            self._driver.execute("COMMIT")
            took += [time.perf_counter() - begun] * at_once
        return took

    def _write_one(self, topic: str, number: int, consumers: tuple[str, ...]) -> None:
        """Write an event and a delivery for each consumer of its topic."""
        said, at = fields(number), self._clock.now()
        row = (f"evt_{make_ulid(at)}", topic, json.dumps(said), at, "bench")
        seq = self._driver.execute(_EVENT, row).lastrowid
        for consumer in consumers:
            self._driver.execute(_DELIVERY, (consumer, seq, said["path"]))

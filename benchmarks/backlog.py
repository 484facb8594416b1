"""Replay: a consumer comes back to a ledger in which events have been waiting for it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from benchmarks.durable import Durable
from benchmarks.said import HEARD, payload
from cortex_actors.bus.commits import Outcome
from cortex_actors.bus.consumer import Consumer, Desk
from cortex_actors.runtime.actor import start_actor
from cortex_actors.sections import EventsSettings
from cortex_actors.storage import events

if TYPE_CHECKING:
    from cortex_actors.domain.event import Event, Payload

#: Who hears the topic, as the catalogue has it.
CONSUMER: Final = "accumulator"

#: Seconds between two looks at what still waits: each counts the rows.
LOOK: Final = 0.2

_EFFECT = "INSERT INTO index_ops (collection, item_id, op) VALUES ('bench', ?, 'put')"


@dataclass(frozen=True, slots=True)
class Replay:
    """How a backlog was handled."""

    waiting: int
    #: Runs of the handler: one for each event, or for up to 1,000 of one key.
    runs: int
    seconds: float
    #: Seconds of the runs at the front of the queue, each.
    first: float

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.waiting / self.seconds


class Trivial(Consumer):
    """Handles each event by writing one row."""

    hears: ClassVar[dict[str, str]] = {HEARD: "on_change"}

    def __init__(self, desk: Desk, runs: list[float]) -> None:
        """Note when each run begins."""
        super().__init__(desk)
        self._runs = runs

    async def on_change(self, event: Event[Any]) -> Outcome:
        """Return the effect."""
        self._runs.append(time.perf_counter())

        def work(connection: Any) -> None:  # noqa: ANN401 - a unit of work's connection
            connection.exec_driver_sql(_EFFECT, (event.payload.path,))

        return Outcome(work)


async def replay(waiting: int, *, keys: int, front: int) -> Replay:
    """Fill a ledger with events of so many keys, start their consumer, wait until none waits.

    `front` is how many runs count as the first ones.
    """
    with tempfile.TemporaryDirectory(prefix="cx-") as folder:
        durable = Durable(Path(folder))
        await durable.start()
        try:
            return await _handled(durable, waiting, keys=keys, front=front)
        finally:
            await durable.stop()


async def _handled(durable: Durable, waiting: int, *, keys: int, front: int) -> Replay:
    """Fill, start, wait."""
    said: list[tuple[str, Payload]]
    said = [(HEARD, payload(HEARD, number % keys)) for number in range(waiting)]
    await durable.bus.publish_all(said, source="bench")
    desk = Desk(CONSUMER, durable.bus, durable.journal, durable.clock, EventsSettings())
    runs: list[float] = []
    begun = time.perf_counter()
    consumer = await start_actor(durable.names, CONSUMER, partial(Trivial, desk, runs))
    while await durable.records.read(events.count_waiting):  # noqa: ASYNC110 - it is in the ledger
        await asyncio.sleep(LOOK)
    seconds = time.perf_counter() - begun
    await consumer.stop(None)
    front = min(front, len(runs))
    return Replay(waiting, len(runs), seconds, (runs[front - 1] - begun) / front)

"""Stored events as clients see them, and what they may decide about dead letters."""

from __future__ import annotations

import logging
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import BadInput
from cortex_actors.storage import events

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.storage.events import StoredEvent, Wanted
    from cortex_actors.storage.ledger.actor import Connection, Records

    Unit = Callable[..., list[tuple[int, str]]]

log = logging.getLogger("cortex.letters")

#: Events one answer lists, and names one call takes.
MOST = 1_000

#: Characters of a topic's pattern: no name of a topic is longer.
PATTERN_LIMIT = 100

#: What stands for every dead letter.
ALL = ["all"]


class Letters:
    """Looks at stored events; puts dead letters back, or drops them."""

    def __init__(self, records: Records, wake: Callable[[str], object]) -> None:
        """Look into the ledger; `wake` lets a consumer look into its journal."""
        self._records = records
        self._wake = wake

    async def listed(self, wanted: Wanted) -> dict[str, Any]:
        """Return events, and how many wait or are dead in all. Raises `BadInput`."""
        if not (1 <= wanted.limit <= MOST and 0 <= wanted.since < 2**63):
            message = f"cannot list {wanted.limit} events after {wanted.since}: ask for 1 to {MOST}"
            raise BadInput(message)
        if wanted.topic is not None and len(wanted.topic) > PATTERN_LIMIT:
            message = (
                f"cannot list events: a topic's pattern has at most {PATTERN_LIMIT} characters"
            )
            raise BadInput(message)

        def look(connection: Connection) -> dict[str, Any]:
            return {
                "events": [_shape(each) for each in events.listed(connection, wanted)],
                "waiting": events.waiting(connection),
                "dead": events.dead(connection),
            }

        return await self._records.read(look)

    async def shown(self, name: str) -> dict[str, Any]:
        """Return one event with its payload and tracebacks. Raises `NotFound`.

        A payload that is no JSON is its text.
        """
        event, payload, key = await self._records.read(lambda c: events.shown(c, name))
        return {**_shape(event), "idempotency_key": key, "payload": payload}

    async def replay(self, names: list[str]) -> dict[str, Any]:
        """Put dead letters back, and let their consumers look. Raises `BadInput`, `NotFound`."""
        done = await self._decide("replay", events.replay, names)
        for consumer in {consumer for _, consumer in done}:
            self._wake(consumer)
        return {"replayed": [{"seq": seq, "consumer": consumer} for seq, consumer in done]}

    async def discard(self, names: list[str]) -> dict[str, Any]:
        """Drop dead letters; the log keeps which. Raises `BadInput`, `NotFound`."""
        done = await self._decide("discard", events.discard, names)
        for seq, consumer in done:
            log.info("the dead letter %d for %s was discarded by a client", seq, consumer)
        return {"discarded": [{"seq": seq, "consumer": consumer} for seq, consumer in done]}

    async def _decide(self, verb: str, unit: Unit, names: object) -> list[tuple[int, str]]:
        """Do something with dead letters: with those named at once, with all of them in portions.

        A crash between two portions leaves the rest as they were.
        """
        listed = names if isinstance(names, list) else []
        if not (1 <= len(listed) <= MOST and all(isinstance(name, str) for name in listed)):
            message = f"cannot {verb}: name 1 to {MOST} events by id or number, or say all"
            raise BadInput(message)
        if listed != ALL:
            return await self._records.write(lambda c: unit(c, listed))
        done: list[tuple[int, str]] = []
        # Each behind the last one: what dies again meanwhile is not put back again.
        while portion := await self._records.write(partial(unit, names=None, behind=done[-1:])):
            done += portion
        return done


def _shape(event: StoredEvent) -> dict[str, Any]:
    """Return an event as clients get it."""
    found = {name: getattr(event, name) for name in ("seq", "id", "topic", "source", "at", "state")}
    standings = [asdict(each) for each in event.standings]
    for each in standings:
        del each["seq"]
    return {**found, "consumers": standings}

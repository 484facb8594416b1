"""Stored events as clients see them, and what they may decide about dead letters.

What another process says: its shape is checked, what follows from it filled in, then stored.

With a daemon by `Publishing`; without one by `write`, which keeps to the same rules.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api import status
from cortex_actors.bus.commits import refuse_key, refuse_too_large
from cortex_actors.clock import Clock, ulid
from cortex_actors.domain.event import Custom, Event, FileChanged, Payload
from cortex_actors.errors import BadInput, Refused, UnknownProject
from cortex_actors.storage import events
from cortex_actors.storage.events import store, store_once
from cortex_actors.text.credentials import cleared
from cortex_actors.text.sections import dialect_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.bus.bus import Bus
    from cortex_actors.domain.project import Project
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


#: Characters of a source: every record of the log in memory holds one, and there are thousands.
SOURCE_LIMIT = 200


class Publishing:
    """Says the events of other processes."""

    def __init__(self, bus: Bus, records: Records) -> None:
        """Say on the bus; projects are looked up in the ledger."""
        self._bus = bus
        self._records = records

    async def publish(
        self,
        topic: str,
        payload: dict[str, Any],
        *,
        source: str,
        transient: bool,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Return once the event is durable, unless it is transient.

        Raises `UnknownTopic`, `BadInput` for the payload or the idempotency key, `Refused` for a
        topic that only the daemon may say or for a secret, `UnknownProject` for a path under no
        project.
        """
        _refuse(topic, payload, source)
        if not transient:
            # On a thread: a payload that is made to be slow takes up to 2 s.
            await asyncio.to_thread(_refuse_secrets, topic, payload, source, key=key)
        if _names_a_file(topic, payload):
            given = await asyncio.to_thread(_placed, payload)
            said: Payload = await self._records.read(lambda c: _addressed(c, given))
        else:
            said = topics.parse(topic, payload)
        event = await self._bus.publish(
            topic, said, source=source, durable=not transient, idempotency_key=key
        )
        return answer(event)

    def publish_now(
        self, topic: str, payload: dict[str, Any], *, source: str, transient: bool
    ) -> dict[str, Any] | None:
        """Do what `publish` does, if nobody has to be waited for; else None, and nothing is said.

        That is so for a transient event of another process's own, while every mailbox has room.
        Raises `BadInput` as `publish` does.
        """
        if transient is not True or topics.find(topic).payload is not Custom:
            return None
        _refuse_misshapen(topic, payload, source)
        event = self._bus.publish_now(topic, Custom(dict(payload)), source=source)
        return None if event is None else answer(event)


def write(
    connection: Connection,
    topic: str,
    payload: dict[str, Any],
    *,
    source: str,
    key: str | None,
    clock: Clock,
) -> dict[str, Any]:
    """Store an event while no daemon runs, in the caller's transaction; nobody is told.

    Raises what `publish` raises. How many custom names are alive is not counted: only a daemon
    keeps names.
    """
    _refuse(topic, payload, source)
    _refuse_secrets(topic, payload, source, key=key)
    if _names_a_file(topic, payload):
        said: Payload = _addressed(connection, _placed(payload))
    else:
        said = topics.parse(topic, payload)
    refuse_too_large(topic, said)
    at = clock.now()
    event: Event[Payload] = Event(f"evt_{ulid(at)}", topic, said, at, source)
    if key is None:
        return answer(store(connection, [event])[0])
    refuse_key(topic, key, durable=True)
    return answer(store_once(connection, event, key))


def answer(event: Event[Payload]) -> dict[str, Any]:
    """Return what its publisher is told of an event."""
    told = {"id": event.id, "topic": event.topic, "seq": event.seq}
    return {**told, "duplicate": True} if event.duplicate else told


def _names_a_file(topic: str, payload: dict[str, Any]) -> bool:
    """Tell whether a payload has a path, from which more follows."""
    return topic == topics.FILE_CHANGED and isinstance(payload.get("path"), str)


def _placed(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a payload whose path is the file's one name (on a thread)."""
    return {**payload, "path": status.place(payload["path"])}


def _addressed(connection: Connection, payload: dict[str, Any]) -> FileChanged:
    """Return the change of a file, with the project that holds it where none is given.

    Raises for a path that is no instruction file, or not of the project it is said of.
    """
    project = status.project(connection, payload["path"])
    said = topics.parse(topics.FILE_CHANGED, {"project_id": project.id, **payload})
    assert isinstance(said, FileChanged)  # noqa: S101 - a fact for mypy
    _admit(said, project)
    return said


def _admit(payload: FileChanged, project: Project) -> None:
    """Raise for a path that is no instruction file, or not of the project it is said of."""
    if project.id != payload.project_id:
        message = f"{payload.path} lies in the project {project.id}, not {payload.project_id}"
        raise UnknownProject(message)
    if dialect_of(payload.path.removeprefix(project.root).lstrip("/")) is None:
        message = (
            f"{payload.path} is not the name of an instruction file; "
            "docs/cli.md lists them under cortex init"
        )
        raise BadInput(message)


def _refuse(topic: str, payload: object, source: object) -> None:
    """Raise for a topic that is not there, or not the caller's, and for what is misshapen."""
    if topics.find(topic).owner_only:
        message = (
            f"refused to publish {topic}: only the daemon says it; the topics you may say are "
            "listed by: cortex topics"
        )
        raise Refused(message)
    _refuse_misshapen(topic, payload, source)


def _refuse_secrets(topic: str, payload: object, source: str, *, key: str | None) -> None:
    """Raise `Refused` for a secret in what is stored of another process's words: no path, no id."""
    own = payload if topics.find(topic).payload is Custom else None
    told = json.dumps([topic, source, key, own], ensure_ascii=False, default=str)
    cleared(told, what="the event", redact=None)


def _refuse_misshapen(topic: str, payload: object, source: object) -> None:
    """Raise `BadInput` for what another process may send in place of an object or a short text."""
    if not (isinstance(payload, dict) and isinstance(source, str)):
        raise BadInput(f"cannot publish {topic}: its payload must be an object, its source a text")
    if len(source) > SOURCE_LIMIT:
        message = f"cannot publish {topic}: its source has {len(source)} characters, "
        raise BadInput(f"{message}the limit is {SOURCE_LIMIT}; say who speaks, in short")

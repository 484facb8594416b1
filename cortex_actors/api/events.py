"""Stored events as clients see them, and what they may decide about dead letters.

What another process says: its shape is checked, what follows from it filled in, then stored.

With a daemon by `Publishing`; without one by `write`, which keeps to the same rules.
"""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.api import status
from cortex_actors.api.registry import Call, operation
from cortex_actors.api.shapes import shape_dataclass
from cortex_actors.bus.commits import refuse_key, refuse_too_large
from cortex_actors.clock import Clock, make_ulid
from cortex_actors.domain.event import Custom, Event, FileChanged, Payload
from cortex_actors.errors import BadInput, Refused, UnknownProject
from cortex_actors.pipeline import reading
from cortex_actors.storage import events as stored
from cortex_actors.text.hazards import clear_secrets
from cortex_actors.text.sections import find_dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.storage.ledger.actor import Connection

    Unit = Callable[..., Sequence[tuple[int, str]]]

log = logging.getLogger("cortex.letters")

#: Events one answer lists, and names one call takes.
MOST = 1_000

#: Characters of a topic's pattern: no name of a topic is longer.
PATTERN_LIMIT = 100

#: What means every dead letter.
ALL = ["all"]


@operation("daemon.events", http="GET /events", sessions=False)
async def events(
    call: Call,
    topic: str | None = None,
    waiting: bool = False,
    dead: bool = False,
    since: int = 0,
    limit: int = 20,
) -> dict[str, Any]:
    """Return the newest stored events, newest first, and who has still to handle them.

    `topic` is a shell pattern, `since` a number. Raises `BadInput` for a limit out of range.
    """
    if not (1 <= limit <= MOST and 0 <= since < 2**63):
        raise BadInput(f"cannot list {limit} events after {since}: ask for 1 to {MOST}")
    if topic is not None and len(topic) > PATTERN_LIMIT:
        message = f"cannot list events: a topic's pattern has at most {PATTERN_LIMIT} characters"
        raise BadInput(message)
    wanted: dict[str, Any] = {"topic": topic, "since": since, "limit": limit}

    def look(connection: Connection) -> dict[str, Any]:
        found = stored.list_events(connection, waiting=waiting, dead=dead, **wanted)
        return {
            "events": [_shape(each) for each in found],
            "waiting": stored.count_waiting(connection),
            "dead": stored.count_dead(connection),
        }

    return await call.records.read(look)


@operation("daemon.event", http="GET /events/{event}", sessions=False)
async def event(call: Call, event: str) -> dict[str, Any]:
    """Return one event, by id or number, with payload and tracebacks. Raises `NotFound`.

    A payload that is no JSON is its text.
    """
    found, payload, key = await call.records.read(lambda c: stored.load_event(c, event))
    return {**_shape(found), "idempotency_key": key, "payload": payload}


@operation("daemon.replay", http="POST /events/replay")
async def replay(call: Call, events: list[str]) -> dict[str, Any]:
    """Put dead letters back as if they had never been tried, by id or number, or `all`.

    Raises `NotFound`, and nothing is changed, for what is no dead letter.
    """
    done = await _decide(call, "replay", stored.replay, events)
    for consumer in {consumer for _, consumer in done}:
        call.wake(consumer)
    return {"replayed": [{"seq": seq, "consumer": consumer} for seq, consumer in done]}


@operation("daemon.discard", http="POST /events/discard")
async def discard(call: Call, events: list[str]) -> dict[str, Any]:
    """Drop dead letters for good, by id or number, or `all`. Raises as `replay` does."""
    done = await _decide(call, "discard", stored.discard, events)
    for seq, consumer in done:
        log.info("the dead letter %d for %s was discarded by a client", seq, consumer)
    return {"discarded": [{"seq": seq, "consumer": consumer} for seq, consumer in done]}


async def _decide(call: Call, verb: str, unit: Unit, names: object) -> Sequence[tuple[int, str]]:
    """Do something with dead letters: with those named at once, with all of them in portions.

    A crash between two portions leaves the rest as they were.
    """
    listed = names if isinstance(names, list) else []
    if not (1 <= len(listed) <= MOST and all(isinstance(name, str) for name in listed)):
        raise BadInput(f"cannot {verb}: name 1 to {MOST} events by id or number, or say all")
    records = call.records
    if listed != ALL:
        return await records.write(lambda c: unit(c, listed))
    done: list[tuple[int, str]] = []
    # Each behind the last one: what dies again meanwhile is not put back again.
    while portion := await records.write(partial(unit, names=None, behind=done[-1:])):
        done += portion
    return done


def _shape(event: stored.StoredEvent) -> dict[str, Any]:
    """Return an event as clients get it."""
    told = shape_dataclass(event, "standings")
    return {**told, "state": event.state, "consumers": list(event.standings)}


#: Characters of a source: every record of the log in memory holds one, and there are thousands.
SOURCE_LIMIT = 200


@operation("daemon.publish", http="POST /events")
async def publish(
    call: Call,
    topic: str,
    payload: dict[str, Any],
    *,
    source: str = "client",
    transient: bool = False,
    idempotency_key: str | None = None,
) -> dict[str, Any]:
    """Publish an event for another process; return once it is durable, unless it is transient.

    Said again under an idempotency key, it is the first event, with `"duplicate": true`. Raises
    `UnknownTopic`, `BadInput` for the payload or the key, `Refused` for a topic that only the
    daemon may say or for a secret, `UnknownProject` for a path under no project.
    """
    _refuse(topic, payload, source)
    if not transient:
        # On a thread: a payload that is made to be slow takes up to 2 s.
        await asyncio.to_thread(_refuse_secrets, topic, payload, source, key=idempotency_key)
    if _names_a_file(topic, payload):
        given = await asyncio.to_thread(_placed, payload)
        said: Payload = await call.records.read(lambda c: _addressed(c, given))
    else:
        said = topics.parse(topic, payload)
    published = await call.bus.publish(
        topic, said, source=source, durable=not transient, idempotency_key=idempotency_key
    )
    return build_answer(published)


def publish_now(
    call: Call,
    topic: str,
    payload: dict[str, Any],
    *,
    source: str = "client",
    transient: bool = False,
    idempotency_key: str | None = None,
) -> dict[str, Any] | None:
    """Do what `publish` does, if that needs no waiting; else None, and nothing is published.

    That is so for a transient event of another process's own. Raises `BadInput` as `publish` does.
    """
    if transient is not True or idempotency_key is not None:
        return None
    if topics.find(topic).payload is not Custom:
        return None
    _refuse_misshapen(topic, payload, source)
    return build_answer(call.bus.publish_now(topic, Custom(dict(payload)), source=source))


def write(
    connection: Connection,
    topic: str,
    payload: dict[str, Any],
    *,
    source: str,
    key: str | None,
    clock: Clock,
) -> dict[str, Any]:
    """Store an event while no daemon runs, in the caller's transaction; no receiver hears it.

    Raises what `publish` raises.
    """
    _refuse(topic, payload, source)
    _refuse_secrets(topic, payload, source, key=key)
    if _names_a_file(topic, payload):
        said: Payload = _addressed(connection, _placed(payload))
    else:
        said = topics.parse(topic, payload)
    refuse_too_large(topic, said)
    at = clock.now()
    event: Event[Payload] = Event(f"evt_{make_ulid(at)}", topic, said, at, source)
    if key is None:
        return build_answer(stored.store(connection, [event])[0])
    refuse_key(topic, key, durable=True)
    return build_answer(stored.store_once(connection, event, key))


def build_answer(event: Event[Payload]) -> dict[str, Any]:
    """Return the answer to the publisher of an event."""
    told = {"id": event.id, "topic": event.topic, "seq": event.seq}
    return {**told, "duplicate": True} if event.duplicate else told


def _names_a_file(topic: str, payload: dict[str, Any]) -> bool:
    """Tell whether a payload has a path, from which more follows."""
    return topic == topics.FILE_CHANGED and isinstance(payload.get("path"), str)


def _placed(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a payload whose path is the file's one name (on a thread)."""
    return {**payload, "path": reading.resolve_place(payload["path"])}


def _addressed(connection: Connection, payload: dict[str, Any]) -> FileChanged:
    """Return the change of a file, with the project that holds it where none is given.

    Raises for a path that is no instruction file, or not of the project it is said of.
    """
    project = status.find_project(connection, payload["path"])
    said = topics.parse(topics.FILE_CHANGED, {"project_id": project.id, **payload})
    assert isinstance(said, FileChanged)  # noqa: S101 - a fact for mypy
    if project.id != said.project_id:
        raise UnknownProject(f"{said.path} lies in the project {project.id}, not {said.project_id}")
    if find_dialect(said.path.removeprefix(project.root).lstrip("/")) is None:
        raise BadInput(
            f"{said.path} is not the name of an instruction file; "
            "docs/cli.md lists them under cortex init"
        )
    return said


def _refuse(topic: str, payload: object, source: object) -> None:
    """Raise for a topic that is not there, or not the caller's, and for what is misshapen."""
    if topics.find(topic).owner_only:
        raise Refused(
            f"refused to publish {topic}: only the daemon says it; the topics you may say are "
            "listed by: cortex debug topics"
        )
    _refuse_misshapen(topic, payload, source)


def _refuse_secrets(topic: str, payload: object, source: str, *, key: str | None) -> None:
    """Raise `Refused` for a secret in what is stored of another process's words: no path, no id."""
    own = payload if topics.find(topic).payload is Custom else None
    told = json.dumps([topic, source, key, own], ensure_ascii=False, default=str)
    clear_secrets(told, what="the event", redact=None)


def _refuse_misshapen(topic: str, payload: object, source: object) -> None:
    """Raise `BadInput` for what another process may send in place of an object or a short text."""
    if not (isinstance(payload, dict) and isinstance(source, str)):
        raise BadInput(f"cannot publish {topic}: its payload must be an object, its source a text")
    if len(source) > SOURCE_LIMIT:
        message = f"cannot publish {topic}: its source has {len(source)} characters, "
        raise BadInput(f"{message}the limit is {SOURCE_LIMIT}; say who speaks, in short")

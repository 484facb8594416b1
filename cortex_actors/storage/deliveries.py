"""What a consumer is handed next: the oldest event that waits for it, with its repeats.

Asked for before every delivery, so it must not cost more when more waits, and it goes to the driver
directly: through SQLAlchemy the same cost 1 to 2 ms. Repeats are looked for by their key's index,
which has to be named: for the order SQLite would rather read everything that waits (14 ms at
100,000).
"""

from __future__ import annotations

import json
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from cortex_actors import topics
from cortex_actors.bus.commits import Delivery, Rest
from cortex_actors.bus.consumer import find_project_id
from cortex_actors.clock import SECOND
from cortex_actors.domain.event import Event, Payload, merge_payloads, parse_payload
from cortex_actors.errors import CortexError
from cortex_actors.sections import LONGEST_REST
from cortex_actors.storage.tables.columns import decode_text, encode_text
from cortex_actors.storage.tables.dialect import execute, make_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

#: Waiting events that one run may answer at once; the rest come with the next.
CONFLATED = 1_000

#: Waiting events that are looked at for one whose project has no repeat waiting. Where none of
#: them may be handed out, an event is being handled, and its end is the next look.
LOOKED_AT = 64

#: In the place of a project: of none, and of all.
_NONE, _EVERYBODY = "", "*"

_COLUMNS = "e.seq, e.id, e.topic, e.payload, e.at, e.source, d.key, d.attempts"

_OLDEST = (
    f"SELECT {_COLUMNS} FROM deliveries AS d JOIN events AS e ON e.seq = d.seq "  # noqa: S608
    "WHERE d.consumer = ?{free} ORDER BY d.seq LIMIT ?"
)

_ALIKE = (
    f"SELECT {_COLUMNS} FROM deliveries AS d INDEXED BY deliveries_by_key "  # noqa: S608
    "JOIN events AS e ON e.seq = d.seq "
    "WHERE d.consumer = ? AND d.key = ? AND e.topic = ?{free} ORDER BY d.seq LIMIT ?"
)

_LATEST = "SELECT max(due_at) FROM deliveries WHERE consumer = ? AND due_at > 0"

#: Characters of why an event cannot be read: a strange field's name may be long.
WHY_LIMIT = 300

#: What reading a payload raises that this version does not know, or that is damaged.
_STRANGE = (CortexError, ValueError, TypeError, AttributeError, RecursionError)


class UnreadableError(Exception):
    """A waiting event that this version cannot read, so that it cannot be handed out."""

    def __init__(self, row: _Row, error: Exception) -> None:
        """Say which event it is, and why."""
        why = str(error)[:WHY_LIMIT]
        super().__init__(
            f"this version cannot read the event {row.seq} ({row.topic}): {why}; "
            f"try it with the version that said it (cortex daemon events --replay {row.seq}), or "
            f"drop it: cortex daemon events --discard {row.seq}"
        )
        self.seq = row.seq
        self.attempts = row.attempts


class _Row(NamedTuple):
    """A waiting event, as it is read."""

    seq: int
    id: str
    topic: str
    json: str
    at: int
    source: str | bytes
    stored_key: str | bytes | None
    attempts: int

    @property
    def key(self) -> str | None:
        """What its repeats have in common."""
        return decode_text(self.stored_key)

    @property
    def payload(self) -> Payload:
        """What it says. Raises `UnreadableError`."""
        try:
            return parse_payload(topics.find(self.topic).payload, json.loads(self.json))
        except _STRANGE as error:
            raise UnreadableError(self, error) from error


def find_next(
    connection: Connection, consumer: str, *, now: int, in_hand: Sequence[Delivery]
) -> Delivery | Rest | None:
    """Return the oldest waiting event, with those of its topic and key that follow it.

    They end before one of another project, unless one run answers all waiting events of the topic:
    a file that moved to another project between them would else carry its event past others of its
    project. Left out are the events being handled (`in_hand`), their repeats, and what comes behind
    a repeat in its project.
    Raises `UnreadableError` for the first that cannot be read.
    """
    first = _first(connection, consumer, in_hand)
    if first is None:
        return None
    due = execute(connection, _LATEST, consumer).fetchone()[0] or 0
    # Further ahead than any rest: the wall clock has jumped back.
    if now < due <= now + LONGEST_REST * SECOND:
        return Rest((due - now) / SECOND)
    rows = [first]
    if first.key is not None:
        rows = _alike(connection, consumer, first.topic, first.key, limit=CONFLATED)
        project = find_project_id(first.payload)  # raises for an unknown topic
        if topics.find(first.topic).key != topics.ONE_KEY:
            rows = list(takewhile(lambda row: find_project_id(row.payload) == project, rows))
    # Make one delivery of rows that have one key.
    last = rows[-1]
    payload = merge_payloads([row.payload for row in rows])
    source = decode_text(last.source) or ""
    event = Event(last.id, last.topic, payload, last.at, source, last.seq)
    attempts = max(row.attempts for row in rows)
    return Delivery(consumer, event, tuple(row.seq for row in rows), last.key, attempts)


def _first(connection: Connection, consumer: str, in_hand: Sequence[Delivery]) -> _Row | None:
    """Return the oldest row that may be handed out: none goes past one its project withholds.

    What is withheld withholds its own repeats, of whatever project, and what is behind those.
    """
    held = _withheld(connection, consumer, in_hand)
    others = list(map(_but, in_hand))
    free = "".join(condition for condition, _ in others)
    given = chain.from_iterable(marked for _, marked in others)
    values = (consumer, *given, LOOKED_AT if held else 1)
    passed: set[tuple[str, str | bytes]] = set()
    for row in map(_Row._make, execute(connection, _OLDEST.format(free=free), *values)):
        if not held:
            return row
        project = find_project_id(row.payload) or _NONE
        if (row.topic, row.stored_key) not in passed and row.seq < min(
            held.get(each, row.seq + 1) for each in (project, _EVERYBODY)
        ):
            return row
        if row.stored_key is not None:
            passed.add((row.topic, row.stored_key))
        if project is not _NONE:
            held[project] = min(row.seq, held.get(project, row.seq))
    return None


def _withheld(connection: Connection, consumer: str, in_hand: Sequence[Delivery]) -> dict[str, int]:
    """Return the projects where a repeat of an event being handled waits, and its number.

    Such a file may have moved to another project, and back. Of more repeats than are looked at, the
    last holds up all projects.
    """
    held: dict[str, int] = {}
    for each in in_hand:
        if each.key is None:
            continue
        topic = each.event.topic
        found = _alike(connection, consumer, topic, each.key, limit=LOOKED_AT, but=each.seqs)
        for row in found:
            if project := find_project_id(row.payload):
                held[project] = min(row.seq, held.get(project, row.seq))
        if len(found) == LOOKED_AT:
            held[_EVERYBODY] = min(found[-1].seq, held.get(_EVERYBODY, found[-1].seq))
    return held


def _alike(
    connection: Connection,
    consumer: str,
    topic: str,
    key: str,
    *,
    limit: int,
    but: Sequence[int] = (),
) -> list[_Row]:
    """Return the waiting events of a topic and a key, oldest first."""
    query = _ALIKE.format(free=f" AND d.seq NOT IN ({make_marks(but)})" if but else "")
    found = execute(connection, query, consumer, encode_text(key), topic, *but, limit)
    return [_Row._make(each) for each in found]


def _but(delivery: Delivery) -> tuple[str, tuple[Any, ...]]:
    """Return the condition for rows that are neither a delivery's own nor a repeat of it.

    The values of its placeholders come with it.
    """
    if delivery.key is None:
        return f" AND d.seq NOT IN ({make_marks(delivery.seqs)})", delivery.seqs
    marked = (encode_text(delivery.key), delivery.event.topic)
    return " AND NOT (d.key IS ? AND e.topic = ?)", marked

"""One record of the log, which records a reader wants, and how a person sees one.

A record is one line of ASCII JSON, so no newline, escape code or bidirectional mark in a text can
forge or hide a line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING

from cortex_actors.clock import iso
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Characters of one text; the rest is cut, because a record is a line and not a document.
TEXT_LIMIT = 16_384

#: Characters of all fields of a record as JSON; longer ones are only named.
FIELDS_LIMIT = 65_536

#: Times from here on are nobody's: the year 10,000, UTC microseconds.
LATEST = 253_402_300_800_000_000

#: Stands where the time of a record would, for one that has none.
_NO_TIME = "-".ljust(len(iso(0)))

#: Level name -> rank; the ranks are the standard library's.
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}

#: The fields of most records are nothing else.
_TEXT = frozenset({str})

#: Keys of a record that its fields cannot take.
FIXED = ("seq", "at", "level", "actor", "topic", "text")


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened."""

    seq: int
    #: UTC microseconds.
    at: int
    level: str
    #: Who says it: an actor's name, or a part of the program.
    actor: str
    topic: str | None
    text: str
    fields: Mapping[str, object] = field(default_factory=dict)
    #: The record as one line of ASCII JSON.
    encoded: str = ""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records a reader wants; the default is all of them."""

    level: str = "debug"
    #: Shell patterns; a topic's pattern leaves out records that are about no topic.
    actor: str = "*"
    topic: str | None = None
    #: Only records after this `seq`.
    since: int = 0
    #: Only records from this time on, UTC microseconds.
    since_at: int = 0

    def __post_init__(self) -> None:
        """Raise `BadInput` for a level that does not exist."""
        if self.level not in LEVELS:
            known = ", ".join(LEVELS)
            raise BadInput(f"no log level is called {self.level!r}; the levels are: {known}")

    def passes(self, record: Record) -> bool:
        """Say whether the reader wants this record."""
        return (
            record.seq > self.since
            and record.at >= self.since_at
            and LEVELS.get(record.level, 0) >= LEVELS[self.level]
            and (self.actor == "*" or fnmatchcase(record.actor, self.actor))
            and (self.topic is None or fnmatchcase(record.topic or "", self.topic))
        )


def made(fixed: tuple[int, int, str, str, str | None, str], fields: Mapping[str, object]) -> Record:
    """Return a record with its line of JSON, its text cut to the limit; never raises."""
    seq, at, level, actor, topic, text = fixed
    shown = text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}..."
    # By hand, because every event costs a line and `json.dumps` takes twice as long.
    head = (
        f'{{"seq": {seq}, "at": {at}, "level": {quoted(level)}, "actor": {quoted(str(actor))}, '
        f'"topic": {"null" if topic is None else quoted(str(topic))}, "text": {quoted(shown)}'
    )
    if _TEXT.issuperset(map(type, fields.values())):
        rest = "".join([f", {quoted(name)}: {quoted(str(fields[name]))}" for name in fields])
        if len(rest) <= FIELDS_LIMIT:
            return Record(seq, at, level, actor, topic, shown, dict(fields), f"{head}{rest}}}")
    rest = _plain(fields)
    # Only text is kept: the ring must not keep somebody's objects alive.
    encoded = f"{head}, {rest[1:]}"
    return Record(seq, at, level, actor, topic, shown, json.loads(rest), encoded)


def record_of(found: Mapping[str, object]) -> Record:
    """Return the record that a JSON object describes; what it lacks is empty."""
    seq, at, topic = found.get("seq"), found.get("at"), found.get("topic")
    text = found.get("text", "")
    if "dropped" in found and not text:
        text = f"{found['dropped']} records were dropped here"
    return Record(
        seq if isinstance(seq, int) else 0,
        at if isinstance(at, int) and 0 <= at < LATEST else 0,
        str(found.get("level", "info")),
        str(found.get("actor", "log")),
        topic if isinstance(topic, str) else None,
        str(text),
        {key: value for key, value in found.items() if key not in {*FIXED, "dropped"}},
        json.dumps(found),
    )


def line(record: Record) -> str:
    """Return the record for a person, with every control character made visible.

    One line, and below it the traceback if there is one, behind a bar that no text can forge.
    """
    about = f" {record.topic}" if record.topic else ""
    shown = {key: value for key, value in record.fields.items() if key != "traceback"}
    fields = "".join(f" {key}={value}" for key, value in shown.items())
    text = f"{record.level:<8} {record.actor}{about}: {record.text}{fields}"
    trace = str(record.fields.get("traceback", "")).splitlines()
    when = iso(record.at) if record.at else _NO_TIME
    return "\n".join([f"{when} {visible(text)}", *(f"    | {visible(part)}" for part in trace)])


def visible(text: str) -> str:
    """Return a text with what could move a terminal's cursor or hide characters written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _plain(fields: Mapping[str, object]) -> str:
    """Return the fields as a JSON object; what JSON cannot hold is shown as text, or only named."""
    try:
        text = json.dumps(dict(fields), default=str)
    except Exception:  # noqa: BLE001 - somebody's `__str__` may raise anything, a log never
        text = ""
    if 0 < len(text) <= FIELDS_LIMIT:
        return text
    return json.dumps({"left_out": ", ".join(sorted(fields))[:TEXT_LIMIT]})

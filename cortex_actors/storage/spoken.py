"""Spoken: the texts that files say now, each with what comparing and weighing it takes.

Every distinct text has its row, whichever insight it counts for; so what is read here does not
depend on what was merged so far. Every function takes the connection of a read transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.insight import Claim, Granularity
from cortex_actors.domain.project import StatementKind, Trust
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.sources import private_ids
from cortex_actors.storage.tables.columns import given_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

#: What ends the name of a file that one person alone reads.
PRIVATE = ".local.md"

#: Trusts that can speak for a text on their own.
_VOCAL = frozenset({Trust.FILE, Trust.AGENT})

_TEXTS = (
    "SELECT id, content, heading, granularity, domain, superseded_by, review IS NULL, category,"
    " status, confidence, kind, content_hash, text_hash, tags, verdict FROM insights"
    " WHERE id IN (SELECT value FROM json_each(?))"
)

#: Places, those included at which the text stood before: what was observed there still counts.
_PLACES = (
    "SELECT s.said_id, s.path, s.project_id, s.scope, s.withdrawn_at IS NULL, s.trust,"
    " coalesce(p.origin, p.id) FROM insight_sources AS s JOIN projects AS p ON p.id = s.project_id"
    " WHERE s.said_id IN (SELECT value FROM json_each(?))"
)
_REVISIONS = (
    "SELECT s.said_id, s.path, o.file_hash, min(o.at), max(o.at) FROM insight_sources AS s"
    " JOIN observations AS o ON o.source_id = s.id"
    " WHERE s.said_id IN (SELECT value FROM json_each(?)) GROUP BY s.said_id, s.path, o.file_hash"
)

_SAID = "SELECT DISTINCT said_id FROM insight_sources WHERE withdrawn_at IS NULL"

#: Texts of a model's vectors that came behind one. The plus has SQLite begin at that one: by the
#: model it would walk all vectors there are, in each run.
_LATE = (
    "SELECT DISTINCT i.id FROM vectors AS v JOIN passages AS p ON p.text_hash = v.text_hash"
    " JOIN insights AS i ON i.id = p.item_id AND i.text_hash = v.text_hash"
    " WHERE v.seq > ? AND +v.model = ? AND p.collection = 'cortex_insights'"
)


@dataclass(slots=True)
class Spoken:
    """A text, and who says it.

    Attributes:
        projects: ids of the projects that say it now.
        paths: the files that say it now.
        revisions: (file, revision) -> first and last time that it was seen in it, UTC microseconds;
            of files that no longer say it, too.
        is_private: only files of one person say it.
        is_free: nothing keeps it back for a person to look at first.
        text_hash: the SHA-256 of what is embedded of it.
        trusts: where it came from.
        voices: what says it independently: two checkouts of one repository are one voice, and
            neither what was imported nor a file of one person has any.

    """

    id: str
    content: str
    heading: str | None
    granularity: Granularity
    domain: str | None
    superseded_by: str | None
    is_free: bool
    category: str
    status: str
    confidence: float
    kind: StatementKind | None
    projects: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    revisions: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    is_private: bool = False
    content_hash: str = ""
    text_hash: bytes = b""
    tags: tuple[str, ...] = ()
    verdict: float | None = None
    trusts: set[str] = field(default_factory=set)
    voices: set[str] = field(default_factory=set)

    @property
    def is_live(self) -> bool:
        """Whether a file says it and nothing keeps it back."""
        return self.is_free and bool(self.paths)

    @property
    def claim(self) -> Claim:
        """The text as it is judged; what holds in all of one project holds everywhere in it."""
        scope = "" if "" in self.scopes else min(self.scopes, default="")
        return Claim(self.content, self.heading, scope)


def by_id(connection: Connection, ids: Iterable[str]) -> dict[str, Spoken]:
    """Return those texts; ids that are not known are left out."""
    driver, asked = driver_of(connection), json.dumps(sorted(set(ids)))
    found = {row[0]: _spoken(row) for row in driver.execute(_TEXTS, (asked,))}
    for said, path, project, scope, is_live, trust, origin in driver.execute(_PLACES, (asked,)):
        if is_live:
            text, file = found[said], given_text(path) or ""
            text.paths.add(file)
            text.projects.add(project)
            text.scopes.add(given_text(scope) or "")
            text.trusts.add(trust)
            if trust in _VOCAL and not file.lower().endswith(PRIVATE):
                text.voices.add(given_text(origin) or "")
    for said, path, revision, first, last in driver.execute(_REVISIONS, (asked,)):
        found[said].revisions[given_text(path) or "", revision] = (first, last)
    for said in private_ids(connection, found):
        found[said].is_private = True
    return found


def everything(connection: Connection) -> set[str]:
    """Return the ids of all texts that files say now."""
    return {said for (said,) in driver_of(connection).execute(_SAID)}


def is_any(connection: Connection) -> bool:
    """Tell whether files say anything."""
    return driver_of(connection).execute(f"{_SAID} LIMIT 1").fetchone() is not None


def standing(connection: Connection) -> list[str]:
    """Return the ids of all insights that stand for what files say."""
    query = "SELECT id FROM insights WHERE status IN ('active', 'contradicted') ORDER BY id"
    return [each for (each,) in driver_of(connection).execute(query)]


def sure(connection: Connection, confidence: float) -> set[str]:
    """Return the ids of the insights that nothing speaks against and that are believed so far."""
    query = "SELECT id FROM insights WHERE status = 'active' AND confidence >= ?"
    return {each for (each,) in driver_of(connection).execute(query, (confidence,))}


def active_among(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those of the insights that files say and that nothing speaks against."""
    query = (
        "SELECT i.id FROM json_each(?) AS j JOIN insights AS i ON i.id = j.value"
        " WHERE +i.status = 'active'"
    )
    return {each for (each,) in driver_of(connection).execute(query, (json.dumps(sorted(ids)),))}


def said_among(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those of the insights that files say, whether or not something speaks against them."""
    query = (
        "SELECT i.id FROM json_each(?) AS j JOIN insights AS i ON i.id = j.value"
        " WHERE +i.status IN ('active', 'contradicted')"
    )
    return {each for (each,) in driver_of(connection).execute(query, (json.dumps(sorted(ids)),))}


def live_among(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those of the texts that a file says now and that wait for nobody."""
    query = (
        "SELECT i.id FROM json_each(?) AS j JOIN insights AS i ON i.id = j.value"
        " WHERE i.review IS NULL AND EXISTS (SELECT 1 FROM insight_sources AS s"
        " WHERE s.said_id = i.id AND s.withdrawn_at IS NULL)"
    )
    asked = json.dumps(sorted(ids))
    return {each for (each,) in driver_of(connection).execute(query, (asked,))}


def late(connection: Connection, model: str, after: int) -> tuple[set[str], int]:
    """Return the texts whose vector came behind number `after`, and the number of the newest.

    The numbers of vectors grow for ever, so nothing that came meanwhile is missed.
    """
    driver = driver_of(connection)
    newest = int(driver.execute("SELECT coalesce(max(seq), 0) FROM vectors").fetchone()[0])
    if newest <= after:
        return set(), newest
    return {each for (each,) in driver.execute(_LATE, (after, model))}, newest


def _spoken(row: tuple[Any, ...]) -> Spoken:
    """Return a row as a text that nobody says."""
    return Spoken(
        id=row[0],
        content=given_text(row[1]) or "",
        heading=given_text(row[2]),
        granularity=Granularity(row[3]),
        domain=row[4],
        superseded_by=row[5],
        is_free=bool(row[6]),
        category=row[7],
        status=row[8],
        confidence=row[9],
        kind=StatementKind(row[10]) if row[10] else None,
        content_hash=row[11],
        text_hash=row[12],
        tags=tuple(json.loads(row[13])),
        verdict=row[14],
    )

"""The rows an insight consists of, and what is counted about it whenever it is asked.

Statuses of insights: the one place that decides them, from rows alone.

A unit of work that changes what the status depends on (sources, merges, contradictions, reviews)
settles it in the same transaction, so that the order of changes does not matter.

Alerts: lines in instruction files that a person should look at, as long as they are there.

Every function takes the connection of a transaction it is part of. An alert ends when its file no
longer says it, and stays in the ledger.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import LIVE, Granularity, Insight, InsightSource
from cortex_actors.domain.memory import Passage, SearchPlace
from cortex_actors.domain.project import Alert, AlertKind, StatementKind
from cortex_actors.storage import passages
from cortex_actors.storage.embeddings import make_text
from cortex_actors.storage.tables import columns
from cortex_actors.storage.tables.dialect import avoid_index, execute, execute_for
from cortex_actors.storage.tables.schema import (
    alerts,
    insight_sources,
    insights,
    meta,
    projects,
    reviews,
)
from cortex_actors.text.hazards import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


#: How files end that are one person's own.
PRIVATE = ".local.md"

#: Ends a name among several: a folder's name may hold a comma, but never this.
_END = "/"

#: Statuses of what files say and people see, in an order that makes the same statement each time.
SEEN = tuple(sorted(LIVE))

_AMONG = "SELECT i.id FROM :each(?1) AS j CROSS JOIN insights AS i ON i.id = j.value WHERE "


def match_live() -> sa.ColumnElement[bool]:
    """Return the condition that files say an insight and people see it."""
    return insights.c.status.in_(SEEN)


def match_live_among() -> sa.ColumnElement[bool]:
    """Return the condition that one of some insights is live, for a query that names their ids.

    Aside, or from a dozen on SQLite would walk all that are live.
    """
    return avoid_index(insights.c.status).in_(SEEN)


def filter_ids(connection: sa.Connection, condition: str, *, ids: Iterable[str]) -> set[str]:
    """Return those of some insights, or of their texts, that fulfil a condition on their row `i`.

    SQLite looks each of them up, instead of walking all that fulfil it.
    """
    return {each for (each,) in execute_for(connection, _AMONG + condition, ids)}


def select_evidence() -> sa.Select[Any]:
    """Return the query for insights with what is counted about them."""
    saying = (
        sa.select(insight_sources.c.project_id)
        .where(insight_sources.c.insight_id == insights.c.id)
        .where(insight_sources.c.withdrawn_at.is_(None))
        .correlate(insights)
    )
    names = sa.select(sa.func.aggregate_strings(projects.c.name + _END, ","))
    counted = {
        "observed": count_observed("= insights.id"),
        "scanned_at": find_scanned_at("= insights.id"),
        "project_names": names.where(projects.c.id.in_(saying))
        .correlate(insights)
        .scalar_subquery(),
    }
    return sa.select(insights, *(column.label(name) for name, column in counted.items()))


def select_of_project(project_id: str) -> sa.Select[tuple[str]]:
    """Return the query for ids of insights that a project says."""
    return sa.select(insight_sources.c.insight_id).where(
        insight_sources.c.project_id == project_id, insight_sources.c.withdrawn_at.is_(None)
    )


def match_public(path: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a file is for more than one person to read."""
    return path.not_like(f"%{PRIVATE}")


def match_shared() -> sa.ColumnElement[bool]:
    """Return the condition that a file for more than one person says an insight as it is shown.

    These are its own words, under its own heading: both may be in private files alone.
    """
    says: sa.Select[Any] = sa.select(insight_sources.c.id).where(
        insight_sources.c.said_id == insights.c.id,
        insight_sources.c.withdrawn_at.is_(None),
        insight_sources.c.heading.is_not_distinct_from(insights.c.heading),
        match_public(insight_sources.c.path),
    )
    return says.correlate(insights).exists()


def select_places() -> sa.Select[Any]:
    """Return the query for the places where files say insights now, with the project's name."""
    return (
        sa.select(insight_sources, projects.c.name.label("project_name"))
        .join(projects, projects.c.id == insight_sources.c.project_id)
        .where(insight_sources.c.withdrawn_at.is_(None))
    )


def make_insight(row: sa.Row[Any]) -> Insight:
    """Return a row as an insight."""
    names = row.project_names[: -len(_END)].split(_END + ",") if row.project_names else ()
    return columns.make_entity(
        Insight,
        row,
        observation_count=row.observed,
        first_seen=row.first_seen_at,
        last_seen=max(row.last_seen_at, row.scanned_at or 0),
        projects=tuple(sorted(names)),
        kind=StatementKind(row.kind) if row.kind else None,
    )


def make_source(row: sa.Row[Any]) -> InsightSource:
    """Return a row as a source."""
    kind = StatementKind(row.kind) if row.kind else None
    return columns.make_entity(
        InsightSource, row, project=row.project_name, file_hash="", kind=kind
    )


#: Days on which projects were scanned since they say insights without interruption, and days on
#: which another revision of a file that still says them was read: one a day and project. What was
#: observed of sources before counts, too: a statement's source changes with its section.
_OBSERVED = """(
    SELECT count(*) FROM (
        SELECT s.project_id AS project_id, min(w.at) AS at FROM insight_sources AS s
        JOIN said_since AS w ON w.said_id = s.said_id AND w.project_id = s.project_id
        WHERE s.insight_id {of} AND s.withdrawn_at IS NULL GROUP BY s.project_id
    ) AS n JOIN scans AS c ON c.project_id = n.project_id AND c.day >= n.at / {day}
) + (
    SELECT count(DISTINCT s.project_id || (o.at / {day})) FROM insight_sources AS s
    JOIN observations AS o ON o.source_id = s.id
    WHERE s.insight_id {of} AND EXISTS (
        SELECT 1 FROM insight_sources AS n WHERE n.insight_id = s.insight_id
        AND n.path = s.path AND n.withdrawn_at IS NULL
    ) AND NOT EXISTS (
        SELECT 1 FROM scans AS c JOIN said_since AS w ON w.project_id = c.project_id
        JOIN insight_sources AS n ON n.said_id = w.said_id AND n.project_id = w.project_id
        WHERE c.project_id = s.project_id AND c.day = o.at / {day} AND w.at / {day} <= c.day
        AND n.insight_id {of} AND n.withdrawn_at IS NULL
    )
)"""

_SCANNED = """(
    SELECT max(c.at) FROM scans AS c WHERE c.project_id IN (
        SELECT s.project_id FROM insight_sources AS s
        WHERE s.insight_id {of} AND s.withdrawn_at IS NULL
    )
)"""


def count_observed(of: str) -> sa.ColumnElement[int]:
    """Return how often insights were observed; `of` is the condition that their id fulfils.

    `pipeline.evidence` counts the same of the texts that it holds; a test compares the two.
    """
    return sa.literal_column(f"({_OBSERVED.format(of=of, day=DAY)})", sa.Integer())


def find_scanned_at(of: str) -> sa.ColumnElement[int]:
    """Return when a project that says one of the insights was scanned last; None without one."""
    return sa.literal_column(_SCANNED.format(of=of), sa.Integer())


#: The fact of the home by which fingerprints of secrets are made, and its bytes. It never leaves
#: the ledger, so that no one else can try passwords against a fingerprint.
KEY, KEY_BYTES = "fingerprint-key", 32

#: Alerts of one text, wherever it is or was.
_LOOKED_AT = (
    "UPDATE alerts AS a SET ended_at = ? WHERE a.ended_at IS NULL AND a.kind <> 'secret'"
    " AND EXISTS (SELECT 1 FROM insight_sources AS s WHERE s.said_id = ? AND s.path = a.path"
    " AND s.fragment_id = a.fragment_id AND s.line_start = a.line_start)"
)

_STANDING = "SELECT id, fragment_id, kind, detail FROM alerts WHERE path = ? AND ended_at IS NULL"

#: What tells two alerts of a file apart.
_Mark = tuple[str, str, str]


def note(
    connection: sa.Connection, path: str, found: Sequence[Alert], *, project_id: str, at: int
) -> None:
    """Make the alerts of a file those, and end the others that it had.

    Call it after its sources are written: what a person has decided does not raise an alert again.
    """
    rows: dict[_Mark, dict[str, object]] = {}
    known = _decided(connection, path) if found else set()
    for each in found:
        if each.kind is not AlertKind.SECRET and (each.fragment_id, each.line_start) in known:
            continue
        row = _row(connection, each, project_id=project_id, at=at)
        rows.setdefault((str(row["fragment_id"]), str(row["kind"]), str(row["detail"])), row)
    end(connection, path, at, but=set(rows))
    again = ("project_id", "line_start", "line_end", "ended_at")
    key = ("path", "fragment_id", "kind", "detail")
    columns.put_rows(connection, alerts, rows.values(), change=again, key=key)


def end(connection: sa.Connection, path: str, at: int, *, but: set[_Mark] | None = None) -> None:
    """End the alerts of a file, but for some."""
    rows = execute(connection, _STANDING, columns.encode_text(path))
    over = [
        number
        for number, *mark in rows
        if tuple(map(columns.decode_text, mark)) not in (but or set())
    ]
    columns.change_in(connection, alerts.c.id, over, {"ended_at": at})


def end_alerts_of(connection: sa.Connection, insight_id: str, at: int) -> None:
    """End the alerts of a text that a person has decided about; a secret is one still."""
    execute(connection, _LOOKED_AT, at, insight_id)


def list_alerts(connection: sa.Connection) -> list[Alert]:
    """Return the alerts that have not ended, by path and line.

    Only of followed projects: a file that is not read any more raises no warning.
    """
    query = sa.select(alerts).join(projects, projects.c.id == alerts.c.project_id)
    query = query.where(alerts.c.ended_at.is_(None), projects.c.active == 1)
    query = query.order_by(alerts.c.path, alerts.c.line_start, alerts.c.id)
    return [columns.make_entity(Alert, row) for row in connection.execute(query)]


def _decided(connection: sa.Connection, path: str) -> set[tuple[str, int]]:
    """Return the places in a file (fragment, line) of texts that need no look any more."""
    query = (
        sa.select(insight_sources.c.fragment_id, insight_sources.c.line_start)
        .join(insights, insights.c.id == insight_sources.c.said_id)
        .where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
        .where(
            sa.or_(insights.c.review.is_(None), insights.c.id.in_(sa.select(reviews.c.insight_id)))
        )
    )
    return {(row.fragment_id, row.line_start) for row in connection.execute(query)}


def _row(connection: sa.Connection, alert: Alert, *, project_id: str, at: int) -> dict[str, object]:
    """Return an alert as a row; secrets of one kind are distinguished by their fingerprints."""
    detail, printed = alert.detail, None
    if alert.value:
        query = sa.select(meta.c.value).where(meta.c.name == KEY)
        key = connection.execute(query).scalar_one_or_none()
        if key is None:
            key = secrets.token_bytes(KEY_BYTES)
            columns.put_rows(connection, meta, [{"name": KEY, "value": key}])
        printed = fingerprint(alert.value, key)
        detail = f"{detail} ({printed})"
    more = {"project_id": project_id, "fingerprint": printed, "found_at": at, "ended_at": None}
    return columns.as_row(alerts, alert, detail=detail, **more)


#: The collection of the vector index that insights lie in.
COLLECTION = "cortex_insights"

#: The condition that files say an insight and nothing keeps it back; `i` is its row. Statuses of
#: others are never asked: they may have to be settled themselves.
STANDS = (
    "{i}.superseded_by IS NULL AND {i}.review IS NULL AND EXISTS (SELECT 1 FROM insight_sources"
    " AS s WHERE s.insight_id = {i}.id AND s.withdrawn_at IS NULL)"
)

#: Whether an insight opposes another one: the other side of an open contradiction, or the side
#: that a person decided for. Insights that say the same count as one (`m` is it, or counts for it),
#: where two hold in different places, both may until a person decides. Asked for each column that
#: may name it.
_AGAINST = (
    "EXISTS (SELECT 1 FROM insights AS m JOIN contradictions AS c ON c.{mine} = m.id"  # noqa: S608 - ours
    " JOIN insights AS t ON t.id = c.{theirs}"
    " JOIN insights AS o ON o.id = coalesce(t.superseded_by, t.id)"
    " WHERE (m.id = i.id OR m.superseded_by = i.id) AND o.id <> i.id"
    " AND (c.status = 'unresolved' AND c.type <> 'contextual' OR c.kept_id = c.{theirs})"
    f" AND {STANDS.format(i='o')})"
)
_FIRST = _AGAINST.format(mine="insight_a", theirs="insight_b")
_SECOND = _AGAINST.format(mine="insight_b", theirs="insight_a")

_SETTLE = (
    "UPDATE insights AS i SET status = CASE"  # noqa: S608 - texts of this module
    " WHEN i.superseded_by IS NOT NULL THEN 'superseded'"
    " WHEN NOT EXISTS (SELECT 1 FROM insight_sources AS s WHERE s.insight_id = i.id"
    " AND s.withdrawn_at IS NULL) THEN 'withdrawn'"
    " WHEN i.review IS NOT NULL THEN 'pending_review'"
    f" WHEN {_FIRST} OR {_SECOND} THEN 'contradicted'"
    " ELSE 'active' END WHERE i.id IN :ids"
)

#: Those insights, those that contradict one of them, and what says the same as one of them.
_CONCERNED = (
    "WITH asked(id) AS (SELECT value FROM :each(?1) AS j),"
    " same(id) AS (SELECT id FROM asked UNION SELECT i.superseded_by FROM insights AS i"
    " JOIN asked USING (id) WHERE i.superseded_by IS NOT NULL"
    " UNION SELECT m.id FROM insights AS m JOIN asked ON m.superseded_by = asked.id),"
    " met(id) AS (SELECT c.insight_b FROM contradictions AS c JOIN same ON c.insight_a = same.id"
    " UNION SELECT c.insight_a FROM contradictions AS c JOIN same ON c.insight_b = same.id)"
    " SELECT id FROM asked UNION SELECT id FROM same UNION SELECT id FROM met"
    " UNION SELECT i.superseded_by FROM insights AS i JOIN met USING (id)"
    " WHERE i.superseded_by IS NOT NULL"
)


#: What the live ones of some insights say. (`+`: or it would walk all that are live.)
_SEEN = (
    "SELECT id, content, heading, granularity, text_hash FROM insights"  # noqa: S608 - ours
    f" WHERE id IN :ids AND +status IN ({', '.join(map(repr, map(str, SEEN)))}) ORDER BY id"
)


def settle(connection: sa.Connection, ids: Iterable[str]) -> None:
    """Give insights the status that their rows say, and let be found those that are live.

    Those that contradict one of them are settled with it.
    """
    concerned = sorted(each for (each,) in execute_for(connection, _CONCERNED, ids))
    execute_for(connection, _SETTLE, concerned)
    remake(connection, concerned)


def approve(connection: sa.Connection, insight_id: str, *, at: int) -> bool:
    """Let an insight be used that waited for a person; False when it did not wait.

    It never waits again, whatever file says it, and its alerts end.
    """
    free = "UPDATE insights SET review = NULL WHERE id = ? AND review IS NOT NULL"
    if not execute(connection, free, insight_id).rowcount:
        return False
    end_alerts_of(connection, insight_id, at)
    settle(connection, [insight_id])
    return True


def remake(connection: sa.Connection, ids: Iterable[str]) -> int:
    """Let those insights be found that are live, and no other of them; return how many are."""
    wanted = list(dict.fromkeys(ids))
    live = execute_for(connection, _SEEN, wanted).fetchall()
    made = [each for row in live for each in _passages(row)]
    passages.replace(connection, COLLECTION, wanted, made)
    return len(live)


def _passages(row: Sequence[Any]) -> Sequence[Passage]:
    """Return the texts by which an insight is found, of its row as `_SEEN` has it.

    A statement is compared by its own words alone; under its headings it is only looked for.
    """
    insight_id, content, heading, granularity, digest = row
    text, before = columns.decode_text(content) or "", columns.decode_text(heading) or None
    if granularity == Granularity.STATEMENT:
        return passages.make_passages(
            text, collection=COLLECTION, item_id=insight_id, before=before
        )
    said = make_text(before, text)
    return [Passage(COLLECTION, insight_id, SearchPlace.BOTH, said, digest)]

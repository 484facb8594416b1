"""Alerts: what stands in instruction files that a person should look at, while it stands there.

Every function takes the connection of a transaction it is part of. An alert ends when its file no
longer says it, and stays in the ledger.
"""

from __future__ import annotations

import secrets
from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.project import Alert, AlertKind
from cortex_actors.storage.ledger.connection import driver_of
from cortex_actors.storage.schema import alerts, insight_sources, insights, meta, reviews
from cortex_actors.text.credentials import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The fact of the home by which fingerprints of secrets are made, and its bytes. It never leaves
#: the ledger, so that nobody else can try passwords against a fingerprint.
KEY, KEY_BYTES = "fingerprint-key", 32

#: Alerts of one text, wherever it stands or stood.
_LOOKED_AT = (
    "UPDATE alerts AS a SET ended_at = ? WHERE a.ended_at IS NULL AND a.kind <> 'secret'"
    " AND EXISTS (SELECT 1 FROM insight_sources AS s WHERE s.said_id = ? AND s.path = a.path"
    " AND s.fragment_id = a.fragment_id AND s.line_start = a.line_start)"
)

#: What tells two alerts of a file apart.
_Mark = tuple[str, str, str]


def note(
    connection: Connection, path: str, found: Sequence[Alert], *, project_id: str, at: int
) -> None:
    """Make the alerts of a file those, and end the others that it had.

    Call it once its sources are written: what a person has decided about alarms nobody again.
    """
    rows: dict[_Mark, dict[str, object]] = {}
    known = _decided(connection, path) if found else set()
    for each in found:
        if each.kind is not AlertKind.SECRET and (each.fragment_id, each.line_start) in known:
            continue
        row = _row(each, _print(connection, each), project_id=project_id, at=at)
        rows.setdefault(_mark(row), row)
    end(connection, path, at, but=set(rows))
    statement = insert(alerts)
    again = {
        name: statement.excluded[name] for name in ("project_id", "line_start", "line_end")
    } | {"ended_at": None}
    if rows:
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["path", "fragment_id", "kind", "detail"], set_=again
            ),
            list(rows.values()),
        )


def end(connection: Connection, path: str, at: int, *, but: set[_Mark] | None = None) -> None:
    """End the alerts of a file, but for some."""
    query = select(alerts).where(alerts.c.path == path, alerts.c.ended_at.is_(None))
    over = [
        row.id
        for row in connection.execute(query)
        if (row.fragment_id, row.kind, row.detail) not in (but or set())
    ]
    if over:
        connection.execute(update(alerts).where(alerts.c.id.in_(over)).values({"ended_at": at}))


def looked_at(connection: Connection, insight_id: str, at: int) -> None:
    """End the alerts of a text that a person has decided about; a secret is one still."""
    driver_of(connection).execute(_LOOKED_AT, (at, insight_id))


def standing(connection: Connection, path: str | None = None) -> list[Alert]:
    """Return the alerts that have not ended, of one file or of all, by path and line."""
    query = select(alerts).where(alerts.c.ended_at.is_(None))
    if path is not None:
        query = query.where(alerts.c.path == path)
    query = query.order_by(alerts.c.path, alerts.c.line_start, alerts.c.id)
    return [
        Alert(
            kind=AlertKind(row.kind),
            path=row.path,
            fragment_id=row.fragment_id,
            line_start=row.line_start,
            line_end=row.line_end,
            detail=row.detail,
        )
        for row in connection.execute(query)
    ]


def count(connection: Connection) -> dict[AlertKind, int]:
    """Return how many alerts of each kind have not ended."""
    query = select(alerts.c.kind, func.count()).where(alerts.c.ended_at.is_(None))
    found = connection.execute(query.group_by(alerts.c.kind)).all()
    return Counter({AlertKind(kind): number for kind, number in found})


def _decided(connection: Connection, path: str) -> set[tuple[str, int]]:
    """Return where in a file texts stand, by fragment and line, that need no look any more."""
    query = (
        select(insight_sources.c.fragment_id, insight_sources.c.line_start)
        .join(insights, insights.c.id == insight_sources.c.said_id)
        .where(insight_sources.c.path == path, insight_sources.c.withdrawn_at.is_(None))
        .where(or_(insights.c.review.is_(None), insights.c.id.in_(select(reviews.c.insight_id))))
    )
    return {(row.fragment_id, row.line_start) for row in connection.execute(query)}


def _print(connection: Connection, alert: Alert) -> str | None:
    """Return the fingerprint of an alert's secret; None where it has none."""
    if not alert.value:
        return None
    query = select(meta.c.value).where(meta.c.name == KEY)
    key = connection.execute(query).scalar_one_or_none()
    if key is None:
        key = secrets.token_bytes(KEY_BYTES)
        connection.execute(insert(meta).values({"name": KEY, "value": key}))
    return fingerprint(alert.value, key)


def _row(alert: Alert, printed: str | None, *, project_id: str, at: int) -> dict[str, object]:
    """Return an alert as a row; secrets of one kind are told apart by their fingerprints."""
    detail = f"{alert.detail} ({printed})" if printed else alert.detail
    return {
        "kind": alert.kind,
        "project_id": project_id,
        "path": alert.path,
        "fragment_id": alert.fragment_id,
        "line_start": alert.line_start,
        "line_end": alert.line_end,
        "detail": detail,
        "fingerprint": printed,
        "found_at": at,
        "ended_at": None,
    }


def _mark(row: dict[str, object]) -> _Mark:
    """Return what tells an alert apart from the others of its file."""
    return str(row["fragment_id"]), str(row["kind"]), str(row["detail"])

"""The audit: what each run of the pipeline did, or why it could not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, insert, select

from cortex_actors.storage.schema import runs

if TYPE_CHECKING:
    from collections.abc import Mapping

#: How a run ended that did not do what it was for.
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Run:
    """One run that has ended; it is written in the transaction of what it did."""

    id: str
    #: The actor's name.
    kind: str
    started_at: int
    finished_at: int
    #: `completed`, `unchanged` or `failed`.
    state: str = "completed"
    project_id: str | None = None
    path: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    #: Of a resolution: for whom it was, and whether it was only to be looked at.
    agent: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs somebody wants to see."""

    kind: str | None = None
    project_id: str | None = None
    #: Only those that failed.
    failed: bool = False
    limit: int = 20


def record(connection: Connection, run: Run) -> None:
    """Write a run."""
    row: dict[str, Any] = {
        "id": run.id,
        "kind": run.kind,
        "project_id": run.project_id,
        "path": run.path,
        "state": run.state,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "counts": dict(run.counts),
        "error": run.error,
    }
    if run.agent is not None or run.dry_run:
        # Only a resolution has one; the others leave both columns as they are by default.
        row |= {"agent": run.agent, "dry_run": int(run.dry_run)}
    connection.execute(insert(runs).values(row))


def latest(connection: Connection, kind: str, limit: int = 20) -> list[Run]:
    """Return the newest runs of an actor, newest first."""
    query = select(runs).where(runs.c.kind == kind).order_by(runs.c.finished_at.desc())
    return [_run(row) for row in connection.execute(query.limit(limit))]


def listed(connection: Connection, wanted: Wanted) -> list[Run]:
    """Return the runs that are wanted, newest first: by id, which begins with its time."""
    query = select(runs).order_by(runs.c.id.desc()).limit(wanted.limit)
    if wanted.kind is not None:
        query = query.where(runs.c.kind == wanted.kind)
    if wanted.project_id is not None:
        query = query.where(runs.c.project_id == wanted.project_id)
    if wanted.failed:
        query = query.where(runs.c.state == FAILED)
    return [_run(row) for row in connection.execute(query)]


def kinds(connection: Connection) -> list[str]:
    """Return of which kinds there are runs, by name."""
    return list(connection.execute(select(runs.c.kind).distinct().order_by("kind")).scalars())


def _run(row: Row[Any]) -> Run:
    """Return a row as a run."""
    return Run(
        id=row.id,
        kind=row.kind,
        started_at=row.started_at,
        finished_at=row.finished_at,
        state=row.state,
        project_id=row.project_id,
        path=row.path,
        counts=row.counts,
        error=row.error,
        agent=row.agent,
        dry_run=bool(row.dry_run),
    )

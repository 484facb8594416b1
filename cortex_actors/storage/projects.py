"""Registered projects and what their files looked like when they were last read.

The audit: what each run of the pipeline did, or why it could not.

What was learned in some time, in numbers: the digest that the schedule keeps as a run.

A digest goes on where the one before ended: what came at that very moment is in the later one.

How much of what was asked for is still to be done: what a progress bar shows.

Writes into humans' files: the journal's rows in the ledger, one for each write.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from cortex_actors.clock import DAY, Clock, make_ulid
from cortex_actors.domain.insight import LIVE
from cortex_actors.domain.project import Project
from cortex_actors.errors import BeingWritten
from cortex_actors.files.repository import is_weak
from cortex_actors.files.swap import WriteEntry, WriteState
from cortex_actors.storage.embeddings import count_unembedded
from cortex_actors.storage.tables.columns import (
    as_row,
    change_in,
    count_by,
    count_rows,
    decode_text,
    encode_text,
    make_entity,
    match_columns,
    put_rows,
)
from cortex_actors.storage.tables.dialect import execute
from cortex_actors.storage.tables.schema import (
    alerts,
    contradictions,
    deliveries,
    events,
    file_states,
    file_vectors,
    file_writes,
    insight_sources,
    insights,
    principles,
    projects,
    resolutions,
    runs,
    scans,
)
from cortex_actors.topics import FILE_CHANGED, SCAN_REQUESTED

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.storage.ledger.actor import Records


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells that a file has not changed, without reading it."""

    path: str
    project_id: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    sha256: str
    error: str | None = None
    #: As what, and by which version of the reader, it was read.
    read_as: str = "section/1"

    @classmethod
    def from_stat(cls, path: str, project_id: str, *, found: os.stat_result | None) -> FileState:
        """Return what a file that was not read looks like; zeros where it could not be seen."""
        names = "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino"
        size, written, altered, inode = (getattr(found, name, 0) for name in names)
        return cls(path, project_id, size, written, altered, inode, "")

    def says_as(self, other: FileState) -> bool:
        """Tell whether two looks saw the same bytes, read in the same way, and could read them."""
        seen = self.sha256, self.read_as, self.error
        return seen == (other.sha256, other.read_as, None)

    def has_same_stat(self, other: FileState) -> bool:
        """Tell whether two looks saw the same file by everything but its content."""
        seen = attrgetter("size", "mtime_ns", "ctime_ns", "inode")
        return bool(seen(self) == seen(other))


_FOLLOWED = "SELECT id, name, root, added_at FROM projects WHERE active = 1{} ORDER BY name, root"

_STATES = (
    "SELECT path, error, read_as, project_id, size, mtime_ns, ctime_ns, inode, sha256"
    " FROM file_states WHERE "
)

#: The actor that reads files, and what it calls the lines of one that another tool keeps.
READER, LEFT_OUT = "accumulator", "left_out"


def add(connection: sa.Connection, project: Project) -> bool:
    """Follow a project; return False when it was followed already."""
    known = connection.execute(sa.select(projects.c.active).where(projects.c.id == project.id))
    was = known.scalar_one_or_none()
    put_rows(connection, projects, [as_row(projects, project, active=1)], change=["active"])
    return was != 1


def remove(connection: sa.Connection, project_id: str) -> bool:
    """Follow a project no longer; what it said stays known. False when it was not followed."""
    return _set_flag(connection, project_id, "active", on=False)


def _set_flag(connection: sa.Connection, project_id: str, name: str, *, on: bool) -> bool:
    """Set a column of a project to 1 or 0; False: it was so, or there is no such project."""
    mine = sa.and_(projects.c.id == project_id, projects.c[name] != int(on))
    statement = sa.update(projects).where(mine).values({name: int(on)})
    return connection.execute(statement).rowcount == 1


def locate(connection: sa.Connection, origins: Mapping[str, str | None]) -> list[str]:
    """Write down of which repositories projects are checkouts; return the ids of those that moved.

    What says only where a repository lies, or nothing, takes nothing better away: git forgets how a
    repository began, and two checkouts that were one voice stay one.
    """
    moved = []
    for project_id, before in load_origins(connection, origins).items():
        now = origins[project_id]
        if now != before and not (is_weak(now) and not is_weak(before)):
            change_in(connection, projects.c.id, [project_id], {"origin": now})
            moved.append(project_id)
    return moved


def load_origins(connection: sa.Connection, ids: Iterable[str]) -> dict[str, str | None]:
    """Return of which repository each project is a checkout, as far as that is known."""
    query = sa.select(projects.c.id, projects.c.origin).where(projects.c.id.in_(list(ids)))
    return dict(connection.execute(query).all())


def list_ever(connection: sa.Connection) -> list[Project]:
    """Return the projects that were ever followed, by name; what they said is known still."""
    query = sa.select(projects).order_by(projects.c.name, projects.c.root)
    return [make_entity(Project, row) for row in connection.execute(query)]


def list_followed(connection: sa.Connection, *, resolving: bool = False) -> list[Project]:
    """Return the projects that are followed, by name, or those that are written unasked.

    Asked for each file that is read, and at each look at a project.
    """
    found = execute(connection, _FOLLOWED.format(" AND resolves = 1" if resolving else ""))
    return [Project(i, _text(name), _text(root), at) for i, name, root, at in found]


def list_called(connection: sa.Connection) -> list[tuple[str, str, str | None]]:
    """Return id, name and repository of each followed project."""
    query = sa.select(projects.c.id, projects.c.name, projects.c.origin)
    rows = connection.execute(query.where(projects.c.active == 1).order_by(projects.c.id))
    return [(row.id, row.name, row.origin) for row in rows]


def list_resolving(connection: sa.Connection) -> list[Project]:
    """Return the followed projects whose files are written without being asked for, by name."""
    return list_followed(connection, resolving=True)


def list_written(connection: sa.Connection) -> list[Project]:
    """Return the followed projects whose files are written where all are meant, by name.

    A person's own files are only where that was asked for, with `let_resolve`.
    """
    opted = {each.id for each in list_resolving(connection)}
    return [each for each in list_followed(connection) if not each.is_own or each.id in opted]


def let_resolve(connection: sa.Connection, project_id: str, *, on: bool) -> bool:
    """Have a project's files written by themselves from now on, or not; False: it was so."""
    return _set_flag(connection, project_id, "resolves", on=on)


def load_names(connection: sa.Connection) -> dict[str, str]:
    """Return what every project is called that was ever followed, by id."""
    return dict(connection.execute(sa.select(projects.c.id, projects.c.name)).all())


def count_files(connection: sa.Connection) -> dict[str, int]:
    """Return how many files were read of each project."""
    return count_by(connection, file_states.c.project_id)


def load_files(connection: sa.Connection, project_id: str) -> dict[str, FileState]:
    """Return what the files of a project looked like, by path."""
    return _states(connection, "project_id = ?", project_id)


def load_files_in(connection: sa.Connection, root: str) -> dict[str, FileState]:
    """Return what the files below a folder looked like, by path, of any project."""
    folder = root.rstrip("/")
    # "0" comes after "/": a range, because LIKE would read every row.
    below = map(encode_text, (folder + "/", folder + "0"))
    return _states(connection, "path > ? AND path < ? ORDER BY path", *below)


def load_file(connection: sa.Connection, path: str) -> FileState | None:
    """Return what one file looked like."""
    return next(iter(_states(connection, "path = ?", encode_text(path)).values()), None)


def _states(connection: sa.Connection, where: str, *values: object) -> dict[str, FileState]:
    """Return what the files that meet a condition looked like, by path."""
    found = {}
    for path, error, read_as, *rest in execute(connection, _STATES + where, *values):
        state = FileState(_text(path), *rest)
        found[state.path] = replace(state, error=decode_text(error), read_as=read_as)
    return found


def _text(stored: str | bytes) -> str:
    """Return a text as it was given."""
    return decode_text(stored) or ""


def _of_followed(*what: Any) -> sa.Select[Any]:
    """Return the query for something of the files that followed projects have."""
    joined = file_states.join(projects, projects.c.id == file_states.c.project_id)
    return sa.select(*what).select_from(joined).where(projects.c.active == 1)


def read_otherwise(connection: sa.Connection, read_as: str) -> bool:
    """Tell whether a file of a followed project was read in another way than that."""
    query = _of_followed(file_states.c.path).where(file_states.c.read_as != read_as)
    return connection.execute(query.limit(1)).first() is not None


def list_broken(connection: sa.Connection) -> list[FileState]:
    """Return the files of followed projects that could not be read the last time, by path."""
    query = _of_followed(file_states).where(file_states.c.error.is_not(None))
    query = query.order_by(file_states.c.path)
    return [make_entity(FileState, row) for row in connection.execute(query)]


def count_left_out(connection: sa.Connection) -> dict[str, int]:
    """Return how many lines of a file another tool keeps up to date, by path; only where it does.

    Of the files of followed projects, as their last whole reading counted them.
    """
    read = (
        sa.select(runs.c.counts)
        .where(runs.c.kind == READER, runs.c.path == file_states.c.path)
        .where(runs.c.state == "completed")
        .order_by(runs.c.finished_at.desc())
        .limit(1)
        .scalar_subquery()
    )
    rows = connection.execute(_of_followed(file_states.c.path, read).order_by(file_states.c.path))
    found = {path: int((counts or {}).get(LEFT_OUT, 0)) for path, counts in rows}
    return {path: count for path, count in found.items() if count}


def note_file(connection: sa.Connection, state: FileState, at: int) -> None:
    """Remember what a file looks like."""
    put_rows(connection, file_states, [as_row(file_states, state, seen_at=at)])


def note_scanned(connection: sa.Connection, project_ids: Iterable[str], *, at: int) -> None:
    """Note that all files of projects were looked at; only the first look of a day counts."""
    rows = [{"project_id": each, "day": at // DAY, "at": at} for each in sorted(project_ids)]
    put_rows(connection, scans, rows, change=())


def forget(connection: sa.Connection, path: str) -> None:
    """Forget a file that is no longer there."""
    connection.execute(file_states.delete().where(file_states.c.path == path))


def count_places(connection: sa.Connection, project_id: str) -> dict[str, int]:
    """Return at how many places each file of a project says something now, by path."""
    is_said = insight_sources.c.withdrawn_at.is_(None)
    mine = insight_sources.c.project_id == project_id
    return count_by(connection, insight_sources.c.path, mine, is_said)


#: How a run ended that did not do what it was for.
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PipelineRun:
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

    @classmethod
    def from_moment(cls, kind: str, now: int, **known: Any) -> PipelineRun:
        """Return a run that began and ended at a moment, with an id of its own."""
        whole = {"id": f"run_{make_ulid(now)}", "started_at": now, "finished_at": now, **known}
        return cls(kind=kind, **whole)


def record(connection: sa.Connection, run: PipelineRun) -> None:
    """Write a run."""
    row = as_row(runs, run, counts=dict(run.counts))
    put_rows(connection, runs, [row], key=list(row))  # no part of it is changed: it has to be new


def list_latest(connection: sa.Connection, kind: str, limit: int = 20) -> list[PipelineRun]:
    """Return the newest runs of an actor, newest first."""
    query = sa.select(runs).where(runs.c.kind == kind).order_by(runs.c.finished_at.desc())
    return [make_entity(PipelineRun, row) for row in connection.execute(query.limit(limit))]


def list_runs(
    connection: sa.Connection,
    *,
    kind: str | None = None,
    project_id: str | None = None,
    failed: bool = False,
    limit: int = 20,
) -> list[PipelineRun]:
    """Return runs, newest first: by id, which begins with its time."""
    query = sa.select(runs).order_by(runs.c.id.desc()).limit(limit)
    state = FAILED if failed else None
    query = query.where(*match_columns(runs, kind=kind, project_id=project_id, state=state))
    return [make_entity(PipelineRun, row) for row in connection.execute(query)]


def list_kinds(connection: sa.Connection) -> list[str]:
    """Return of which kinds there are runs, by name."""
    return list(connection.execute(sa.select(runs.c.kind).distinct().order_by("kind")).scalars())


#: What such a run is called in the audit.
KIND = "digest"


#: What of a digest is news, and how it is said.
NEWS = {
    "insights": "new insights",
    "principles": "new principles",
    "contradictions": "new contradictions",
    "decided": "contradictions decided",
    "alerts": "alerts",
    "failures": "failed runs",
}


def find_last_digest(connection: sa.Connection) -> int:
    """Return up to when the last digest counted; 0 without one."""
    last = list_latest(connection, KIND, 1)
    return last[0].started_at if last else 0


def count_new(connection: sa.Connection, start: int, end: int) -> dict[str, int]:
    """Return what is new from a time on, and before another one (UTC microseconds).

    `open`, `review` and `candidates` wait now: for a decision, for a review, to become principles.
    """

    def new(column: sa.Column[int], *where: sa.ColumnElement[bool]) -> int:
        return count_rows(connection, column.table, column >= start, column < end, *where)

    last = list_latest(connection, "reconciler", 1)
    return {
        "since": start,
        # Texts that came and are said now.
        "insights": new(insights.c.first_seen_at, insights.c.status.in_(LIVE)),
        "principles": new(principles.c.created_at),
        "contradictions": new(contradictions.c.detected_at),
        "decided": new(contradictions.c.resolved_at),
        "alerts": new(alerts.c.found_at),
        "failures": new(runs.c.finished_at, runs.c.state == "failed"),
        "open": count_rows(connection, contradictions, contradictions.c.status == "unresolved"),
        "review": count_rows(connection, insights, insights.c.status == "pending_review"),
        # As many as the last reconciliation named.
        "candidates": int(last[0].counts.get("candidates", 0)) if last else 0,
    }


def count_waiting(connection: sa.Connection, model: str) -> dict[str, int]:
    """Return what waits or is being done, by its kind.

    Scans of which the files are not known yet, files to be read, texts without a vector, and other
    events, which follow of them: insights to be compared, principles to be distilled.
    """
    query = (
        sa.select(events.c.topic, sa.func.count())
        .select_from(deliveries)
        .join(events, events.c.seq == deliveries.c.seq)
        .group_by(events.c.topic)
    )
    counts = {topic: int(count) for topic, count in connection.execute(query)}
    return {
        "scans": counts.pop(SCAN_REQUESTED, 0),
        "files": counts.pop(FILE_CHANGED, 0),
        "texts": count_unembedded(connection, model),
        "others": sum(counts.values()),
    }


class Writes:
    """The journal of writes, in the ledger: what it says has been committed."""

    def __init__(self, records: Records, clock: Clock) -> None:
        """Remember where the rows are."""
        self._records = records
        self._clock = clock

    async def begin(self, entry: WriteEntry) -> WriteEntry:
        """Note a write; return it with its number. Raises `BeingWritten`."""
        return await self._records.write(lambda connection: begin(connection, entry))

    async def keep(self, seq: int, displaced: bytes) -> None:
        """Keep a human's text that no file holds any more."""
        # Acknowledged is what the person sees in his file: this must not wait for room on a disk.
        await self._records.write(lambda c: _set(c, seq, displaced=displaced), vital=True)

    async def end(
        self, seq: int, state: WriteState, *, aside: str = "", undone: int | None = None
    ) -> None:
        """Say how a write ended, and what of it still lies in the folder."""
        at = self._clock.now()

        def unit(connection: sa.Connection) -> None:
            end(connection, seq, state, at=at, aside=aside)
            if undone is not None:
                # What it has left in its folder is still watched.
                _set(connection, undone, state=WriteState.UNDONE, ended_at=at)

        await self._records.write(unit, vital=True)

    async def clear(self, seq: int) -> None:
        """Say that nothing of a write lies in the folder any more."""
        await self._records.write(lambda c: _set(c, seq, aside=""), vital=True)

    async def list_unfinished(self, path: str | None = None) -> Sequence[WriteEntry]:
        """Return writes that are pending or have left something in their folder, oldest first.

        All of them are asked for at the end of a queue: what a crashed resolver began and the
        ledger has yet to commit is among them.
        """
        if path is None:
            return await self._records.write(list_unfinished, vital=True)
        return await self._records.read(lambda connection: list_unfinished(connection, path))

    async def find_last(self, path: str) -> WriteEntry | None:
        """Return the newest write into a file that was not undone; None when there is none."""
        return await self._records.read(lambda connection: find_last(connection, path))


def begin(connection: sa.Connection, entry: WriteEntry) -> WriteEntry:
    """Note a write. Raises `BeingWritten` when another one into the file is pending."""
    row = as_row(file_writes, entry, before_bytes=entry.before, before_sha256=entry.before_sha256)
    del row["seq"]
    pending = sa.and_(file_writes.c.path == entry.path, file_writes.c.state == WriteState.PENDING)
    if connection.execute(sa.select(file_writes.c.seq).where(pending)).first() is not None:
        raise BeingWritten.from_file(entry.path)
    added = sa.insert(file_writes).values(row).returning(file_writes.c.seq)
    return replace(entry, seq=connection.execute(added).scalar_one())


def end(
    connection: sa.Connection, seq: int, state: WriteState, *, at: int, aside: str = ""
) -> None:
    """Say how a write ended, and what of it still lies in the folder."""
    _set(connection, seq, state=state, ended_at=at, aside=aside)


def list_unfinished(connection: sa.Connection, path: str | None = None) -> list[WriteEntry]:
    """Return writes that are pending or have left something in their folder, oldest first."""
    open_ = sa.or_(file_writes.c.state == WriteState.PENDING, file_writes.c.aside != "")
    where = open_ if path is None else sa.and_(file_writes.c.path == path, open_)
    return [_entry(row) for row in connection.execute(_rows().where(where))]


def find_last(connection: sa.Connection, path: str) -> WriteEntry | None:
    """Return the newest write into a file that was not undone; None when there is none."""
    return next(iter(list_writes(connection, path, 1, state=WriteState.DONE)), None)


def list_unknown(connection: sa.Connection) -> list[tuple[str, str]]:
    """Return the files and agents of writes that are done and have no known resolution.

    The program ended between the two. Of a project that is followed no more that stays so.
    """
    later = sa.exists().where(
        resolutions.c.path == file_writes.c.path,
        resolutions.c.agent == file_writes.c.agent,
        resolutions.c.resolved_at >= file_writes.c.began_at,
    )
    query = (
        sa.select(file_writes.c.path, file_writes.c.agent)
        .join(projects, projects.c.id == file_writes.c.project_id)
        .where(file_writes.c.state == WriteState.DONE, projects.c.active == 1, ~later)
        .distinct()
        .order_by(file_writes.c.path, file_writes.c.agent)
    )
    return [(path, agent) for path, agent in connection.execute(query)]


def list_writes(
    connection: sa.Connection, path: str, limit: int = 20, *, state: WriteState | None = None
) -> list[WriteEntry]:
    """Return the newest writes into a file, newest first; all, or those in one state."""
    found = _rows().where(*match_columns(file_writes, path=path, state=state))
    newest = found.order_by(None).order_by(file_writes.c.seq.desc()).limit(limit)
    return [_entry(row) for row in connection.execute(newest)]


def prune(connection: sa.Connection, before: int, limit: int) -> int:
    """Delete at most so many writes that ended before a time (UTC microseconds); return how many.

    One that has not ended is kept, and so is one of which something lies in a folder. What files
    that are read no more were compared by goes as well.
    """
    read = sa.select(file_states.c.path)
    connection.execute(sa.delete(file_vectors).where(file_vectors.c.path.not_in(read)))
    old = (
        sa.select(file_writes.c.seq)
        .where(file_writes.c.ended_at < before, file_writes.c.aside == "")
        .order_by(file_writes.c.seq)
        .limit(limit)
    )
    return connection.execute(sa.delete(file_writes).where(file_writes.c.seq.in_(old))).rowcount


def _rows() -> sa.Select[Any]:
    """Return the query for entries, oldest first."""
    joined = file_writes.join(projects, projects.c.id == file_writes.c.project_id)
    return sa.select(file_writes, projects.c.root).select_from(joined).order_by(file_writes.c.seq)


def _set(connection: sa.Connection, seq: int, **values: object) -> None:
    """Change a row."""
    change_in(connection, file_writes.c.seq, [seq], values)


def _entry(row: sa.Row[Any]) -> WriteEntry:
    """Return a row as an entry."""
    return make_entity(WriteEntry, row, before=row.before_bytes)

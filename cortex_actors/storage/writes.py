"""Writes into humans' files: the ledger's side of the journal that stands behind each of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, exists, func, insert, or_, select, update

from cortex_actors.files.journal import Entry, State
from cortex_actors.refusals import BeingWritten
from cortex_actors.storage.schema import file_writes, projects, resolutions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row, Select

    from cortex_actors.clock import Clock
    from cortex_actors.storage.ledger.actor import Records

#: What of an entry is a column of its own name.
_COLUMNS = frozenset(each.name for each in file_writes.columns)


class Writes:
    """The journal of writes, in the ledger: what it says has been committed."""

    def __init__(self, records: Records, clock: Clock) -> None:
        """Remember where the rows are."""
        self._records = records
        self._clock = clock

    async def begin(self, entry: Entry) -> Entry:
        """Note a write; return it with its number. Raises `BeingWritten`."""
        return await self._records.write(lambda connection: begin(connection, entry))

    async def keep(self, seq: int, displaced: bytes) -> None:
        """Keep a human's text that no file holds any more."""
        # Acknowledged is what the person sees in his file: this must not wait for room on a disk.
        await self._records.write(lambda connection: keep(connection, seq, displaced), vital=True)

    async def end(
        self, seq: int, state: State, *, aside: str = "", undone: int | None = None
    ) -> None:
        """Say how a write ended, and what of it still lies in the folder."""
        at = self._clock.now()

        def unit(connection: Connection) -> None:
            end(connection, seq, state, at=at, aside=aside)
            if undone is not None:
                # What it has left in its folder is still watched.
                _set(connection, undone, state=State.UNDONE, ended_at=at)

        await self._records.write(unit, vital=True)

    async def clear(self, seq: int) -> None:
        """Say that nothing of a write lies in the folder any more."""
        await self._records.write(lambda connection: clear(connection, seq), vital=True)

    async def unfinished(self, path: str | None = None) -> Sequence[Entry]:
        """Return writes that are pending or have left something in their folder, oldest first."""
        return await self._records.read(lambda connection: unfinished(connection, path))

    async def last(self, path: str) -> Entry | None:
        """Return the newest write into a file that stands; None when there is none."""
        return await self._records.read(lambda connection: last(connection, path))


def begin(connection: Connection, entry: Entry) -> Entry:
    """Note a write. Raises `BeingWritten` when another one into the file is pending."""
    row = {name: value for name, value in asdict(entry).items() if name in _COLUMNS}
    row |= {"before_bytes": entry.before, "before_sha256": entry.before_sha256}
    del row["seq"]
    pending = and_(file_writes.c.path == entry.path, file_writes.c.state == State.PENDING)
    if connection.execute(select(file_writes.c.seq).where(pending)).first() is not None:
        raise BeingWritten.of(entry.path)
    added = connection.execute(insert(file_writes).values(row))
    return replace(entry, seq=added.lastrowid)


def keep(connection: Connection, seq: int, displaced: bytes) -> None:
    """Keep a human's text that no file holds any more."""
    _set(connection, seq, displaced=displaced)


def end(connection: Connection, seq: int, state: State, *, at: int, aside: str = "") -> None:
    """Say how a write ended, and what of it still lies in the folder."""
    _set(connection, seq, state=state, ended_at=at, aside=aside)


def clear(connection: Connection, seq: int) -> None:
    """Say that nothing of a write lies in the folder any more."""
    _set(connection, seq, aside="")


def unfinished(connection: Connection, path: str | None = None) -> list[Entry]:
    """Return writes that are pending or have left something in their folder, oldest first."""
    open_ = or_(file_writes.c.state == State.PENDING, file_writes.c.aside != "")
    where = open_ if path is None else and_(file_writes.c.path == path, open_)
    return [_entry(row) for row in connection.execute(_rows().where(where))]


def last(connection: Connection, path: str) -> Entry | None:
    """Return the newest write into a file that stands; None when there is none."""
    stands = and_(file_writes.c.path == path, file_writes.c.state == State.DONE)
    newest = select(func.max(file_writes.c.seq)).where(stands).scalar_subquery()
    row = connection.execute(_rows().where(file_writes.c.seq == newest)).first()
    return None if row is None else _entry(row)


def unknown(connection: Connection) -> list[tuple[str, str]]:
    """Return the files and agents of writes that stand and of which no resolution is known.

    The program ended between the two. Of a project that is followed no more that stays so.
    """
    later = exists().where(
        resolutions.c.path == file_writes.c.path,
        resolutions.c.agent == file_writes.c.agent,
        resolutions.c.resolved_at >= file_writes.c.began_at,
    )
    query = (
        select(file_writes.c.path, file_writes.c.agent)
        .join(projects, projects.c.id == file_writes.c.project_id)
        .where(file_writes.c.state == State.DONE, projects.c.active == 1, ~later)
        .distinct()
        .order_by(file_writes.c.path, file_writes.c.agent)
    )
    return [(path, agent) for path, agent in connection.execute(query)]


def of(
    connection: Connection, path: str, limit: int = 20, *, state: State | None = None
) -> list[Entry]:
    """Return the newest writes into a file, newest first; all, or those in one state."""
    found = _rows().where(file_writes.c.path == path)
    if state is not None:
        found = found.where(file_writes.c.state == state)
    newest = found.order_by(None).order_by(file_writes.c.seq.desc()).limit(limit)
    return [_entry(row) for row in connection.execute(newest)]


def prune(connection: Connection, before: int, limit: int) -> int:
    """Delete at most so many writes that ended before a time (UTC microseconds); return how many.

    One that has not ended is kept, and so is one of which something lies in a folder.
    """
    old = (
        select(file_writes.c.seq)
        .where(file_writes.c.ended_at < before, file_writes.c.aside == "")
        .order_by(file_writes.c.seq)
        .limit(limit)
    )
    return connection.execute(delete(file_writes).where(file_writes.c.seq.in_(old))).rowcount


def _rows() -> Select[Any]:
    """Return the query for entries, oldest first."""
    joined = file_writes.join(projects, projects.c.id == file_writes.c.project_id)
    return select(file_writes, projects.c.root).select_from(joined).order_by(file_writes.c.seq)


def _set(connection: Connection, seq: int, **values: object) -> None:
    """Change a row."""
    connection.execute(update(file_writes).where(file_writes.c.seq == seq).values(values))


def _entry(row: Row[Any]) -> Entry:
    """Return a row as an entry."""
    return Entry(
        run_id=row.run_id,
        project_id=row.project_id,
        root=row.root,
        path=row.path,
        agent=row.agent,
        before=row.before_bytes,
        after_sha256=row.after_sha256,
        aside=row.aside,
        began_at=row.began_at,
        seq=row.seq,
        state=State(row.state),
        displaced=row.displaced,
    )

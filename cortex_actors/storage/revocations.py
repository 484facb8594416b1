"""Revocations: the sources that count no more, until that is lifted.

A row says that a person took something back; what that does to what was learned is `revoking`'s.
Whoever takes in, promotes or gives out a text asks here, in the transaction that writes it: what
was looked up before may be revoked by then. Every function takes the connection of a transaction
it is part of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.project import Revocation, SourceKind, innermost
from cortex_actors.storage import projects
from cortex_actors.storage.schema import revocations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row, Select


def begin(
    connection: Connection, kind: SourceKind, key: str, *, at: int, note: str | None = None
) -> bool:
    """Let a source count no more; False when it does not count already."""
    if find(connection, kind, key) is not None:
        return False
    row = {"kind": str(kind), "key": key, "note": note, "at": at}
    connection.execute(insert(revocations).values(row))
    return True


def end(connection: Connection, kind: SourceKind, key: str, *, at: int) -> bool:
    """Let a source count again; False when it was not taken back."""
    statement = (
        update(revocations)
        .where(revocations.c.kind == str(kind), revocations.c.key == key)
        .where(revocations.c.ended_at.is_(None))
        .values({"ended_at": at})
    )
    return connection.execute(statement).rowcount == 1


def find(connection: Connection, kind: SourceKind, key: str) -> Revocation | None:
    """Return how a source was taken back; None when it counts."""
    query = _open().where(revocations.c.kind == str(kind), revocations.c.key == key)
    row = connection.execute(query).one_or_none()
    return None if row is None else _revocation(row)


def standing(connection: Connection) -> list[Revocation]:
    """Return everything that is taken back now, newest first."""
    query = _open().order_by(revocations.c.id.desc())
    return [_revocation(row) for row in connection.execute(query)]


def bars(connection: Connection, project_id: str, path: str) -> Revocation | None:
    """Return what keeps a project's file from being taken in; None when nothing does.

    That is its project, the file itself, or a folder that holds it. Following a folder around a
    project makes its files no other's: the innermost project that was ever followed counts, too.
    """
    files = (str(SourceKind.PROJECT), str(SourceKind.PATH))
    rows = connection.execute(_open().where(revocations.c.kind.in_(files)))
    standing = [_revocation(row) for row in rows]
    if not standing:
        return None
    inner = innermost(projects.ever(connection), path)
    owners = {project_id} | ({inner.id} if inner is not None else set())
    return next((e for e in standing if any(e.covers(each, path) for each in owners)), None)


def insights(connection: Connection, ids: Iterable[str] | None = None) -> set[str]:
    """Return the ids of the texts (of those, or all) that are taken back, whoever says them."""
    return _keys(connection, SourceKind.INSIGHT, ids)


def principles(connection: Connection, ids: Iterable[str] | None = None) -> set[str]:
    """Return the ids of the principles (of those, or all) that are given to nobody any more."""
    return _keys(connection, SourceKind.PRINCIPLE, ids)


def _keys(connection: Connection, kind: SourceKind, ids: Iterable[str] | None) -> set[str]:
    """Return what of a kind is taken back; a person names a few, never thousands."""
    query = select(revocations.c.key).where(revocations.c.kind == str(kind))
    found = set(connection.execute(query.where(revocations.c.ended_at.is_(None))).scalars())
    return found if ids is None else found.intersection(ids)


def _open() -> Select[Any]:
    """Return the query for what is taken back now."""
    return select(revocations).where(revocations.c.ended_at.is_(None))


def _revocation(row: Row[Any]) -> Revocation:
    """Return a row as a revocation."""
    return Revocation(row.id, SourceKind(row.kind), row.key, row.note, row.at, row.ended_at)
